"""The visible parts of a line: far outside the view, pixels are numbers too large to draw."""

from __future__ import annotations

import numpy as np

from costlab_gui.plot.frame import Array

_EDGE = 10.0


def within(x: Array, y: Array, width: float, height: float) -> bool:
    """Whether lines through these pixels lie in or close to the view, so that nothing is cut."""
    return bool(
        x.size
        and x.min() >= -_EDGE
        and x.max() <= width + _EDGE
        and y.min() >= -_EDGE
        and y.max() <= height + _EDGE
    )


def visible(x: Array, y: Array, width: float, height: float) -> list[tuple[Array, Array]]:
    """The pieces of a line through pixels that lie in or close to the view.

    Args:
        x: ascending; at most the first and the last point lie beside the view.
        y: likewise.
        width: of the view.
        height: of the view.

    Returns:
        x and y of each piece; what is left out lies above or below the view.
    """
    if x.size and (x[0] < -_EDGE or x[-1] > width + _EDGE):
        seen = np.clip(x, -_EDGE, width + _EDGE)
        x, y = seen, np.interp(seen, x, y)
    top, bottom = -_EDGE, height + _EDGE
    if x.size < 2 or (y.min() >= top and y.max() <= bottom):
        return [(x, y)]
    x0, x1, y0, y1 = x[:-1], x[1:], y[:-1], y[1:]
    rise = np.where(y1 == y0, 1.0, y1 - y0)
    first = np.where(y1 == y0, 0.0, (np.clip(y0, top, bottom) - y0) / rise)
    last = np.where(y1 == y0, 1.0, (np.clip(y1, top, bottom) - y0) / rise)
    inside = np.flatnonzero((np.maximum(y0, y1) >= top) & (np.minimum(y0, y1) <= bottom))
    pieces = []
    for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
        if run.size:
            at = run[0]
            start = x0[at] + first[at] * (x1[at] - x0[at]), y0[at] + first[at] * (y1[at] - y0[at])
            ends = x0[run] + last[run] * (x1[run] - x0[run])
            heights = y0[run] + last[run] * (y1[run] - y0[run])
            pieces.append((np.append(start[0], ends), np.append(start[1], heights)))
    return pieces
