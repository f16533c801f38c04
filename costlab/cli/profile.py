"""``costlab profile``: a measured sweep, committed to the store point by point."""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.cli.common import (
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_store,
    add_words,
    cancellable,
    parse_options,
    parsed,
    positive,
    print_json,
    require_targets,
    split_words,
)
from costlab.cli.progress import Progress, progress_of
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import format_value, parse_seconds

if TYPE_CHECKING:
    from costlab.measurement.point import PointResult
    from costlab.store import Store
    from costlab.sweep.drift import OrderDrift
    from costlab.sweep.plan import SweepPlan
    from costlab.sweep.run import Turn

CANCELLED = 130
_COLD_SAMPLES = 10
_COLUMNS = "{status:9}  {time:>9}  {interval:>21}  {peak:>9}  {rss:>9}  {what}"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "profile",
        run,
        help=_("measure architectures at sizes and store every point"),
        examples=[
            "costlab profile full_attention lstm n=256,512 d=64",
            "costlab profile my_model.py:build n=128:1k:x2 --mode train --budget 2m",
            "costlab profile --resume --run latest",
        ],
    )
    add_words(
        parser, "ARCH|FILE.py:FACTORY|SWEEP.toml|NAME=VALUES", _("what to measure, and its sizes")
    )
    add_program(parser)
    add_settings(parser)
    parser.add_argument("--device", default="cpu", help=_("cpu, cuda or cuda:N (default: cpu)"))
    parser.add_argument("--threads", type=positive, default=1, help=_("threads (default: 1)"))
    parser.add_argument("--budget", metavar="TIME", help=_("for the whole sweep: 90, 2m, 1h"))
    parser.add_argument(
        "--repeats", type=positive, default=5, help=_("timed processes, at least 3 (default: 5)")
    )
    parser.add_argument(
        "--cold", action="store_true", help=_("time calls after emptying the caches too")
    )
    parser.add_argument(
        "--no-energy", action="store_true", help=_("leave out the windows of energy (17 s a point)")
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help=_("go on with the latest run of the same points: neither done nor failed ones again"),
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help=_("--resume, and measure failed points again")
    )
    parser.add_argument(
        "--run",
        dest="run_name",  # `run` is the command itself
        metavar="RUN",
        help=_("with --resume or --retry-failed: go on with this run, by its own plan"),
    )
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Measure the sweep; 1 if no point could be measured."""
    from costlab.cli.joined import run_name
    from costlab.cli.loading import OpenWorkers, check_loads
    from costlab.store import Store
    from costlab.store.home import default_store
    from costlab.sweep.failures import FAILED
    from costlab.sweep.run import new_run, run_sweep

    plan = _plan(args) if args.run_name is None else _stored_plan(args)
    _check(plan)
    progress = progress_of(args)
    path = args.store or default_store()
    counts: Counter[str] = Counter()
    with Store(path) as store, cancellable() as cancelled, OpenWorkers() as workers:
        check_loads(plan, workers, cancelled)
        if args.run_name is not None:
            name = run_name(store, args.run_name)
        elif args.resume or args.retry_failed:
            name, plan = _earlier(store, plan)
        else:
            name = new_run()
        if not args.json:
            print(_("run {run} in {path}").format(run=name, path=path))
            print(_header())
        results: Iterator[PointResult] = run_sweep(
            plan, store, name, retry_failed=args.retry_failed, progress=_Clock(progress, name),
            cancelled=cancelled, opener=workers.open,
        )  # fmt: skip
        for result in results:
            progress.clear()
            counts[result.status] += 1
            if args.json:
                print_json(result.to_json(), indent=None)
            else:
                print(_row(result), flush=True)
        progress.clear()
        _summarise(args, store, name, counts)
    if counts["cancelled"]:
        return CANCELLED
    return 1 if counts and counts.keys() <= FAILED else 0


def _summarise(args: argparse.Namespace, store: Store, run: str, counts: Counter[str]) -> None:
    from costlab.sweep.drift import order_drift

    drift = order_drift(store.points(run))
    if args.json:
        found = None if drift is None else {**asdict(drift), "found": drift.found}
        summary = {
            "schema": "costlab.profile/1", "kind": "summary", "run": run,
            "statuses": dict(counts), "drift": found, "store": str(store.path),
        }  # fmt: skip
        print_json(summary, indent=None)
        return
    if not counts:
        print(_("nothing left to measure"))
    if drift is not None and drift.found:
        print(drift_text(drift))


def drift_text(drift: OrderDrift) -> str:
    """One line about a drift that was found."""
    return _(
        "times changed by {change:+.0f} % from the first to the last process of the run: the "
        "machine did not stay the same"
    ).format(change=100 * drift.change)


class _Clock:
    """Words a sweep's turns with the time that is left, as far as the turns so far tell."""

    def __init__(self, progress: Progress, run: str) -> None:
        self._progress = progress
        self._run = run
        self._start = time.monotonic()

    def __call__(self, turn: Turn) -> None:
        left, left_s = "", None
        if turn.turn:
            passed_s = time.monotonic() - self._start
            left_s = float(f"{passed_s / turn.turn * (turn.turns - turn.turn):.2g}")
            left = _(", about {time} left").format(time=format_value(left_s, "s"))
        what = f"{turn.spec.target} {_sizes(turn.spec.sizes)}"
        self._progress(
            f"[{turn.done}/{turn.points}{left}] {what}",
            done=turn.done,
            points=turn.points,
            turn=turn.turn,
            turns=turn.turns,
            left_s=left_s,
            run=self._run,
            target=turn.spec.target,
            sizes=_sizes(turn.spec.sizes),
        )


