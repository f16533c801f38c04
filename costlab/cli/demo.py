"""``costlab demo``: derive, predict, measure and compare on this machine in about 4 minutes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.cli.common import (
    Subparsers,
    add_command,
    cancellable,
    check_output,
    prepare_home,
)
from costlab.cli.progress import progress_of
from costlab.errors import MeasurementError
from costlab.i18n import _
from costlab.measurement.timing import TimingPlan

if TYPE_CHECKING:
    from costlab.hardware.calibration_record import CalibrationRecord
    from costlab.measurement.point import PointResult

DEVICE, THREADS, DTYPE = "cpu", 1, "float32"
# A process warms up and waits for a free core for less long than in a study: ten points share the
# time.
_PLAN = TimingPlan(warmup_s=0.5, patience_s=0.3)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "demo",
        run,
        help=_("the main job on this machine in about 4 minutes; writes report.html"),
        examples=["costlab demo", "costlab demo -o attention.html"],
        json=False,
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help=_("the report (default: report.html); .json keeps the record"),
    )


def run(args: argparse.Namespace) -> int:
    """Do the main job with this machine's own engines."""
    from costlab.derivation.api import derive
    from costlab.measurement.api import measure, open_workers
    from costlab.reporting.demo import run_demo

    check_output(args.output)
    prepare_home()
    progress = progress_of(args)

    def show(text: str, share: float) -> None:
        progress(f"{100 * share:3.0f} % {text}")

    with cancellable() as cancelled, open_workers(DEVICE, THREADS) as workers:

        def stop_if_asked() -> None:
            if cancelled():
                raise KeyboardInterrupt

        def measured(
            target: str, sizes: Mapping[str, int], *, mode: str, budget_s: float
        ) -> PointResult:
            point = measure(
                target,
                sizes,
                mode=mode,
                budget_s=budget_s,
                plan=_PLAN,
                resident=False,
                energy=False,
                cancelled=cancelled,
                workers=workers,
            )
            stop_if_asked()
            return point

        def calibrated() -> CalibrationRecord:
            from costlab.calibration.api import calibrate, load_latest

            found = load_latest(DEVICE, THREADS, DTYPE)
            if found is not None:
                return found
            try:
                return calibrate(
                    DEVICE,
                    THREADS,
                    DTYPE,
                    "quick",
                    progress=lambda text, share: show(text, 0.3 * share),
                    cancelled=cancelled,
                )
            except MeasurementError:
                stop_if_asked()
                raise

        def say(text: str) -> None:
            progress.clear()
            print(text)

        code = run_demo(derive, measured, calibrated, args.output, show, say)
        progress.clear()
        return code
