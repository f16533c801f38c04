"""Arithmetic on lines: what is left out must not be seen."""

from __future__ import annotations

import numpy as np

from costlab.figures.palette import DASH, SOLID
from costlab_gui.plot.dashes import PATTERNS, cut, segments
from costlab_gui.plot.thinning import thin


def test_thinning_keeps_the_picture() -> None:
    x = np.linspace(0, 700, 256)
    curve, straight = 400 / (1 + np.exp(-(x - 300) / 40)), 0.5 * x
    xs, ys = np.concatenate([x, x]), np.concatenate([curve, straight])
    fixed = np.zeros(512, dtype=bool)
    fixed[[0, 255, 256, 511]] = True
    kept = thin(xs, ys, fixed)
    first, second = kept[kept < 256], kept[kept >= 256]
    assert len(second) < 8 and len(first) < 128
    assert np.abs(np.interp(x, x[first], curve[first]) - curve).max() < 0.5
    assert {0, 255, 256, 511} <= set(kept.tolist())


def test_dashes_have_their_lengths() -> None:
    whole = segments(np.array([0.0, 30.0, 120.0]), np.array([5.0, 5.0, 5.0]), 200, 100)
    assert np.array_equal(cut(whole, SOLID), whole)
    dashes = cut(whole, DASH)
    line, gap = PATTERNS[DASH]
    starts = sorted({round(row[0] / (line + gap)) for row in dashes.tolist()})
    assert starts == list(range(10))
    assert np.isclose((dashes[:, 2] - dashes[:, 0]).sum(), 10 * line)


def test_a_steep_line_is_cut_at_the_edge_of_the_view() -> None:
    rows = segments(np.array([0.0, 100.0]), np.array([-1e9, 1e9]), 100, 100)
    assert len(rows) == 1
    assert np.allclose(rows[0], [50, -10, 50, 110], atol=1e-3)
