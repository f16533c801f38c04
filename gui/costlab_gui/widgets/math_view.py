"""A formula as mathematics: its pieces in their colours, on as many lines as the width asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QSize
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from costlab_gui.model.pieces import Piece
from costlab_gui.theme import fonts
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.math_render import Picture, Wanted, known, picture, renderer
from costlab_gui.widgets.term_colours import term_colour

_LEADING = 0.45


@dataclass(frozen=True, slots=True)
class _Placed:
    """A piece in its place: ``x`` from the left, ``line`` from above."""

    piece: Piece
    x: float
    line: int
    picture: Picture | None
    width: float


@dataclass(frozen=True, slots=True)
class _Layout:
    """Pieces on lines; of each line its base line, and the height of all."""

    placed: tuple[_Placed, ...]
    bases: tuple[float, ...]
    height: float


class MathView(QWidget):
    """Shows pieces of a formula.

    While new pieces are being drawn the formula before stays, or the plain text where there is
    none; the text also stands in for good where nothing can draw.

    Args:
        scale: height of the letters, in those of the widget's font.
    """

    def __init__(self, scale: float = 1.2, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scale = scale
        self._wanted: tuple[Piece, ...] = ()
        self._shown: tuple[Piece, ...] = ()
        self._laid: object = None
        self._layouts: dict[int, _Layout] = {}
        self._height = 0.0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        renderer().came.connect(self._drawn)

    def show_pieces(self, pieces: Sequence[Piece], text: str = "") -> None:
        """Show a formula; ``text`` is what it says in words."""
        self.setAccessibleDescription(text)
        self.setToolTip("")
        if tuple(pieces) != self._wanted:
            self._wanted = tuple(pieces)
            self._take()

    @property
    def is_drawn(self) -> bool:
        """Whether what was asked for is on the screen as mathematics."""
        return self._shown == self._wanted and self._all_known()

    def lines(self) -> int:
        """How many lines the formula takes at the present width."""
        return len(self._lay_out(self.width()).bases)

    def retheme(self) -> None:
        """Draw again in the colours of the theme that is on."""
        self._take()

    def sizeHint(self) -> QSize:
        width = 24 * round(self._letters())
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(8 * round(self._letters()), round(1.6 * self._letters()))

    def heightForWidth(self, width: int) -> int:
        return round(self._lay_out(width).height)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._height = 0.0
            self._take()

    def paintEvent(self, event: QPaintEvent) -> None:
        layout = self._lay_out(self.width())
        painter = QPainter(self)
        painter.setFont(self._text_font())
        theme, ratio = current(), self.devicePixelRatioF()
        for placed in layout.placed:
            base = layout.bases[placed.line]
            drawn = placed.picture
            if drawn is None:
                painter.setPen(QColor(term_colour(theme, placed.piece.colour)))
                painter.drawText(QPointF(placed.x, base), placed.piece.text)
            else:
                # At whole device pixels, where the picture was drawn for.
                x = round((placed.x + drawn.left) * ratio) / ratio
                y = round((base - drawn.ascent) * ratio) / ratio
                painter.drawImage(QPointF(x, y), drawn.image)
        painter.end()

    def _take(self) -> None:
        """Go over to the wanted pieces if all are drawn, or if nothing else can be shown."""
        drawn = self._all_known()
        if self._shown and not drawn:
            return
        laid = (drawn, tuple(map(self._ask, self._wanted)))
        if laid != self._laid or self._shown != self._wanted:
            self._laid = laid
            self._shown = self._wanted
            self._layouts.clear()
            self.updateGeometry()
            self.update()

    def _drawn(self, wanted: Wanted) -> None:
        if any(self._ask(piece) == wanted for piece in self._wanted):
            self._take()

    def _all_known(self) -> bool:
        # All are asked for, not only up to the first that is missing.
        found = [known(self._ask(piece)) for piece in self._wanted]
        return all(found)

    def _ask(self, piece: Piece) -> Wanted:
        colour = term_colour(current(), piece.colour)
        return Wanted(piece.latex, colour, round(self._letters(), 2), self.devicePixelRatioF())

    def _letters(self) -> float:
        if not self._height:
            self._height = QFontMetricsF(self.font()).height()
        return self._height * 0.8 * self._scale

    def _text_font(self) -> QFont:
        font = QFont(fonts.MONO)
        font.setPixelSize(max(round(self._letters() * 0.8), 6))
        return font

    def _lay_out(self, width: int) -> _Layout:
        found = self._layouts.get(width)
        if found is None:
            found = self._layouts[width] = self._flow(max(width, 1))
        return found

    def _flow(self, width: int) -> _Layout:
        em = self._letters()
        metrics = QFontMetricsF(self._text_font())
        rows: list[list[_Placed]] = [[]]
        x = 0.0
        for unit in _units(self._shown):
            sizes = [self._size(piece, metrics) for piece in unit]
            space = unit[0].space * em if rows[-1] else 0.0
            length = sum(w for _p, w in sizes) + sum(p.space for p in unit[1:]) * em
            if rows[-1] and x + space + length > width:
                rows.append([])
                x, space = 0.0, 0.0
            for at, (piece, (drawn, own)) in enumerate(zip(unit, sizes, strict=True)):
                x += space if at == 0 else piece.space * em
                rows[-1].append(_Placed(piece, x, len(rows) - 1, drawn, own))
                x += own
        bases, height = [], 0.0
        for row in rows:
            up = max([p.picture.ascent if p.picture else metrics.ascent() for p in row] or [em])
            down = max([p.picture.descent if p.picture else metrics.descent() for p in row] or [0])
            bases.append(height + up)
            height += up + down + _LEADING * em
        return _Layout(
            tuple(p for row in rows for p in row), tuple(bases), max(height - _LEADING * em, em)
        )

    def _size(self, piece: Piece, metrics: QFontMetricsF) -> tuple[Picture | None, float]:
        drawn = picture(self._ask(piece))
        if drawn is None:
            return None, metrics.horizontalAdvance(piece.text)
        return drawn, drawn.left + drawn.width


def _units(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces between which no line may break, together."""
    found: list[list[Piece]] = []
    for piece in pieces:
        if piece.breaks or not found:
            found.append([piece])
        else:
            found[-1].append(piece)
    return found
