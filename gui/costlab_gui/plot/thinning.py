"""Fewer line segments for the same picture: what deviates by less than a fraction of a pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from costlab_gui.plot.frame import Array

_PASSES = 7
# Each pass may deviate by this much; together they stay below a third of a pixel.
_TOLERANCE = 0.04


def thin(x: Array, y: Array, fixed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices of the points that are enough to draw lines through all of them.

    Args:
        x: pixels of several lines one after the other, ascending along each line.
        y: likewise.
        fixed: points that stay, among them the first and the last one of every line.
    """
    kept = np.arange(x.size)
    for _pass in range(_PASSES):
        if kept.size < 3:
            break
        x0, y0 = x[:-2:2], y[:-2:2]
        along, across = x[2::2] - x0, y[2::2] - y0
        # Twice the area of the triangle over its base is the distance from the chord.
        area = along * (y[1:-1:2] - y0) - across * (x[1:-1:2] - x0)
        close = area * area <= _TOLERANCE**2 * (along * along + across * across)
        close &= ~fixed[1:-1:2]
        if not close.any():
            break
        mask = np.ones(kept.size, dtype=bool)
        np.logical_not(close, out=mask[1:-1:2])
        kept, x, y, fixed = kept[mask], x[mask], y[mask], fixed[mask]
    return kept
