"""Draws LaTeX into small pictures in a thread of its own, and keeps them."""

from __future__ import annotations

import re
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

_KEPT = 4000
_BOX = re.compile(r'viewBox="([-\d.]+) ([-\d.]+) ([-\d.]+) ([-\d.]+)"')


@dataclass(frozen=True, slots=True)
class Wanted:
    """A picture: its LaTeX, colour ("#rrggbb"), size of the letters and device pixels per pixel."""

    latex: str
    colour: str
    size: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn formula; lengths in pixels, ``left`` and ``ascent`` from the origin of its line."""

    image: QImage
    left: float
    ascent: float
    width: float
    height: float

    @property
    def descent(self) -> float:
        return self.height - self.ascent


class MathRenderer(QObject):
    """A cache of pictures in front of the thread that draws.

    Signals:
        drawn: a :class:`Wanted` whose answer has come.
    """

    drawn = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._known: OrderedDict[Wanted, Picture | None] = OrderedDict()
        self._asked: set[Wanted] = set()
        self._thread = ThreadPoolExecutor(1)
        self.drawn.connect(self._asked.discard, Qt.ConnectionType.DirectConnection)

    def known(self, wanted: Wanted) -> bool:
        """Whether :meth:`picture` has an answer; asks for one where it has none."""
        if wanted in self._known:
            self._known.move_to_end(wanted)
            return True
        if wanted not in self._asked:
            self._asked.add(wanted)
            self._thread.submit(self._work, wanted)
        return False

    def picture(self, wanted: Wanted) -> Picture | None:
        """The picture; None where it is not drawn yet or cannot be drawn."""
        return self._known.get(wanted)

    def _work(self, wanted: Wanted) -> None:
        self._known[wanted] = draw(wanted)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        try:
            self.drawn.emit(wanted)
        except RuntimeError:  # the application has ended meanwhile
            return


@cache
def renderer() -> MathRenderer:
    """The one renderer of the process."""
    return MathRenderer()


def draw(wanted: Wanted) -> Picture | None:
    """Draw now; None where ziamath is not installed or does not know what is written."""
    svg = to_svg(wanted.latex, wanted.colour, wanted.size)
    box = _BOX.search(svg) if svg else None
    if svg is None or box is None:
        return None
    left, top, width, height = (float(number) for number in box.groups())
    image = QImage(
        max(round(width * wanted.ratio), 1),
        max(round(height * wanted.ratio), 1),
        QImage.Format.Format_ARGB32_Premultiplied,
    )
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(image.rect()))
    painter.end()
    image.setDevicePixelRatio(wanted.ratio)
    return Picture(image, left, -top, width, height)


def to_svg(latex: str, colour: str, size: float) -> str | None:
    """SVG text with its base line at 0; None where it cannot be made."""
    try:
        import ziamath
    except ImportError:
        return None
    # QtSvg draws nothing of what SVG 2 allows.
    ziamath.config.svg2 = False
    try:
        return str(ziamath.Latex(latex, size=size, color=colour).svg())
    except Exception:  # whatever the parser raises: the text stands in
        return None