def _plan(args: argparse.Namespace) -> SweepPlan:
    from costlab.cli.points import points_of
    from costlab.cli.sweep_file import load_sweep
    from costlab.measurement.timing import TimingPlan
    from costlab.sweep.plan import SweepPlan

    targets, sizes = split_words(args.words)
    require_targets(targets, 1, None, _("architectures, FILE.py:FACTORY, or one SWEEP.toml"))
    if targets[0].endswith(".toml"):
        if len(args.words) > 1 or args.set:
            raise InputError(_("a sweep file stands alone"), given=" ".join(args.words))
        return load_sweep(Path(targets[0]))
    fixed, flags = parse_options(args.set)
    grid = {**sizes, **{name: (value,) for name, value in fixed.items()}}
    points = points_of(
        targets,
        grid,
        modes=[args.mode],
        dtypes=[args.dtype],
        devices=[args.device],
        threads=[args.threads],
        options=flags,
    )
    budget_s = None if args.budget is None else parsed(parse_seconds, "--budget", args.budget)
    seed = random.SystemRandom().randrange(2**31)
    timing = TimingPlan(cold_samples=_COLD_SAMPLES if args.cold else 0)
    return SweepPlan(
        points, seed, repeats=args.repeats, budget_s=budget_s, energy=not args.no_energy,
        timing=timing,
    )  # fmt: skip


def _stored_plan(args: argparse.Namespace) -> SweepPlan:
    """The plan of the run that ``--run`` names.

    Raises:
        InputError: if something else says what to measure, or there is no such run.
    """
    from costlab.cli.joined import run_name
    from costlab.store import Store
    from costlab.store.home import default_store
    from costlab.sweep.plan import SweepPlan

    if args.words or args.set:
        given = " ".join([*args.words, *args.set])
        raise InputError(_("a run has a plan of its own"), given=given, allowed=_("--run alone"))
    if not (args.resume or args.retry_failed):
        raise InputError(_("--run goes on with a run"), advice=_("add --resume or --retry-failed"))
    with Store(args.store or default_store(), read_only=True) as store:
        return SweepPlan.from_json(store.info(run_name(store, args.run_name)).plan)


def _check(plan: SweepPlan) -> None:
    """Refuse before the sweep what each of its points would fail with."""
    from costlab.cli.programs import check_device, check_entry, is_entry
    from costlab.measurement.api import MIN_REPEATS
    from costlab.sources.user import check_file, names_file

    if plan.repeats < MIN_REPEATS:
        raise InputError(_("too few repeats"), given=str(plan.repeats), allowed=f">= {MIN_REPEATS}")
    for device, threads in {(point.device, point.threads) for point in plan.points}:
        check_device(device, threads)
    for target in dict.fromkeys(point.target for point in plan.points):
        if names_file(target):
            check_file(target)
    for point in plan.points:
        if is_entry(point.target):
            check_entry(point.target, point.mode, point.sizes, point.options)


def _earlier(store: Store, plan: SweepPlan) -> tuple[str, SweepPlan]:
    """The latest run that measures the points of ``plan``, with its own plan.

    Raises:
        InputError: if there is none, or none of this environment.
    """
    from costlab.devices import fingerprint
    from costlab.sweep.plan import SweepPlan
    from costlab.sweep.run import check_environment

    same = [
        (info.run, SweepPlan.from_json(info.plan))
        for info in reversed(store.runs())
        if info.plan.get("points") == plan.to_json()["points"]
    ]
    here = fingerprint().id
    for run, found in same:
        if store.info(run).environment.get("id") == here:
            return run, found
    if same:
        check_environment(store, same[0][0], here)
    raise InputError(
        _("no run of these points to go on with"), advice=_("leave out --resume to begin one")
    )


def _sizes(sizes: Any) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def _header() -> str:
    return _COLUMNS.format(
        status=_("status"),
        time=_("time"),
        interval=_("interval"),
        peak=_("peak"),
        rss=_("resident"),
        what=_("what"),
    )


def _row(result: PointResult) -> str:
    low, high = result.time_interval_s or (None, None)
    interval = "" if low is None else f"{format_value(low, 's')} .. {format_value(high, 's')}"
    why = result.reasons.get("time_s", "") if result.time_s is None else ""
    what = f"{result.architecture} {result.mode} {_sizes(result.sizes)}"
    notes = ", ".join(part for part in (*result.flags, why) if part)
    return _COLUMNS.format(
        status=result.status,
        time=format_value(result.time_s, "s"),
        interval=interval,
        peak=format_value(result.peak_bytes, "B"),
        rss=format_value(result.rss_peak_bytes, "B"),
        what=f"{what}  ({notes})" if notes else what,
    )
