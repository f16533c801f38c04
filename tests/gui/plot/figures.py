"""Figures that the tests of plots show, and how to look at what was drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QImage

from costlab.figures.spec import LINEAR, LOG, MEASURED, Axis, FigureSpec, Mark, Ring, Series

X = np.geomspace(128, 65_536, 64)


def line(colour: int, curve: Callable[[np.ndarray], np.ndarray], band: float = 0.0) -> Series:
    """A predicted curve; ``band`` is the half width of its interval as a share."""
    y = curve(X)
    return Series(
        f"curve {colour}",
        tuple(X.tolist()),
        tuple(y.tolist()),
        colour=colour,
        low=tuple((y * (1 - band)).tolist()) if band else (),
        high=tuple((y * (1 + band)).tolist()) if band else (),
    )


def figure(log_x: bool = True, log_y: bool = True, factor: float = 1.0) -> FigureSpec:
    """Two curves, a point with an error bar, a ceiling and a crossover, all known numbers."""
    point = Series(
        "measured", (1024.0,), (0.5 * factor,), MEASURED, 2, (0.3 * factor,), (0.8 * factor,)
    )
    return FigureSpec(
        "Time, forward",
        Axis("n, sequence length", "", LOG if log_x else LINEAR),
        Axis("time per forward pass", "s", LOG if log_y else LINEAR),
        (
            line(0, lambda x: factor * 1e-7 * x**2, band=0.2),
            line(1, lambda x: factor * 1e-3 * x),
            point,
        ),
        marks=(Mark("y", 30.0 * factor, "budget"),),
        rings=(Ring(1e4, 10.0 * factor, "they cross at n = 10 000"),),
    )


def without(spec: FigureSpec, *names: str) -> FigureSpec:
    """``spec`` without some of its series."""
    return replace(spec, series=tuple(s for s in spec.series if s.name not in names))


def near(image: QImage, at: QPoint, colour: str, reach: int = 2) -> bool:
    """Whether a pixel around ``at`` (in logical pixels) has nearly this colour."""
    ratio = image.devicePixelRatio()
    wanted = QColor(colour)
    across = range(-reach, reach + 1)
    for dx in across:
        for dy in across:
            x, y = round((at.x() + dx) * ratio), round((at.y() + dy) * ratio)
            if not image.valid(x, y):
                continue
            found = image.pixelColor(x, y)
            distance = max(
                abs(found.red() - wanted.red()),
                abs(found.green() - wanted.green()),
                abs(found.blue() - wanted.blue()),
            )
            if distance <= 24:
                return True
    return False
