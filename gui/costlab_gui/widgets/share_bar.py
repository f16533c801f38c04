"""A bar that shows how much of the whole each term is, in the colours of the terms."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from costlab.i18n import _
from costlab_gui.model.formula import Part
from costlab_gui.model.wording import share_text
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.term_colours import fill_colour


class ShareBar(QWidget):
    """Parts above 0 share the width; the percentage stands where there is room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(_("Share of each term"))

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show the shares of ``parts``; none where they have no values."""
        self._parts = tuple(part for part in parts if part.share > 0)
        text = ", ".join(f"{p.term.text} {share_text(p.share)}" for p in parts if p.share)
        self.setAccessibleDescription(text)
        self.setToolTip(text.replace(", ", "\n"))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, round(QFontMetricsF(self._figures()).height() * 1.35))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._figures())
        metrics = QFontMetricsF(self._figures())
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setClipPath(outline)
        painter.fillRect(self.rect(), QColor(theme.line))
        whole = sum(part.share for part in self._parts)
        x = 0.0
        for part in self._parts:
            width = self.width() * part.share / whole
            colour = QColor(fill_colour(theme, part.colour))
            painter.fillRect(QRectF(x, 0, max(width - 1.5, min(width, 1.0)), self.height()), colour)
            label = f"{100 * part.share:.0f} %"
            if metrics.horizontalAdvance(label) + metrics.averageCharWidth() < width:
                painter.setPen(QColor(_readable(colour)))
                area = QRectF(QPointF(x, 0), QPointF(x + width, self.height()))
                painter.drawText(area, Qt.AlignmentFlag.AlignCenter, label)
            x += width
        painter.end()

    def _figures(self) -> QFont:
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * 0.85)
        font.setWeight(QFont.Weight.DemiBold)
        return font


def _readable(ground: QColor) -> str:
    """Black or white, whichever has the greater contrast (WCAG) on ``ground``."""
    shine = _luminance(ground)
    return "#ffffff" if 1.05 / (shine + 0.05) > (shine + 0.05) / 0.05 else "#000000"


def _luminance(colour: QColor) -> float:
    def linear(value: float) -> float:
        return float(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(v) for v in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
