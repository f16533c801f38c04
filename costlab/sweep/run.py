"""Runs a sweep: measures one point after the other and commits each the moment it ends."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from costlab.devices import fingerprint
from costlab.errors import CostLabError
from costlab.measurement.api import describe, measure, open_workers
from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.process import Cancelled, Workers
from costlab.store import Store
from costlab.sweep.plan import SweepPlan

# A cancelled point was not measured; a point that failed was, and is not tried again unasked.
_UNFINISHED = frozenset({"cancelled"})

Progress = Callable[[PointSpec, int, int], None]


def new_run() -> str:
    """A name for a run: the time of day in UTC and a random part."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def run_sweep(
    plan: SweepPlan,
    store: Store,
    run: str = "",
    *,
    again: frozenset[str] = frozenset(),
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Iterator[PointResult]:
    """Measure the points of ``plan`` that ``run`` does not hold yet.

    Bad sizes cost their point only: it is stored as "crash" with the reason. After a cancel, or
    when the budget is spent, the sweep ends; the same call goes on later, because a point is
    known by the hash of its specification, code and environment.

    Args:
        plan: what to measure.
        store: where each point goes before it is yielded.
        run: name of the run, "" for a new one.
        again: statuses of stored points that are to be measured again.
        progress: called before each point with its place and the number of points.
        cancelled: asked during each point.

    Yields:
        Results as they come.
    """
    run = run or new_run()
    store.start_run(run, plan.to_json(), fingerprint().to_json())
    known = store.statuses(run)
    done = {point for point, status in known.items() if status not in again | _UNFINISHED}
    end = None if plan.budget_s is None else time.monotonic() + plan.budget_s
    order = plan.order()
    for threads, device in dict.fromkeys((point.threads, point.device) for point in order):
        with open_workers(device, threads) as workers:
            for place, spec in enumerate(order):
                if (spec.threads, spec.device) != (threads, device):
                    continue
                share_s = None if end is None else (end - time.monotonic()) / (len(order) - place)
                if share_s is not None and share_s <= 0:
                    return
                if progress is not None:
                    progress(spec, place, len(order))
                result = _measure(spec, plan, workers, done, share_s, cancelled)
                if result is None:
                    continue
                result = replace(result, run=run)
                store.add(run, result.to_json(raw=True))
                yield result
                if result.status == "cancelled":
                    return


def resume(
    store: Store,
    run: str,
    *,
    again: frozenset[str] = frozenset(),
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Iterator[PointResult]:
    """Go on with a stored run where it stopped, by its own plan; see :func:`run_sweep`.

    Raises:
        UnknownNameError: if there is no such run.
    """
    plan = SweepPlan.from_json(store.info(run).plan)
    return run_sweep(plan, store, run, again=again, progress=progress, cancelled=cancelled)


def _measure(
    spec: PointSpec,
    plan: SweepPlan,
    workers: Workers,
    done: set[str],
    share_s: float | None,
    cancelled: Cancelled | None,
) -> PointResult | None:
    """Measure one point; None if it is done already."""
    try:
        complete, digest = describe(spec, workers)
        if digest in done:
            return None
        return measure(
            spec.target, complete.sizes, mode=spec.mode, dtype=spec.dtype, device=spec.device,
            threads=spec.threads, repeats=plan.repeats, budget_s=share_s,
            timeout_s=plan.timeout_s, options=spec.options, plan=plan.timing,
            resident=plan.resident, cancelled=cancelled, workers=workers,
        )  # fmt: skip
    except CostLabError as error:
        return _rejected(spec, error, done)


def _rejected(spec: PointSpec, error: CostLabError, done: set[str]) -> PointResult | None:
    environment = fingerprint().id
    digest = spec.digest("", environment)
    if digest in done:
        return None
    names = ("time_s", "time_interval_s", "peak_bytes", "rss_peak_bytes", "device_bytes")
    return PointResult(
        point=digest, architecture=spec.target, mode=spec.mode, dtype=spec.dtype,
        device=spec.device, sizes=spec.sizes, threads=spec.threads, status="crash",
        environment=environment, reasons=dict.fromkeys((*names, "energy_j", "power_w"), str(error)),
        options=spec.options,
    )  # fmt: skip
