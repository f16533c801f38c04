"""The public way to a report: one record in, one file out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Union

from costlab.comparison.record import Comparison
from costlab.comparison.runs import RunComparison
from costlab.errors import InputError
from costlab.figures.render import to_svg
from costlab.figures.spec import AnyFigure
from costlab.formulas.document import document as derivation_document
from costlab.formulas.record import Derivation
from costlab.i18n import _
from costlab.prediction.api import to_json
from costlab.prediction.record import Prediction
from costlab.reporting.document import Document, figures_of
from costlab.reporting.html import to_html
from costlab.reporting.markdown import to_csv, to_markdown
from costlab.reporting.runs import runs_section
from costlab.reporting.sections import (
    comparison_section,
    formula_section,
    predictions_section,
)

Source = Union[Document, Comparison, RunComparison, Derivation, Prediction, Sequence[Prediction]]


def report(source: Source, output: str | Path) -> Path:
    """Write ``source`` to ``output`` in the format of its suffix.

    Args:
        source: a comparison, a run against a run, a derivation, predictions, or a document made
            of sections.
        output: file ending in .html, .md, .json, .csv, or .svg for the first figure alone.

    Returns:
        The path written.

    Raises:
        InputError: for another suffix, if there is no figure for an .svg, or if the file cannot
            be written.
    """
    path = Path(output)
    check_format(path)
    text = WRITERS[path.suffix.lower()](to_document(source))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as cause:
        raise InputError(_("cannot write the report"), given=f"{path}: {cause.strerror}") from cause
    return path


def check_format(path: Path, also: Sequence[str] = ()) -> None:
    """Raise ``InputError`` unless the suffix of ``path`` names a format, or is one of ``also``."""
    allowed = (*WRITERS, *also)
    if path.suffix.lower() not in allowed:
        raise InputError(_("unknown report format"), given=path.name, allowed=", ".join(allowed))


def first_figure(document: Document) -> AnyFigure:
    """The figure that a picture of ``document`` shows.

    Raises:
        InputError: if it has none.
    """
    found = figures_of(document)
    if not found:
        raise InputError(
            _("there is no figure in this report"),
            given=document.title,
            advice=_("several sizes of one symbol are drawn as a curve: n=256:8k:x2"),
        )
    return found[0]


def to_document(source: Source) -> Document:
    """The report of a record, before any format."""
    if isinstance(source, Document):
        return source
    if isinstance(source, Derivation):
        data = derivation_document(source)
        title = _("What {name} costs").format(name=source.architecture)
        return Document(title, source.mode, (formula_section(source),), data)
    if isinstance(source, Comparison):
        return _comparison(source)
    if isinstance(source, RunComparison):
        return _runs(source)
    predictions = [source] if isinstance(source, Prediction) else list(source)
    section = predictions_section(predictions, _("Predictions"))
    return Document(
        title=_("Predicted costs"),
        subtitle=", ".join(dict.fromkeys(p.device for p in predictions)),
        sections=(section,),
        data=to_json(predictions),
        rows=tuple(flat(point) for point in to_json(predictions)["points"]),
    )


def _comparison(source: Comparison) -> Document:
    section = comparison_section(source, _("Prediction against measurement"))
    data = source.to_json()
    return Document(
        title=_("Prediction against measurement"),
        subtitle=source.run,
        sections=(section,),
        data=data,
        rows=tuple(flat(point) for point in data["points"]),
    )


def _runs(source: RunComparison) -> Document:
    data = source.to_json()
    return Document(
        title=_("Run against run"),
        subtitle=_("{run} against {against}").format(run=source.run, against=source.against),
        sections=(runs_section(source),),
        data=data,
        rows=tuple(flat(point) for point in data["points"]),
    )


def flat(point: dict[str, Any]) -> dict[str, Any]:
    """A point as one row: nested fields joined with dots, lists with semicolons."""
    row: dict[str, Any] = {}
    for name, value in point.items():
        if isinstance(value, dict):
            row.update({f"{name}.{key}": inner for key, inner in flat(value).items()})
        elif isinstance(value, (list, tuple)):
            row[name] = ";".join("" if item is None else str(item) for item in value)
        else:
            row[name] = value
    return row


def _to_json_text(document: Document) -> str:
    return json.dumps(document.data, indent=2, allow_nan=False) + "\n"


WRITERS: dict[str, Callable[[Document], str]] = {
    ".html": to_html,
    ".md": to_markdown,
    ".json": _to_json_text,
    ".csv": to_csv,
    ".svg": lambda document: to_svg(first_figure(document)),
}
