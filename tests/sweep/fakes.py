"""Workers that measure nothing: their times follow from the size and from a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from costlab.measurement.point import PointSpec
from costlab.measurement.process import Cancelled, Outcome, Workers
from costlab.sweep import SweepPlan, expand

Answer = Callable[[str, PointSpec], Outcome | None]


class FakeWorkers:
    """Each pass takes one tick. The time of a size n is n seconds, times ``factor`` at that tick.

    ``answer`` may give another outcome, or raise. ``ran`` has every pass with its target and n.
    """

    def __init__(
        self, factor: Callable[[int], float] = lambda _tick: 1.0, answer: Answer | None = None
    ) -> None:
        self.ran: list[tuple[str, str, int]] = []
        self._factor = factor
        self._answer = answer or (lambda _kind, _spec: None)

    @contextmanager
    def open(self, _device: str, _threads: int) -> Iterator[tuple[Workers, Workers]]:
        yield self, self

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        spec = PointSpec(**request["spec"])
        kind: str = request["pass"]
        if cancelled is not None and cancelled():
            return Outcome("cancelled", reason="cancelled")
        other = self._answer(kind, spec)
        if kind != "describe":
            self.ran.append((kind, spec.target, spec.sizes["n"]))
        return other or Outcome("ok", self._message(kind, spec))

    def _message(self, kind: str, spec: PointSpec) -> dict[str, Any]:
        n = spec.sizes["n"]
        if kind == "describe":
            return {"kind": kind, "sizes": dict(spec.sizes), "code": "c"}
        if kind == "timing":
            time_s = n * self._factor(len(self.ran))
            timing = {
                "median_s": time_s, "samples_s": [time_s] * 3, "first_call_s": time_s,
                "warmup_calls": 1, "calls_per_sample": 1, "cpu_share": 1.0, "drift": 0.0,
                "relative_iqr": 0.0,
            }  # fmt: skip
            check: dict[str, Any] = {
                "before": [], "after": [], "varied": None, "varied_s": [], "same_s": [],
                "constant_inputs": False,
            }  # fmt: skip
            return {"kind": kind, "timing": timing, "sound": True, "check": check}
        if kind == "memory":
            return {"kind": kind, "peak_bytes": 10 * n}
        return {"kind": kind, "rss_peak_bytes": 100 * n}


def plan(*targets: str, n: list[int], **settings: Any) -> SweepPlan:
    """A plan of ``targets`` at sizes ``n``."""
    return SweepPlan(expand(targets or ("a",), {"n": n}), **{"seed": 4, "repeats": 3, **settings})
