"""``costlab compare``: a run beside the predictions for it, or beside another run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from costlab.cli.common import Progress, Subparsers, add_command, add_store, print_json
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import format_percent

if TYPE_CHECKING:
    from costlab.comparison.record import ComparedPoint, Comparison


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "compare",
        run,
        help=_("prediction against measurement: errors, exponents, crossovers, verdicts"),
        examples=["costlab compare latest", "costlab compare latest --fail-over time=20%"],
    )
    parser.add_argument("run_name", metavar="RUN", help=_("name of a run, or `latest`"))
    parser.add_argument(
        "--fail-over",
        metavar="METRIC=LIMIT",
        help=_("exit code 1 if a point is wholly off by more: time=20%%, peak_bytes=1%%"),
    )
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and show."""
    from costlab.cli.joined import compare_run, load_points

    limit = None if args.fail_over is None else _limit(args.fail_over)
    name, points = load_points(args.store, args.run_name)
    comparison = compare_run(name, points, Progress(args.quiet))
    if args.json:
        print_json(comparison.to_json())
    else:
        print(show(comparison))
    if limit is None:
        return 0
    over = [point for point in comparison.points if _is_over(point, *limit)]
    for point in over:
        sizes = " ".join(f"{k}={v}" for k, v in point.sizes.items())
        text = _("costlab: {name} {sizes}: {metric} is off by more than {limit}")
        limit_text = format_percent(limit[1])
        print(
            text.format(name=point.architecture, sizes=sizes, metric=limit[0], limit=limit_text),
            file=sys.stderr,
        )
    return 1 if over else 0


def show(comparison: Comparison) -> str:
    """The comparison as text: points, errors, growth and crossovers."""
    from costlab.reporting.api import to_document
    from costlab.reporting.document import Notes, Table, table_text

    lines = [_("run {run}: predicted against measured").format(run=comparison.run), ""]
    for section in to_document(comparison).sections:
        for block in section.blocks:
            if isinstance(block, Table):
                lines += [table_text(block), ""]
            elif isinstance(block, Notes):
                lines += [block.title, *(f"- {item}" for item in block.items), ""]
    for metric, errors in comparison.overall.items():
        text = _("{metric}: median error {median}, 90 % below {p90}, worst {worst}, {count} points")
        lines.append(
            text.format(
                metric=metric,
                median=format_percent(errors.median_ape),
                p90=format_percent(errors.p90_ape),
                worst=format_percent(errors.max_ape),
                count=errors.count,
            )
        )
    return "\n".join(lines)


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
