"""Pictures and numbers of a figure for elsewhere: SVG, PNG, CSV, and the clipboard.

Everything comes from the renderers of ``costlab.figures``, so a saved plot is the one that the
command line writes for the same figure.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QByteArray, QCoreApplication, QMimeData, QRectF, QSize
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from costlab.errors import InputError
from costlab.figures.pen import FONT
from costlab.figures.render import to_svg
from costlab.figures.spec import AnyFigure
from costlab.figures.table import to_csv, to_tsv
from costlab.i18n import _
from costlab_gui.theme import fonts

FORMATS = (".png", ".svg", ".csv")
SCALE = 2.0
_DOTS_PER_METRE = 3780  # 96 per inch, at which one user unit of the SVG is one dot
_SVG_TYPE = "image/svg+xml"
_kept: list[QApplication] = []


def file_filter() -> str:
    """The formats for a file dialog, PNG first."""
    return ";;".join((_("Picture (*.png)"), _("Vector picture (*.svg)"), _("Numbers (*.csv)")))


def save_figure(spec: AnyFigure, path: str | Path, scale: float = SCALE) -> Path:
    """Write a figure in the format of the suffix of ``path``, on a light ground; any thread may.

    Args:
        spec: what to write.
        path: file ending in .png, .svg or .csv; without a suffix it becomes a PNG.
        scale: dots of a PNG per user unit of the SVG.

    Returns:
        The path written.

    Raises:
        InputError: for another suffix, if there is nothing to draw, or no file can be written.
    """
    path = Path(path)
    if not path.suffix:
        path = path.with_suffix(".png")
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(_("unknown format"), given=path.name, allowed=", ".join(FORMATS))
    try:
        if suffix == ".png":
            if not image(spec, scale).save(str(path)):
                raise OSError(0, _("the picture was not written"))
        else:
            text = to_csv(spec) if suffix == ".csv" else to_svg(spec)
            path.write_text(text, encoding="utf-8")
    except OSError as cause:
        raise InputError(_("cannot write the figure"), given=f"{path}: {cause.strerror}") from cause
    except ValueError as cause:
        raise InputError(_("there is nothing to draw"), given=str(cause)) from cause
    return path


def image(spec: AnyFigure, scale: float = SCALE) -> QImage:
    """The figure as dots on a light ground.

    Raises:
        ValueError: if there is nothing to draw.
    """
    renderer = renderer_of(to_svg(spec))
    size = renderer.defaultSize()
    dots = QSize(round(size.width() * scale), round(size.height() * scale))
    drawn = QImage(dots, QImage.Format.Format_RGB32)
    drawn.fill(0xFFFFFFFF)
    per_metre = round(_DOTS_PER_METRE * scale)
    drawn.setDotsPerMeterX(per_metre)
    drawn.setDotsPerMeterY(per_metre)
    painter = QPainter(drawn)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    renderer.render(painter, QRectF(0, 0, dots.width(), dots.height()))
    painter.end()
    return drawn


def renderer_of(svg: str) -> QSvgRenderer:
    """A renderer of a figure's SVG with the app's font."""
    _ensure_application()
    fonts.load()
    # Qt reads one family there, not a list.
    return QSvgRenderer(QByteArray(svg.replace(f'"{FONT}"', f'"{fonts.TEXT}"').encode()))


@dataclass(frozen=True, slots=True)
class Copied:
    """A figure as everything that the clipboard holds of it."""

    picture: QImage
    svg: str
    table: str


def copied(spec: AnyFigure) -> Copied:
    """Draw a figure for the clipboard; any thread may.

    Raises:
        InputError: if there is nothing to draw.
    """
    try:
        return Copied(image(spec), to_svg(spec), to_tsv(spec))
    except ValueError as cause:
        raise InputError(_("there is nothing to draw"), given=str(cause)) from cause


def to_clipboard(copy: Copied) -> None:
    """Put a figure on the clipboard as picture, SVG and table at once."""
    data = QMimeData()
    data.setImageData(copy.picture)
    data.setData(_SVG_TYPE, QByteArray(copy.svg.encode()))
    data.setText(copy.table)
    QGuiApplication.clipboard().setMimeData(data)


def _ensure_application() -> None:
    """Fonts need an application: on the command line one that needs no display."""
    if QCoreApplication.instance() is None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        # The kind that widgets need too, whatever else this process goes on to do.
        _kept.append(QApplication(["costlab"]))
