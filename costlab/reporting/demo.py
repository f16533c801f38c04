"""The main job end to end: derive, calibrate, predict, measure, compare, and write a report.

The functions that do the work are passed in, so that this module knows neither torch nor
processes and tests can replay recorded answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Protocol

from costlab.comparison.api import compare
from costlab.comparison.record import Comparison
from costlab.errors import CostLabError
from costlab.formulas.record import Derivation
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.measurement.point import PointResult
from costlab.prediction.api import predict
from costlab.prediction.record import Prediction
from costlab.reporting.api import flat, report
from costlab.reporting.article import Contest, contest_section, explain
from costlab.reporting.document import Document, Notes, Section, table_text
from costlab.reporting.sections import (
    assumption_notes,
    comparison_section,
    environment_section,
    formula_section,
)
from costlab.reporting.tables import exponents_table, points_table
from costlab.units import format_value

SCHEMA = "costlab.demo/1"
ARCHITECTURE = "full_attention"
FIXED = {"b": 2, "d": 256, "h": 4}
LENGTHS = (128, 256, 512, 1024)
MODES = ("forward", "train")
ARTICLE = {"b": 32, "n": 512, "d": 128}
# What is left of the first is shared by the points that are left, each of which gets at least the
# second: a slow machine takes longer than three minutes.
BUDGET_S = 170.0
LEAST_S = 10.0

Progress = Callable[[str, float], None]


class Derive(Protocol):
    """As ``costlab.derive``."""

    def __call__(self, target: str, *, mode: str) -> Derivation: ...


class Measure(Protocol):
    """As ``costlab.measure``."""

    def __call__(
        self, target: str, sizes: Mapping[str, int], *, mode: str, budget_s: float
    ) -> PointResult: ...


@dataclass(slots=True)
class _Job:
    """What the demo has found so far; ``end_s`` is when it should be done."""

    machine: Machine
    end_s: float
    left: int = len(MODES) * len(LENGTHS) + 2
    derivations: list[Derivation] = field(default_factory=list)
    predictions: list[Prediction] = field(default_factory=list)
    points: list[PointResult] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def run_demo(
    derive: Derive,
    measure: Measure,
    calibrate: Callable[[], CalibrationRecord],
    out: Path,
    progress: Progress,
    say: Callable[[str], None] = print,
) -> int:
    """Run the job, print its tables and write the report.

    Args:
        derive: derives a target's formulas in a mode.
        measure: measures one point.
        calibrate: measures this machine's rates, or returns a record that still holds.
        out: path of the report (.html).
        progress: called with what is being done and the share that is done.
        say: called with text for the user.

    Returns:
        0, or 1 if a point could not be measured.
    """
    start = time.monotonic()
    progress(_("measuring this machine's rates"), 0.0)
    record = calibrate()
    job = _Job(Machine.from_calibration(record), start + BUDGET_S)
    steps = len(MODES) * (len(LENGTHS) + 1) + 4
    done = 0

    def tick(text: str) -> None:
        nonlocal done
        done += 1
        progress(text, 0.3 + 0.7 * done / (steps + 1))

    for mode in MODES:
        tick(_("deriving {name}, {mode}").format(name=ARCHITECTURE, mode=mode))
        derivation = derive(ARCHITECTURE, mode=mode)
        job.derivations.append(derivation)
        for n in LENGTHS:
            tick(_("measuring {name}, {mode}, n={n}").format(name=ARCHITECTURE, mode=mode, n=n))
            _point(job, measure, derivation, ARCHITECTURE, {**FIXED, "n": n})
    comparison = compare(job.points, job.predictions)
    contest = _contest(job, derive, measure, tick)
    document = _document(job, comparison, contest, record, time.monotonic() - start)
    path = report(document, out)
    progress(_("done"), 1.0)
    say(_text(comparison, contest, job))
    say(_("report: {path}").format(path=path.resolve()))
    return 1 if any(p.time_s is None for p in job.points) or job.skipped else 0


def _point(
    job: _Job,
    measure: Measure,
    derivation: Derivation,
    target: str,
    sizes: Mapping[str, int],
) -> tuple[Prediction, PointResult] | None:
    """Predict first, then measure: the prediction cannot have seen the measurement."""
    label = f"{target.rsplit('/', 1)[-1]} {derivation.mode} " + " ".join(
        f"{k}={v}" for k, v in sizes.items()
    )
    prediction = predict(derivation, sizes, job.machine)
    budget_s = max((job.end_s - time.monotonic()) / job.left, LEAST_S)
    job.left -= 1
    try:
        point = measure(target, sizes, mode=derivation.mode, budget_s=budget_s)
    except CostLabError as error:
        job.skipped.append(f"{label}: {error}")
        return None
    job.predictions.append(prediction)
    job.points.append(point)
    return prediction, point


def _contest(
    job: _Job, derive: Derive, measure: Measure, tick: Callable[[str], None]
) -> Contest | None:
    """The article's benchmark: a stepped recurrent cell against self-attention."""
    sides: list[tuple[Derivation, Prediction, PointResult]] = []
    with as_file(files("costlab_profiles") / "programs" / "article.py") as path:
        for factory in ("rnn_cell_loop", "self_attention"):
            target = f"{path}:{factory}"
            tick(_("deriving {name}").format(name=factory))
            derivation = derive(target, mode="forward")
            tick(_("measuring {name}").format(name=factory))
            found = _point(job, measure, derivation, target, ARTICLE)
            if found is None:
                return None
            sides.append((derivation, *found))
    return explain(sides[0], sides[1], job.machine, ARTICLE)


