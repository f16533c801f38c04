"""What the processes of a point bring is kept one by one, so that a killed sweep loses none.

The log commits each outcome the moment it is there, and in a resumed sweep gives back what an
earlier process has kept, so that it is not run again.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from costlab.measurement.process import Cancelled, Outcome, Workers
from costlab.measurement.watch import Observation
from costlab.store import Store

# These say something about the caller, or nothing; the next sweep tries anew.
_NOT_KEPT = frozenset({"cancelled", "rejected"})
# Energy passes read a counter before and after: they are taken together or not at all.
_UNKEPT_PASSES = frozenset({"describe", "energy"})


class PassLog:
    """The outcomes of one point's passes, from its :meth:`begin` on."""

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

    def take(self, kind: str) -> tuple[Outcome, Observation, float] | None:
        """The next outcome of that pass which an earlier sweep has kept, if there is one."""
        if not self._earlier[kind]:
            return None
        kept = self._earlier[kind].popleft()
        outcome = Outcome(kept["status"], kept["message"], kept["reason"])
        self._note(kind, outcome, kept["ended"])
        return outcome, Observation.from_json(kept["observation"]), kept["wall_s"]

    def keep(self, kind: str, outcome: Outcome, observation: Observation, wall_s: float) -> None:
        """Commit what a pass has brought.

        Raises:
            StoreError: if the store cannot take it.
        """
        ended = time.time()
        if kind not in _UNKEPT_PASSES and outcome.status not in _NOT_KEPT:
            kept = {
                "pass": kind, "status": outcome.status, "message": dict(outcome.message),
                "reason": outcome.reason, "ended": ended, "wall_s": wall_s,
                "observation": observation.to_json(),
            }  # fmt: skip
            self._store.add_pass(self._run, self._point, kept)
        self._note(kind, outcome, ended)

    def _note(self, kind: str, outcome: Outcome, ended: float) -> None:
        if kind == "timing" and outcome.status == "ok":
            self.timed_at.append(ended)


class BoundWorkers:
    """Workers who stop at ``deadline`` (of ``time.monotonic``) whatever time-out they are given."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.deadline: float | None = None

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        """Run one request in its own process."""
        if self.deadline is not None:
            timeout_s = min(timeout_s, max(self.deadline - time.monotonic(), 0.0))
        return self._workers.run(request, timeout_s, cancelled)
