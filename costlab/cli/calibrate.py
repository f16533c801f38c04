"""``costlab calibrate``: measure this machine's rates and keep them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from costlab.cli.common import (
    DTYPES,
    Subparsers,
    add_command,
    cancellable,
    positive,
    prepare_home,
    print_json,
)
from costlab.cli.progress import progress_of
from costlab.errors import MeasurementError
from costlab.i18n import _
from costlab.units import format_percent, format_value

if TYPE_CHECKING:
    from costlab.hardware.calibration_record import CalibrationRecord

_NOTES = 3  # how many of a record's remarks the text shows


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "calibrate",
        run,
        help=_("measure this machine's rates, in at most 3 minutes (--quick: 45 s)"),
        examples=["costlab calibrate --quick", "costlab calibrate --device cuda:0"],
    )
    parser.add_argument("--device", default="cpu", help=_("cpu or cuda:N (default: cpu)"))
    parser.add_argument("--threads", type=positive, default=1, help=_("threads (default: 1)"))
    parser.add_argument("--dtype", choices=DTYPES, default="float32", help=_("default: float32"))
    level = parser.add_mutually_exclusive_group()
    level.add_argument(
        "--quick", dest="level", action="store_const", const="quick", help=_("about 45 s")
    )
    level.add_argument(
        "--quickest", dest="level", action="store_const", const="quickest", help=_("about 10 s")
    )
    parser.set_defaults(level="full")


def run(args: argparse.Namespace) -> int:
    """Measure, keep and show the record."""
    from costlab.calibration.api import calibrate
    from costlab.cli.programs import check_device

    check_device(args.device, args.threads)
    prepare_home()
    progress = progress_of(args)
    with cancellable() as cancelled:
        try:
            record = calibrate(
                args.device,
                args.threads,
                args.dtype,
                args.level,
                progress=lambda text, share: progress(
                    f"{format_percent(round(share, 2))} {text}", share=share
                ),
                cancelled=cancelled,
            )
        except MeasurementError:
            if cancelled():
                raise KeyboardInterrupt from None
            raise
        finally:
            progress.clear()
    if args.json:
        print_json(record.to_json())
    else:
        print(show(record))
    return 0


def show(record: CalibrationRecord) -> str:
    """The record's headline rates as text."""
    rows = [
        (_("device"), f"{record.device}, {record.environment.cpu}"),
        (_("settings"), f"{record.dtype}, {record.threads} thread(s), level {record.level}"),
        (_("best matmul rate"), format_value(record.peak_flop_per_s, "FLOP/s")),
    ]
    if "copy" in record.bandwidth:
        curve = record.bandwidth["copy"]
        rows.append((_("memory bandwidth"), format_value(curve.points[-1][1], "B/s")))
    rows += [
        (_("launch, {phase}").format(phase=phase.replace("_", " ")), format_value(seconds, "s"))
        for phase, seconds in record.launch_s.items()
    ]
    rows.append((_("dependent step"), format_value(record.step_s, "s")))
    if record.residuals:
        errors = sorted(abs(r.predicted_s / r.measured_s - 1) for r in record.residuals)
        text = _("median {median} over {count} cases that gave no rate")
        median = format_percent(errors[len(errors) // 2])
        rows.append((_("error"), text.format(median=median, count=len(errors))))
    rows.append((_("took"), format_value(record.duration_s, "s")))
    width = max(len(label) for label, _text in rows)
    lines = [f"{label.ljust(width)}  {text}" for label, text in rows]
    lines += [f"- {note}" for note in record.notes[:_NOTES]]
    if len(record.notes) > _NOTES:
        more = len(record.notes) - _NOTES
        lines.append(_("- and {count} more (--json lists them)").format(count=more))
    return "\n".join(lines)
