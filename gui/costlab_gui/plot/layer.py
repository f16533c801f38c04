"""What lies over a plot: an item that paints in pixels of the view."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from costlab_gui.plot.frame import Frame

FrameOf = Callable[[], Frame]


class Layer(QGraphicsItem):
    """Base of the layers of a plot.

    They take no mouse events, which the view handles, and ask for no repaint, which is the owner's.
    """

    def __init__(self, parent: QGraphicsItem, frame: FrameOf, z: float) -> None:
        super().__init__(parent)
        self._frame = frame
        self._box = QRectF()
        self.setZValue(z)

    def resize(self, box: QRectF) -> None:
        """The view has this size now."""
        self.prepareGeometryChange()
        self._box = QRectF(box)

    def boundingRect(self) -> QRectF:
        return self._box

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        self.draw(painter, self._frame())

    def draw(self, painter: QPainter, frame: Frame) -> None:
        """Paint in pixels of ``frame``."""
        raise NotImplementedError
