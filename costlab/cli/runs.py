"""``costlab runs``: what the store holds, and how the points of one run went."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.cli.common import Subparsers, add_command, add_store, print_json, table
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import format_value

if TYPE_CHECKING:
    from costlab.store import RunInfo, Store

_SCHEMA = "costlab.runs/1"


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "runs",
        run,
        help=_("list the measured runs in the store, or the points of one run"),
        examples=["costlab runs", "costlab runs latest", "costlab runs --where"],
    )
    parser.add_argument(
        "run_name", nargs="?", metavar="RUN", help=_("list its points, and why failed ones failed")
    )
    parser.add_argument(
        "--rejudge",
        action="store_true",
        help=_("with RUN: judge its samples by today's rules; the store keeps what it has"),
    )
    parser.add_argument("--where", action="store_true", help=_("print the store's path only"))
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """List the runs, oldest first, or the points of one in the order they ended."""
    from costlab.store import Store
    from costlab.store.home import default_store

    path = args.store or default_store()
    if args.where:
        print(path)
        return 0
    if args.run_name is not None:
        if not path.exists():
            raise InputError(_("there are no runs yet"), given=str(path))
        with Store(path, read_only=True) as store:
            _show_points(args, store)
        return 0
    if path.exists():
        with Store(path, read_only=True) as store:
            _show_runs(args, path, [(info, _failed(store, info.run)) for info in store.runs()])
    else:
        _show_runs(args, path, [])
    return 0


def _show_runs(args: argparse.Namespace, path: Path, found: list[tuple[RunInfo, int]]) -> None:
    if args.json:
        data = [
            {
                "run": info.run, "created": info.created, "plan": info.plan,
                "environment": info.environment, "points": info.points,
                "statuses": info.statuses, "failed": failed, "planned": _planned(info.plan),
            }
            for info, failed in found
        ]  # fmt: skip
        print_json({"schema": _SCHEMA, "store": str(path), "runs": data})
        return
    if not found:
        print(_("no runs in {path}; `costlab profile` measures one").format(path=path))
        return
    rows = [
        (
            info.run, info.created[:19].replace("T", " "), f"{info.points}/{_planned(info.plan)}",
            str(failed or ""), _programs(info.plan),
        )
        for info, failed in found
    ]  # fmt: skip
    heads = (_("run"), _("began (UTC)"), _("points"), _("failed"), _("of"))
    print(table(heads, rows, right="llrr"))
    if any(failed for _info, failed in found):
        print(_("`costlab runs RUN` says why; `costlab profile ... --retry-failed` tries again"))


def _show_points(args: argparse.Namespace, store: Store) -> None:
    from costlab.cli.joined import run_name
    from costlab.cli.profile import drift_text
    from costlab.sweep.drift import order_drift
    from costlab.sweep.failures import failure, has_failed

    name = run_name(store, args.run_name)
    points = store.points(name)
    if args.rejudge:
        points, changed = _rejudged(points, store.info(name).environment)
    if args.json:
        data = [{**point, "failed": has_failed(point)} for point in points]
        print_json({"schema": _SCHEMA, "store": str(store.path), "run": name, "points": data})
        return
    rows = [
        (
            point["status"], format_value(point.get("time_s"), "s"), point["architecture"],
            point["mode"], " ".join(f"{key}={size}" for key, size in point["sizes"].items()),
            failure(point) or ", ".join(point.get("flags", ())),
        )
        for point in points
    ]  # fmt: skip
    heads = (_("status"), _("time"), _("of"), _("mode"), _("sizes"), _("notes"))
    print(table(heads, rows, right="lr"))
    if args.rejudge:
        print(_("{count} of {all} point(s) are judged differently").format(
            count=changed, all=len(points)
        ))  # fmt: skip
    left = _planned(store.info(name).plan) - len(points)
    if left > 0:
        print(_("{count} point(s) left; --resume goes on").format(count=left))
    drift = order_drift(points)
    if drift is not None and drift.found:
        print(drift_text(drift))


def _rejudged(
    points: list[dict[str, Any]], environment: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], int]:
    """The points by the rules of this version, and how many have another status or flags."""
    from costlab.measurement.point import PointResult
    from costlab.measurement.rejudge import rejudge

    cpus = int(environment.get("logical_cores") or 1)
    judged = [rejudge(PointResult.from_json(point), cpus) for point in points]
    changed = sum(
        (new.status, set(new.flags)) != (old["status"], set(old["flags"]))
        for old, new in zip(points, judged, strict=True)
    )
    return [new.to_json(raw=True) for new in judged], changed


def _failed(store: Store, run: str) -> int:
    from costlab.sweep.failures import has_failed

    return sum(has_failed(point) for point in store.points(run))


def _planned(plan: Mapping[str, Any]) -> int:
    return len(plan.get("points", ()))


def _programs(plan: Mapping[str, Any]) -> str:
    points = plan.get("points", [])
    return ", ".join(dict.fromkeys(f"{point['target']} {point['mode']}" for point in points))
