"""Measure one point: several fresh processes for time, one each for exact and resident memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import costlab.errors
from costlab.devices import fingerprint
from costlab.errors import CostLabError, InputError, MeasurementError
from costlab.i18n import _
from costlab.measurement.fork_server import ForkedWorkers, available
from costlab.measurement.judge import judge
from costlab.measurement.point import PointResult, PointSpec, ProcessTiming
from costlab.measurement.process import Cancelled, Outcome, SpawnedWorkers, Workers
from costlab.measurement.statistics import median_interval, relative_width
from costlab.measurement.timing import TimingPlan

MIN_REPEATS = 3
MAX_REPEATS = 20
TIGHT = 0.02
DEFAULT_TIMEOUT_S = 120.0

Progress = Callable[[str, float], None]


@contextmanager
def open_workers(device: str = "cpu", threads: int = 1) -> Iterator[Workers]:
    """Workers for the timed passes: forked from a server where that is possible, else spawned.

    Hold them open over a sweep: the server imports torch once. Use them in one thread only.
    """
    if available() and device == "cpu":
        with ForkedWorkers(threads) as forked:
            yield forked
    else:
        with SpawnedWorkers(threads) as spawned:
            yield spawned


def measure(
    target: str,
    sizes: Mapping[str, int],
    *,
    mode: str = "forward",
    dtype: str = "float32",
    device: str = "cpu",
    threads: int = 1,
    repeats: int = MIN_REPEATS,
    budget_s: float | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    options: Mapping[str, Any] | None = None,
    plan: TimingPlan | None = None,
    resident: bool = True,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    workers: Workers | None = None,
) -> PointResult:
    """Measure time and peak memory of one program at one size.

    Args:
        target: an architecture's name, ``FILE.py:FACTORY`` or ``hf:FILE.json``.
        sizes: size per symbol; those left out take the target's defaults.
        mode: "forward", "train", "prefill" or "decode".
        dtype: floating-point type of weights and inputs.
        device: "cpu", "cuda" or "cuda:N".
        threads: threads of torch's operators.
        repeats: timed processes, at least 3.
        budget_s: seconds for the whole point; with it more processes are timed (up to 20) until
            the interval is within 2 % of the median.
        timeout_s: seconds after which one process is killed.
        options: flags of the architecture (``causal`` ...).
        plan: limits within one timed process.
        resident: whether to measure the resident peak, which takes a new interpreter (about 2 s).
        progress: called with what is being done and the share that is done.
        cancelled: asked ten times a second; when true the point ends as "cancelled".
        workers: processes to reuse, see :func:`open_workers`.

    Returns:
        The point; out of memory, crash, time-out and cancel are statuses of it, not errors.

    Raises:
        InputError: for a bad target, mode, dtype, device or repeat count.
        SizeError: for bad sizes.
        ModuleError: if the user's factory fails.
    """
    if repeats < MIN_REPEATS:
        raise InputError(_("too few repeats"), given=str(repeats), allowed=f">= {MIN_REPEATS}")
    spec = PointSpec(target, sizes, mode, dtype, device, threads, dict(options or {}))
    with contextlib.ExitStack() as stack:
        if workers is None:
            workers = stack.enter_context(open_workers(device, threads))
        run = Measuring(
            spec, workers, plan or TimingPlan(), timeout_s, budget_s, progress, cancelled
        )
        for _next in run.steps(repeats, resident):
            pass
    return run.result()


def describe(
    spec: PointSpec, workers: Workers, timeout_s: float = DEFAULT_TIMEOUT_S
) -> tuple[PointSpec, str]:
    """``spec`` with every size filled in, and its content hash; runs nothing of the module.

    Raises:
        InputError, SizeError, ModuleError: as :func:`measure` does.
        MeasurementError: if the file that holds the factory crashes or hangs.
    """
    outcome = workers.run(_request("describe", spec), timeout_s)
    if outcome.status == "rejected":
        raise _error_from(outcome.message)
    if outcome.status != "ok":
        raise MeasurementError(
            _("the target could not be loaded"), given=spec.target, advice=outcome.reason
        )
    complete = replace(spec, sizes=outcome.message["sizes"])
    return complete, complete.digest(outcome.message["code"], fingerprint().id)


def _request(kind: str, spec: PointSpec) -> dict[str, Any]:
    data = spec.to_json()
    path, colon, factory = spec.target.rpartition(":")
    if colon and path.endswith(".py"):
        data["target"] = f"{Path(path).resolve()}:{factory}"
    return {"pass": kind, "spec": data}


class Measuring:
    """The passes of one point and what they have brought so far.

    A sweep takes the :meth:`steps` of several points in turns. ``fresh`` are the workers of the
    resident pass; by default new interpreters.
    """

    def __init__(
        self, spec: PointSpec, workers: Workers, plan: TimingPlan, timeout_s: float,
        budget_s: float | None, progress: Progress | None = None,
        cancelled: Cancelled | None = None, fresh: Workers | None = None,
    ) -> None:  # fmt: skip
        self._spec = spec
        self._code = ""
        self._environment = fingerprint().id
        self._workers = workers
        self._fresh = fresh or SpawnedWorkers(spec.threads)
        self._plan = plan
        self._timeout_s = timeout_s
        self._end = None if budget_s is None else time.monotonic() + budget_s
        self._progress = progress or (lambda _text, _share: None)
        self._cancelled = cancelled
        self._timings: list[ProcessTiming] = []
        self._sound = True
        self._failure: Outcome | None = None
        self._memory: dict[str, Any] = {}
        self._reasons: dict[str, str] = {}

    @property
    def spec(self) -> PointSpec:
        """The point, with every size filled in once the "describe" pass is done."""
        return self._spec

    @property
    def digest(self) -> str:
        """Content hash of the point, final once the "describe" pass is done."""
        return self._spec.digest(self._code, self._environment)

    def steps(self, repeats: int, resident: bool) -> Iterator[str]:
        """Describe, time in one process, take the memory passes, then time in the others.

        Yields:
            The name of the pass that the next step runs, before it runs.

        Raises:
            InputError, SizeError, ModuleError: as :func:`measure` does.
        """
        yield "describe"
        described = self._run("describe", self._workers)
        if described.status != "ok":
            self._failure = described
            return
        self._spec = replace(self._spec, sizes=described.message["sizes"])
        self._code = described.message["code"]
        yield "timing"
        if not self._time(0, repeats):
            return
        yield "memory"
        self._progress(_("measuring peak memory"), 1 / (repeats + 2))
        self._measure_memory("memory", self._workers)
        if resident:
            yield "resident"
            self._progress(_("measuring resident memory"), 2 / (repeats + 2))
            self._measure_memory("resident", self._fresh)
        else:
            self._reasons["rss_peak_bytes"] = _("not asked for")
        while not self._enough(repeats):
            yield "timing"
            if not self._time(len(self._timings), repeats):
                break
        self._progress(_("done"), 1.0)

    def _enough(self, repeats: int) -> bool:
        count = len(self._timings)
        if self._end is None:
            return count >= repeats
        if count >= MAX_REPEATS or time.monotonic() >= self._end:
            return True
        medians = [timing.median_s for timing in self._timings]
        interval = median_interval(medians)
        return count >= repeats and relative_width(interval, medians[0]) <= TIGHT

    def _run(self, kind: str, workers: Workers) -> Outcome:
        timeout_s = self._timeout_s
        if self._end is not None:
            timeout_s = min(timeout_s, max(self._end - time.monotonic(), 0.0))
        request = {**_request(kind, self._spec), "plan": asdict(self._plan)}
        outcome = workers.run(request, timeout_s, self._cancelled)
        if outcome.status == "rejected":
            raise _error_from(outcome.message)
        return outcome

    def _time(self, done: int, repeats: int) -> bool:
        """Time one process more; False, with the failure kept, if it brings none."""
        share = (done + 2 * bool(done)) / (repeats + 2)
        self._progress(_("timing process {number}").format(number=done + 1), min(share, 0.99))
        outcome = self._run("timing", self._workers)
        if outcome.status != "ok":
            self._failure = outcome
            return False
        timing = dict(outcome.message["timing"])
        timing["samples_s"] = tuple(timing["samples_s"])
        self._timings.append(ProcessTiming(**timing))
        self._sound &= outcome.message["sound"]
        return True

    def _measure_memory(self, kind: str, workers: Workers) -> None:
        outcome = self._run(kind, workers)
        if outcome.status == "ok":
            self._memory.update(outcome.message)
        else:
            names = ("rss_peak_bytes",) if kind == "resident" else ("peak_bytes", "device_bytes")
            self._reasons.update(dict.fromkeys(names, f"{outcome.status}: {outcome.reason}"))

    def result(self) -> PointResult:
        """The point with its status, flags and reasons."""
        spec = self._spec
        verdict = judge(spec, self._timings, self._sound, self._failure, self._memory)
        medians = tuple(timing.median_s for timing in self._timings)
        return PointResult(
            point=self.digest,
            architecture=spec.target,
            mode=spec.mode,
            dtype=spec.dtype,
            device=spec.device,
            sizes=spec.sizes,
            threads=spec.threads,
            status=verdict.status,
            environment=self._environment,
            time_s=verdict.time_s,
            time_interval_s=verdict.interval_s,
            samples=medians,
            peak_bytes=self._memory.get("peak_bytes"),
            rss_peak_bytes=self._memory.get("rss_peak_bytes"),
            device_bytes=self._memory.get("device_bytes"),
            flags=verdict.flags,
            reasons={**verdict.reasons, **self._reasons},
            options=spec.options,
            processes=tuple(self._timings),
        )


def _error_from(message: Mapping[str, Any]) -> CostLabError:
    """The error that the worker reported, as the class it was raised as."""
    kind = getattr(costlab.errors, message["error"], MeasurementError)
    error = kind.__new__(kind)
    CostLabError.__init__(
        error,
        message["message"],
        given=message["given"],
        allowed=message["allowed"],
        advice=message["advice"],
    )
    assert isinstance(error, CostLabError)
    return error
