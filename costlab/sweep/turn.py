"""One point of a sweep, measured a process at a time when its turn comes."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from costlab.devices import fingerprint
from costlab.errors import CostLabError, InputError, StoreError
from costlab.i18n import _
from costlab.measurement.measuring import Measuring
from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.process import Cancelled, Workers
from costlab.measurement.shared_core import counted
from costlab.sources.user import names_file
from costlab.store import Store
from costlab.sweep.passes import BoundWorkers, PassLog
from costlab.sweep.plan import SweepPlan


class Member:
    """A point with what its processes have brought; ``over`` when it needs no further turn.

    ``asked`` is the hash of what was planned, without the code, which only a process can tell:
    under it a point fails whose code cannot be read.
    """

    def __init__(
        self, spec: PointSpec, plan: SweepPlan, store: Store, run: str,
        workers: tuple[Workers, Workers], budget_s: float | None, cancelled: Cancelled | None,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.over = False
        self._run = run
        self._log = PassLog(store, run)
        self._workers = [BoundWorkers(inner) for inner in workers]
        timed, fresh = self._workers
        self._measuring = Measuring(
            spec, timed, plan.timing, plan.timeout_s, budget_s, cancelled=cancelled, fresh=fresh,
            keeper=self._log, energy=plan.energy,
        )  # fmt: skip
        self._content = b""
        self.asked = self._measuring.digest
        self._steps = self._measuring.steps(plan.repeats, plan.resident)
        self._next = next(self._steps)

    def turn(self, deadline: float | None, closed: set[str]) -> PointResult | None:
        """Run one timed process, and the passes before the next one.

        Args:
            deadline: until when (``time.monotonic``) the processes of this turn may take.
            closed: hashes of the points that are done or under way; this one is added.

        Returns:
            The result when the point is complete, else None.
        """
        for workers in self._workers:
            workers.deadline = deadline
        if self._next == "describe":
            self._content = content_of(self.spec.target)
        try:
            while True:
                ran, self._next = self._next, next(self._steps)
                if ran == "describe":
                    if self._measuring.digest in closed:
                        self.over = True
                        return None
                    closed.add(self._measuring.digest)
                    self._log.begin(self._measuring.digest)
                elif self._next == "timing":
                    return None
        except StopIteration:
            result = self._measuring.result()
            changed = content_of(self.spec.target) != self._content
            if changed and result.status != "cancelled":
                result = self._rejected(InputError(_("the file changed while it was measured")))
        except StoreError:
            raise
        except CostLabError as error:
            result = self._rejected(error)
        self.over = True
        # A target that could not even be described fails under a hash without its code.
        if not self._log.begun and result.status != "cancelled":
            if result.point in closed:
                return None
            closed.add(result.point)
        moments = self._log.timed_at
        timed_at = [moments[place] for place in counted(result.processes)] or moments
        return replace(result, run=self._run, timed_at=tuple(timed_at))

    def _rejected(self, error: CostLabError) -> PointResult:
        names = ("time_s", "time_interval_s", "peak_bytes", "rss_peak_bytes", "device_bytes")
        spec = self._measuring.spec
        return PointResult(
            point=self._measuring.digest, architecture=spec.target, mode=spec.mode,
            dtype=spec.dtype, device=spec.device, sizes=spec.sizes, threads=spec.threads,
            status="crash", environment=fingerprint().id, options=spec.options,
            reasons=dict.fromkeys((*names, "energy_j", "power_w"), str(error)),
        )  # fmt: skip


def content_of(target: str) -> bytes:
    """Hash of the file that a target names, to see whether it changes; b"" if it names none."""
    if target.startswith("hf:"):
        text = target.removeprefix("hf:")
    elif names_file(target):
        text = target if target.endswith(".py") else target.rpartition(":")[0]
    else:
        return b""
    try:
        return hashlib.sha256(Path(text).expanduser().read_bytes()).digest()
    except OSError:
        return b""
