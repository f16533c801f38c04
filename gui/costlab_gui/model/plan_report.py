"""A plan as a report: the table, its pictures, why each plan is where it is, what was assumed."""

from __future__ import annotations

from costlab.i18n import _
from costlab.reporting.document import Document, Figure, Notes, Paragraph, Section, Table
from costlab_gui.model.plan import Answer, answer
from costlab_gui.model.plan_curves import GPUS, PARETO, curve, view_titles
from costlab_gui.model.plan_fields import command_line, job_title
from costlab_gui.model.to_plan import ToPlan

_EXPLAINED = 3


def plan_document(wish: ToPlan) -> Document:
    """The report of what the Plan page shows.

    Raises:
        InputError: see :func:`costlab_gui.model.plan.answer`.
    """
    found = answer(wish)
    pictures = [Figure(spec) for spec in (found.memory, found.time) if spec is not None]
    curves = [
        Figure(drawn.figure)
        for view in (PARETO, GPUS)
        if view in view_titles(wish.job) and (drawn := curve(wish, view, "")).figure is not None
    ]
    sections = (
        Section(_("Plans"), (_table(found), *pictures), found.headline),
        Section(_("Why"), tuple(_why(found, row) for row in _explained(found))),
        Section(_("Other clusters"), tuple(curves)),
        Section(
            _("What it rests on"),
            (
                Notes(_("Assumptions"), tuple(found.assumptions)),
                Paragraph(_("The same in a terminal: {line}").format(line=command_line(wish))),
            ),
        ),
    )
    return Document(
        title=_("{job} of {model} on {gpus} x {device}").format(
            job=job_title(wish.job), model=found.data["model"], gpus=found.data["gpus"],
            device=found.data["device"],
        ),
        subtitle=_("predicted, not measured"),
        sections=tuple(section for section in sections if section.blocks),
        data=found.data,
        rows=tuple(
            {head.key: row.get(head.key) for head in found.heads} for row in found.rows
        ),
    )  # fmt: skip


def _table(found: Answer) -> Table:
    heads = [
        head for head in found.heads if any(row.get(head.key) is not None for row in found.rows)
    ]
    return Table(
        tuple(head.title for head in heads),
        tuple(
            tuple(found.text(at, head) for head in heads) for at in range(len(found.rows))
        ),
        "".join("r" if head.figures else "l" for head in heads),
    )  # fmt: skip


def _explained(found: Answer) -> list[int]:
    """The proposed row, then the first others."""
    others = [at for at in range(len(found.rows)) if at != found.best]
    return [found.best, *others[: _EXPLAINED - 1]]


def _why(found: Answer, row: int) -> Notes:
    name = found.text(row, found.heads[0])
    title = f"{found.heads[0].title} {name}"
    return Notes(title, tuple(f"{head}: {text}" for head, text in found.reasons[row]))
