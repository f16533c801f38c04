"""What the processes of a point bring is kept one by one, so that a killed sweep loses none.

The log stands between a point and its workers: it commits each outcome the moment it is there,
and in a resumed sweep gives back what an earlier process has kept instead of running it again.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from costlab.measurement.process import Cancelled, Outcome, Workers
from costlab.store import Store

# These say something about the caller, or nothing; the next sweep tries anew.
_NOT_KEPT = frozenset({"cancelled", "rejected"})


class PassLog:
    """The outcomes of one point's passes; nothing is kept before :meth:`begin`."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run
        self._point = ""
        self._earlier: dict[str, deque[Mapping[str, Any]]] = defaultdict(deque)
        self.timed_at: list[float] = []

    @property
    def begun(self) -> bool:
        """Whether the point's hash is known and its outcomes are kept."""
        return bool(self._point)

    def begin(self, point: str) -> None:
        """From here on keep outcomes for ``point``, after those that are kept already."""
        self._point = point
        for kept in self._store.passes(self._run, point):
            self._earlier[kept["pass"]].append(kept)

    def take(self, kind: str) -> Outcome | None:
        """The next outcome of that pass which an earlier sweep has kept, if there is one."""
        if not self._earlier[kind]:
            return None
        kept = self._earlier[kind].popleft()
        outcome = Outcome(kept["status"], kept["message"], kept["reason"])
        self._note(kind, outcome, kept["ended"])
        return outcome

    def keep(self, kind: str, outcome: Outcome) -> None:
        """Commit an outcome.

        Raises:
            StoreError: if the store cannot take it.
        """
        if not self._point or outcome.status in _NOT_KEPT:
            return
        ended = time.time()
        kept = {
            "pass": kind, "status": outcome.status, "message": dict(outcome.message),
            "reason": outcome.reason, "ended": ended,
        }  # fmt: skip
        self._store.add_pass(self._run, self._point, kept)
        self._note(kind, outcome, ended)

    def _note(self, kind: str, outcome: Outcome, ended: float) -> None:
        if kind == "timing" and outcome.status == "ok":
            self.timed_at.append(ended)


class LoggedWorkers:
    """Workers whose outcomes go through a log, and who stop at ``deadline`` (monotonic)."""

    def __init__(self, workers: Workers, log: PassLog) -> None:
        self._workers = workers
        self._log = log
        self.deadline: float | None = None

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        """The kept outcome of the pass, or that of a new process."""
        kept = self._log.take(request["pass"])
        if kept is not None:
            return kept
        if self.deadline is not None:
            timeout_s = min(timeout_s, max(self.deadline - time.monotonic(), 0.0))
        outcome = self._workers.run(request, timeout_s, cancelled)
        self._log.keep(request["pass"], outcome)
        return outcome
