"""Shows a figure as it is exported, in the current theme, and tells where the pointer is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from costlab.figures.frame import Frame
from costlab.figures.map_svg import CROSS
from costlab.figures.pen import SMALL
from costlab.figures.render import frame_of, to_svg
from costlab.figures.spec import AnyFigure
from costlab.formulas.identity import Same
from costlab_gui.export import renderer_of
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.background import Background

_LEAST_EM = 22
_KEPT = 8
_STEPS = {
    Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, 1), Qt.Key.Key_Down: (0, -1),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A picture: of what, in which theme, how large in user units and in dots."""

    spec: Same
    theme: str
    size: tuple[float, float]
    dots: tuple[int, int]


@cache
def _drawer() -> Background:
    """The last pictures of the process; its keys are :class:`_Wanted`."""
    return Background(_KEPT)


class SvgFigure(QWidget):
    """Draws a spec with the renderer of the exports, so that screen and file are one picture.

    It is drawn in a thread; until then the picture before stays.

    Signals:
        hovered: values at the pointer (x, y) in the plot area, None when it leaves.
        clicked: values at a click in the plot area.
        stepped: an arrow key: columns and rows (dx, dy) to go, up is positive.
        chosen: Enter or Space.
    """

    hovered = Signal(object)
    clicked = Signal(object)
    stepped = Signal(int, int)
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spec: AnyFigure | None = None
        self._picture: QImage | None = None
        self._outlined: QRectF | None = None
        self._cross: QPointF | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        _drawer().came.connect(self._came)

    @property
    def spec(self) -> AnyFigure | None:
        return self._spec

    def show_figure(self, spec: AnyFigure | None) -> None:
        """Draw ``spec``; None draws nothing."""
        self._spec = spec
        self._outlined = None
        self.update()

    @property
    def is_drawn(self) -> bool:
        """Whether the picture on the screen is the one of what is shown."""
        return self._spec is None or _drawer().answer(self._wanted(self._spec)) is not None

    def retheme(self) -> None:
        """Draw again in the colours of the theme."""
        self.update()

    def outline(self, area: QRectF | None) -> None:
        """Frame a part of the picture, in its user units: what the pointer or keys are at."""
        if area != self._outlined:
            self._outlined = area
            self.update()

    @property
    def outlined(self) -> QRectF | None:
        """The framed part, in user units."""
        return self._outlined

    def cross(self, at: QPointF | None) -> None:
        """Draw a cross over the picture, in its user units: what is set now."""
        if at != self._cross:
            self._cross = at
            self.update()

    @property
    def crossed(self) -> QPointF | None:
        """Where the cross is, in user units."""
        return self._cross

    @property
    def frame(self) -> Frame | None:
        """The plot area in user units; None without a figure."""
        return None if self._spec is None else frame_of(self._spec, self._size())

    def to_widget(self, x: float, y: float) -> QPointF:
        """Where user units lie on the widget."""
        scale = self._scale()
        return QPointF(x * scale, y * scale)

    def sizeHint(self) -> QSize:
        em = self.fontMetrics().height()
        return QSize(3 * _LEAST_EM * em, 2 * _LEAST_EM * em)

    def minimumSizeHint(self) -> QSize:
        em = self.fontMetrics().height()
        return QSize(_LEAST_EM * em, round(0.6 * _LEAST_EM * em))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._spec is None:
            return
        picture = self._drawn(self._spec)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if picture is not None:
            painter.drawImage(0, 0, picture)
        if self._outlined is not None:
            corner = self.to_widget(self._outlined.left(), self._outlined.top())
            scale = self._scale()
            size = self._outlined.size() * scale
            painter.setPen(QPen(QColor(current().text), 2))
            painter.drawRoundedRect(QRectF(corner, size), 3, 3)
        if self._cross is not None:
            self._draw_cross(painter, self.to_widget(self._cross.x(), self._cross.y()))
        if self.hasFocus():
            painter.setPen(QPen(QColor(current().accent), 1))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.hovered.emit(self._values(event.position()))

    def leaveEvent(self, event: object) -> None:
        self.hovered.emit(None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        values = self._values(event.position())
        if values is not None and event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit(values)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is not None:
            self.stepped.emit(*step)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit()
        else:
            super().keyPressEvent(event)

    def _draw_cross(self, painter: QPainter, at: QPointF) -> None:
        half = CROSS * self._scale()
        for colour, width in ((current().card, 5), (current().text, 2)):
            painter.setPen(QPen(QColor(colour), width))
            painter.drawLine(at - QPointF(half, 0), at + QPointF(half, 0))
            painter.drawLine(at - QPointF(0, half), at + QPointF(0, half))

    def _drawn(self, spec: AnyFigure) -> QImage | None:
        """The picture, or the one before while it is drawn: hovering costs no drawing."""
        wanted, ratio = self._wanted(spec), self.devicePixelRatioF()
        if _drawer().known(wanted, lambda: _draw(wanted, ratio)):
            self._picture = _drawer().answer(wanted)
        return self._picture

    def _wanted(self, spec: AnyFigure) -> _Wanted:
        dots = self.size() * self.devicePixelRatioF()
        return _Wanted(Same(spec), current().name, self._size(), (dots.width(), dots.height()))

    def _came(self, wanted: _Wanted) -> None:
        if self._spec is not None and wanted.spec.item is self._spec:
            self.update()

    def _scale(self) -> float:
        """Dots per user unit: texts of the picture are as large as those of the app."""
        return max(self.fontMetrics().height() / (1.25 * SMALL), 0.5)

    def _size(self) -> tuple[float, float]:
        scale = self._scale()
        return max(self.width() / scale, 200.0), max(self.height() / scale, 150.0)

    def _values(self, at: QPointF) -> tuple[float, float] | None:
        frame = self.frame
        if frame is None:
            return None
        scale = self._scale()
        spot = (at.x() / scale, at.y() / scale)
        if not frame.holds(spot):
            return None
        return frame.value_x(spot[0]), frame.value_y(spot[1])


def _draw(wanted: _Wanted, ratio: float) -> QImage:
    """Draw now, in whatever thread."""
    text = to_svg(wanted.spec.item, theme=wanted.theme, ground=False, size=wanted.size)
    drawn = QImage(*wanted.dots, QImage.Format.Format_ARGB32_Premultiplied)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer_of(text).render(painter, QRectF(0, 0, *wanted.dots))
    painter.end()
    drawn.setDevicePixelRatio(ratio)
    return drawn
