"""Short texts that are written again and again: laid out once, then only drawn."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QStaticText, QTransform

_KEPT = 200


class Labels:
    """Texts of one font."""

    def __init__(self, font: QFont) -> None:
        self.font = font
        self.metrics = QFontMetricsF(font)
        self.height = self.metrics.height()
        self._known: dict[str, tuple[QStaticText, float]] = {}

    def width(self, text: str) -> float:
        """Width of a text in logical pixels."""
        return self._of(text)[1]

    def draw(self, painter: QPainter, left: float, top: float, text: str) -> None:
        """Write ``text`` with its upper left corner there; the painter has the font already."""
        painter.drawStaticText(QPointF(left, top), self._of(text)[0])

    def _of(self, text: str) -> tuple[QStaticText, float]:
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            static = QStaticText(text)
            static.setTextFormat(Qt.TextFormat.PlainText)
            static.prepare(QTransform(), self.font)
            found = self._known[text] = static, self.metrics.horizontalAdvance(text)
        return found
