"""Some releases of PySide6 drop a reference of None with every call that returns nothing."""

from __future__ import annotations

import sys

from PySide6.QtGui import QImage, QPainter


def test_calls_that_return_nothing_keep_none_alive() -> None:
    image = QImage(8, 8, QImage.Format.Format_ARGB32)
    painter = QPainter(image)
    before = sys.getrefcount(None)
    for _call in range(1000):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    after = sys.getrefcount(None)
    painter.end()

    # Where None is immortal (Python 3.12 and later) the count never moves.
    assert abs(after - before) < 100
