"""``costlab compare``: a run beside the predictions for it, or beside another run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from costlab.cli.common import Subparsers, add_command, add_store, print_json
from costlab.cli.progress import progress_of
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import format_percent

if TYPE_CHECKING:
    from costlab.comparison.record import ComparedPoint, Comparison
    from costlab.comparison.runs import RunComparison, RunPoint


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "compare",
        run,
        help=_(
            "prediction against measurement, or run against run: errors, exponents, crossovers, "
            "verdicts"
        ),
        examples=[
            "costlab compare latest",
            "costlab compare latest --fail-over time=20%",
            "costlab compare latest --against 20261129T1200-ab12 --fail-over time=5%",
        ],
    )
    parser.add_argument("run_name", metavar="RUN", help=_("name of a run, or `latest`"))
    parser.add_argument(
        "--against", metavar="RUN2", help=_("another run, the baseline: which points got slower")
    )
    parser.add_argument(
        "--fail-over",
        metavar="METRIC=LIMIT",
        help=_("exit code 1 if a point is wholly off by more: time=20%%, peak_bytes=1%%"),
    )
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and show."""
    from costlab.cli.joined import compare_run, compare_stored, load_points

    limit = None if args.fail_over is None else _limit(args.fail_over)
    name, points = load_points(args.store, args.run_name)
    if args.against is None:
        predicted = compare_run(name, points, progress_of(args))
        _print(predicted, args.json)
        text = _("costlab: {name} {sizes}: {metric} is off by more than {limit}")
        over = [p for p in predicted.points if limit and _is_over(p, *limit)]
        return _fail(over, text, limit)
    runs = compare_stored(args.store, name, points, args.against)
    _print(runs, args.json)
    text = _("costlab: {name} {sizes}: {metric} grew by more than {limit}")
    return _fail([p for p in runs.points if limit and _has_grown(p, *limit)], text, limit)


def _print(comparison: Comparison | RunComparison, as_json: bool) -> None:
    if as_json:
        print_json(comparison.to_json())
    else:
        print(show(comparison))


def _fail(
    over: Sequence[ComparedPoint | RunPoint], text: str, limit: tuple[str, float] | None
) -> int:
    """Name each point on stderr; the exit code."""
    if limit is None:
        return 0
    for point in over:
        sizes = " ".join(f"{k}={v}" for k, v in point.sizes.items())
        print(
            text.format(
                name=point.architecture,
                sizes=sizes,
                metric=limit[0],
                limit=format_percent(limit[1]),
            ),
            file=sys.stderr,
        )
    return 1 if over else 0


def _has_grown(point: RunPoint, metric: str, share: float) -> bool:
    """Whether the whole interval of the ratio lies beyond ``share``."""
    if metric == "time":
        return point.difference is not None and point.difference.interval[0] > 1 + share
    return point.peak_ratio is not None and point.peak_ratio > 1 + share


def show(comparison: Comparison | RunComparison) -> str:
    """The comparison as text: points, errors, time plotted, growth and crossovers."""
    from costlab.figures import FigureSpec, figure_text
    from costlab.reporting.api import to_document
    from costlab.reporting.document import Figure, Notes, Table, table_text

    document = to_document(comparison)
    lines = [f"{document.title}: {document.subtitle}", ""]
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                lines += [table_text(block), ""]
            elif isinstance(block, Notes):
                lines += [block.title, *(f"- {item}" for item in block.items), ""]
            elif (
                isinstance(block, Figure)
                and isinstance(block.spec, FigureSpec)
                and block.spec.y.unit == "s"
            ):
                lines += [figure_text(block.spec), ""]
    return "\n".join(lines).rstrip()


def _limit(text: str) -> tuple[str, float]:
    metric, _equals, limit = text.partition("=")
    try:
        share = float(limit.removesuffix("%")) / (100 if limit.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if metric not in ("time", "peak_bytes") or share < 0:
        raise InputError(
            _("--fail-over takes a metric and a limit"),
            given=text,
            allowed="time=20%, peak_bytes=0.05",
        )
    return metric, share


def _is_over(point: ComparedPoint, metric: str, share: float) -> bool:
    """Whether the measured interval lies wholly beyond ``share`` of the predicted value."""
    if metric == "time":
        predicted, interval = point.predicted["time_s"], point.measured.get("time_interval_s")
    else:
        predicted, seen = point.predicted["peak_bytes"], point.measured.get("peak_bytes")
        interval = None if seen is None else (seen, seen)
    if predicted is None or interval is None:
        return False
    low, high = interval
    return bool(low > predicted * (1 + share) or high < predicted * (1 - share))
