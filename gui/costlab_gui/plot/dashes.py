"""Line segments in pixels: clipped to what is seen, and cut into dashes by arithmetic.

A pen with a dash pattern costs many times more than the short lines it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from costlab.figures.palette import DASH, DASH_DOT, DOT
from costlab_gui.plot.frame import Array

PATTERNS: Mapping[str, tuple[float, ...]] = {
    DASH: (8.0, 4.0),
    DOT: (2.0, 3.5),
    DASH_DOT: (9.0, 3.5, 2.0, 3.5),
}
"""Pixels of line and gap in turn; a solid line has no pattern."""


def segments(x: Array, y: Array, width: float, height: float) -> Array:
    """The visible segments of a line through pixels, one row ``x0, y0, x1, y1`` each.

    Args:
        x: ascending; at most the first and the last point lie beside the view.
        y: likewise.
        width: of the view; what lies far outside is cut off, where numbers are too large to draw.
        height: of the view.
    """
    edge = 10.0
    seen = np.clip(x, -edge, width + edge)
    y = np.interp(seen, x, y)
    rows = np.column_stack([seen[:-1], y[:-1], seen[1:], y[1:]])
    return _between(rows, -edge, height + edge)


def cut(rows: Array, dash: str) -> Array:
    """The dashes of segments; ``dash`` is a name of ``costlab.figures.palette``."""
    pattern = PATTERNS.get(dash)
    if pattern is None or not rows.size:
        return rows
    lengths = np.hypot(rows[:, 2] - rows[:, 0], rows[:, 3] - rows[:, 1])
    rows, lengths = rows[lengths > 0], lengths[lengths > 0]
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    period = sum(pattern)
    starts = np.arange(int(at[-1] / period) + 1) * period
    edges = (starts[:, None] + np.cumsum((0.0, *pattern[:-1]))[None, :]).ravel()
    stops = np.unique(np.concatenate([edges[edges < at[-1]], at]))
    middle = (stops[:-1] + stops[1:]) / 2
    drawn = np.searchsorted(np.cumsum(pattern), middle % period, side="right") % 2 == 0
    first, last = stops[:-1][drawn], stops[1:][drawn]
    own = np.searchsorted(at, middle[drawn], side="right") - 1
    x0, y0, x1, y1 = rows[own].T
    a, b = (first - at[own]) / lengths[own], (last - at[own]) / lengths[own]
    found: Array = np.column_stack(
        [x0 + a * (x1 - x0), y0 + a * (y1 - y0), x0 + b * (x1 - x0), y0 + b * (y1 - y0)]
    )
    return found


def _between(rows: Array, top: float, bottom: float) -> Array:
    """The parts of segments between two heights."""
    y0, y1 = rows[:, 1], rows[:, 3]
    if not rows.size or (min(y0.min(), y1.min()) >= top and max(y0.max(), y1.max()) <= bottom):
        return rows
    x0, y0, x1, y1 = rows[(np.maximum(y0, y1) >= top) & (np.minimum(y0, y1) <= bottom)].T
    flat = y1 == y0
    rise = np.where(flat, 1.0, y1 - y0)
    a = np.where(flat, 0.0, (np.clip(y0, top, bottom) - y0) / rise)
    b = np.where(flat, 1.0, (np.clip(y1, top, bottom) - y0) / rise)
    return np.column_stack(
        [x0 + a * (x1 - x0), y0 + a * (y1 - y0), x0 + b * (x1 - x0), y0 + b * (y1 - y0)]
    )
