"""``costlab demo``: derive, predict, measure and compare on this machine in under 3 minutes."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.cli.common import Progress, Subparsers, add_command, cancellable, print_json
from costlab.errors import MeasurementError
from costlab.i18n import _
from costlab.units import format_value

if TYPE_CHECKING:
    from costlab.comparison.record import Comparison
    from costlab.formulas.record import Derivation
    from costlab.measurement.process import Cancelled
    from costlab.reporting.document import Document

ARCHITECTURES = ("full_attention", "lstm")
SIZES = {"b": (1,), "n": (128, 256, 512), "d": (128,)}
MEASURE_S = 60.0
"""Seconds for all measured points; calibration takes about 45 more."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "demo",
        run,
        help=_("the main job on this machine in under 3 minutes; writes report.html"),
        examples=["costlab demo", "costlab demo -o attention-against-lstm.html"],
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("report.html"), metavar="FILE",
        help=_("the report (default: report.html)"),
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Do it step by step and write the report."""
    from costlab.cli.compare import show
    from costlab.cli.derive import show_cost
    from costlab.cli.joined import compare_run
    from costlab.cli.programs import load_program
    from costlab.formulas.document import document
    from costlab.reporting.api import report

    start = time.monotonic()
    progress = Progress(args.quiet)
    say = (lambda _text: None) if args.json else print
    say(_("1. Formulas, derived from the code that runs"))
    derivations = [
        load_program(name, "forward", "float32", progress=progress) for name in ARCHITECTURES
    ]
    progress.clear()
    for derivation in derivations:
        cost = document(derivation, latex_too=False)["cost"]
        say(f"\n{derivation.architecture}\n" + show_cost(cost, ("flop", "peak_bytes", "steps")))
    with cancellable() as cancelled:
        say("\n" + _("2. This machine's rates"))
        say(_calibrate(progress, cancelled))
        say("\n" + _("3. Measurement of {count} points").format(count=6))
        name, points = _measure(progress, cancelled)
    if cancelled():
        raise KeyboardInterrupt
    comparison = compare_run(name, points, progress)
    say("\n" + _("4. Prediction against measurement") + "\n")
    say(show(comparison))
    path = report(_document(derivations, comparison), args.output)
    if args.json:
        print_json(comparison.to_json())
    took = format_value(time.monotonic() - start, "s")
    say("\n" + _("wrote {path}; took {time}").format(path=path, time=took))
    return 0


def _calibrate(progress: Progress, cancelled: Cancelled) -> str:
    """Calibrate unless a calibration of this machine is there; its text."""
    from costlab.calibration.api import calibrate
    from costlab.calibration.records import load_latest
    from costlab.cli.calibrate import show

    record = load_latest("cpu", 1, "float32")
    if record is None:
        try:
            record = calibrate(
                level="quick",
                progress=lambda text, share: progress(f"{text}: {100 * share:.0f} %"),
                cancelled=cancelled,
            )
        except MeasurementError:
            if cancelled():
                raise KeyboardInterrupt from None
            raise
        finally:
            progress.clear()
    return show(record)


def _measure(progress: Progress, cancelled: Cancelled) -> tuple[str, list[dict[str, Any]]]:
    from costlab.store import Store
    from costlab.store.home import default_store
    from costlab.sweep.plan import SweepPlan, expand
    from costlab.sweep.run import new_run, run_sweep

    plan = SweepPlan(expand(ARCHITECTURES, SIZES), seed=0, budget_s=MEASURE_S)
    name = new_run()
    with Store(default_store()) as store:
        for result in run_sweep(
            plan,
            store,
            name,
            progress=lambda spec, place, count: progress(f"[{place + 1}/{count}] {spec.target}"),
            cancelled=cancelled,
        ):
            progress.clear()
            if result.status == "cancelled":
                raise KeyboardInterrupt
        return name, store.points(name)


def _document(derivations: list[Derivation], comparison: Comparison) -> Document:
    from costlab.devices import fingerprint
    from costlab.reporting.document import Document
    from costlab.reporting.sections import (
        comparison_section,
        environment_section,
        formula_section,
    )

    here = fingerprint()
    facts = {
        _("processor"): here.cpu,
        _("logical CPUs"): here.logical_cores,
        _("memory"): format_value(here.memory_bytes, "B"),
        _("system"): f"{here.system} {here.release}",
        "Python": here.python,
        "torch": here.torch,
        _("run"): comparison.run,
    }
    return Document(
        title=_("What attention and an LSTM cost on this machine"),
        subtitle=f"{here.cpu}, {comparison.run}",
        sections=(
            comparison_section(comparison, _("Prediction against measurement")),
            *(formula_section(derivation) for derivation in derivations),
            environment_section(facts),
        ),
        data=comparison.to_json(),
    )
