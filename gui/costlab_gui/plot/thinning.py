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
        left, middle, right = kept[:-2:2], kept[1:-1:2], kept[2::2]
        x0, y0 = x[left], y[left]
        along, across = x[right] - x0, y[right] - y0
        x1, y1 = x[middle] - x0, y[middle] - y0
        # Twice the area of the triangle over its base is the distance from the chord.
        area = np.abs(along * y1 - across * x1)
        close = (area <= _TOLERANCE * np.hypot(along, across)) & ~fixed[middle]
        if not close.any():
            break
        mask = np.ones(kept.size, dtype=bool)
        mask[1:-1:2] = ~close
        kept = kept[mask]
    return kept