def _document(
    job: _Job,
    comparison: Comparison,
    contest: Contest | None,
    record: CalibrationRecord,
    duration_s: float,
) -> Document:
    environment = record.environment
    sections: list[Section] = [
        comparison_section(
            comparison,
            _("Prediction against measurement"),
            _(
                "Every time was predicted before it was measured: from the derived formulas and "
                "from rates measured on this machine with other shapes."
            ),
        )
    ]
    if contest is not None:
        sections.append(contest_section(contest))
    sections += [formula_section(derivation) for derivation in job.derivations]
    facts: dict[str, Any] = {
        _("processor"): environment.cpu,
        _("threads used"): record.threads,
        _("memory"): format_value(environment.memory_bytes, "B"),
        _("system"): f"{environment.system} {environment.release}, {environment.machine}",
        "Python": environment.python,
        **record.versions,
        _("rates measured"): f"{record.date}, {record.level}",
        _("best matmul rate"): format_value(record.peak_flop_per_s, "FLOP/s"),
        _("launch of one operator"): format_value(record.launch_s["forward"], "s"),
        _("whole job"): format_value(duration_s, "s"),
    }
    machine_section = environment_section(facts)
    notes = assumption_notes(job.predictions)
    if job.skipped:
        notes.append(Notes(_("Not measured"), tuple(job.skipped)))
    sections.append(
        Section(machine_section.title, (*machine_section.blocks, *notes), machine_section.lead)
    )
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "comparison": comparison.to_json(),
        "contest": None if contest is None else contest.to_json(),
        "predictions": [prediction.to_json() for prediction in job.predictions],
        "measured": [point.to_json() for point in job.points],
        "calibration": {"date": record.date, "level": record.level, "threads": record.threads},
        "environment": environment.to_json(),
        "skipped": job.skipped,
    }
    return Document(
        title=_("What attention costs on this machine"),
        subtitle=f"{environment.cpu}, {record.threads} thread(s), {record.date[:10]}",
        sections=tuple(sections),
        data=data,
        rows=tuple(flat(point) for point in data["comparison"]["points"]),
    )


def _text(comparison: Comparison, contest: Contest | None, job: _Job) -> str:
    parts = [table_text(points_table(comparison.points))]
    if comparison.exponents:
        parts.append(table_text(exponents_table(comparison)))
    if contest is not None:
        parts.append("\n".join([contest.headline, *(f"- {line}" for line in contest.lines)]))
    parts += _skipped(job.skipped)
    return "\n\n".join(parts)


def _skipped(skipped: Sequence[str]) -> list[str]:
    if not skipped:
        return []
    return ["\n".join([_("not measured"), *(f"- {line}" for line in skipped)])]
