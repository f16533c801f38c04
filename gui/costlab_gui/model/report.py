"""The session as a report: predictions with their figures, formulas, and measured points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from costlab.errors import CostLabError, InputError
from costlab.formulas.record import Derivation
from costlab.i18n import _
from costlab.prediction.record import Prediction
from costlab.reporting.api import report, to_document
from costlab.reporting.document import Document, Figure, Notes, Section
from costlab.reporting.sections import formula_section
from costlab_gui.model.explore import metric_title, panel, point
from costlab_gui.model.plan_report import plan_document
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace

_STEPS = 8


def write_report(
    session: Session, workspace: Workspace, measured: Sequence[Mapping[str, Any]], path: Path
) -> Path:
    """Write the report of what is shown; its format follows from the suffix, as on the CLI.

    From the Plan page it is the report of the plan.

    Raises:
        InputError: for another suffix, if nothing can be shown, or nothing be written.
    """
    if session.page == "plan":
        return report(plan_document(session.plan), path)
    return report(session_document(session, workspace, measured), path)


def session_document(
    session: Session, workspace: Workspace, measured: Sequence[Mapping[str, Any]] = ()
) -> Document:
    """The figures as the app shows them, the table of predictions, and every formula.

    Raises:
        InputError: if no program can be predicted.
    """
    predictions: list[Prediction] = []
    programs: list[Derivation] = []
    problems: list[str] = []
    for target in session.shown:
        try:
            programs.append(workspace.derivation(target, session.setting))
            found = _along(session, workspace, target)
            if not found:
                found = [point(session.setting, workspace, target, {})]
            predictions += found
        except CostLabError as error:
            problems.append(f"{workspace.title(target)}: {error}")
    if not predictions:
        raise InputError(_("nothing to report"), given="; ".join(problems))
    figures = []
    for metric in session.metrics:
        shown = panel(session, workspace, metric, measured)
        if shown.figure.series:
            figures.append(Section(metric_title(metric), (Figure(shown.figure),)))
    document = to_document(predictions)
    sections = (*figures, *document.sections, *(formula_section(one) for one in programs))
    if problems:
        sections = (*sections, Section(_("Left out"), (Notes("", tuple(problems)),)))
    return replace(document, sections=sections)


def _along(session: Session, workspace: Workspace, target: str) -> list[Prediction]:
    """Predictions at doublings of the size on the x axis; those outside every domain are left."""
    sizes = []
    value = session.low
    while value <= session.high:
        sizes.append(value)
        value *= 2
    stride = max(1, -(-len(sizes) // _STEPS))
    found = []
    for value in sizes[::stride]:
        try:
            found.append(point(session.setting, workspace, target, {session.over: value}))
        except CostLabError:
            continue
    return found
