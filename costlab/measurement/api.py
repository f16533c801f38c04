"""Measure one point: several fresh processes for time, one each for exact and resident memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from costlab.devices import fingerprint
from costlab.errors import InputError, MeasurementError
from costlab.i18n import _
from costlab.measurement.fork_server import ForkedWorkers, available
from costlab.measurement.measuring import Measuring, Progress
from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.process import Cancelled, SpawnedWorkers, Workers
from costlab.measurement.requests import error_from, request_of
from costlab.measurement.timing import TimingPlan

__all__ = [
    "DEFAULT_REPEATS", "DEFAULT_TIMEOUT_S", "MIN_REPEATS", "Measuring", "describe", "measure",
    "open_workers",
]  # fmt: skip

MIN_REPEATS = 3
DEFAULT_REPEATS = 5
DEFAULT_TIMEOUT_S = 120.0


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
    repeats: int = DEFAULT_REPEATS,
    budget_s: float | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    options: Mapping[str, Any] | None = None,
    plan: TimingPlan | None = None,
    resident: bool = True,
    energy: bool = True,
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
        repeats: timed processes, at least 3; with three the interval is wide.
        budget_s: seconds for the whole point; with it more processes are timed (up to 20) until
            the interval is within 2 % of the median.
        timeout_s: seconds after which one process is killed.
        options: flags of the architecture (``causal`` ...).
        plan: limits within one timed process.
        resident: whether to measure the resident peak, which takes a new interpreter (about 2 s).
        energy: whether to measure energy, where the device has a counter (about 17 s more).
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
            spec, workers, plan or TimingPlan(), timeout_s, budget_s, progress, cancelled,
            energy=energy,
        )  # fmt: skip
        for _next in run.steps(repeats, resident):
            pass
    return run.result()


def describe(
    spec: PointSpec,
    workers: Workers,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    cancelled: Cancelled | None = None,
) -> tuple[PointSpec, str]:
    """``spec`` with every size filled in, and its content hash; runs nothing of the module.

    Raises:
        InputError, SizeError, ModuleError: as :func:`measure` does.
        MeasurementError: if the file that holds the factory crashes or hangs.
        InterruptedError: if it was cancelled.
    """
    outcome = workers.run(request_of("describe", spec), timeout_s, cancelled)
    if outcome.status == "rejected":
        raise error_from(outcome.message)
    if outcome.status == "cancelled":
        raise InterruptedError
    if outcome.status != "ok":
        raise MeasurementError(
            _("the target could not be loaded"), given=spec.target, advice=outcome.reason
        )
    complete = replace(spec, sizes=outcome.message["sizes"])
    return complete, complete.digest(outcome.message["code"], fingerprint().id)
