"""Arithmetic on lines: what is left out must not be seen."""

from __future__ import annotations

import numpy as np
import pytest

from costlab_gui.plot.clipping import visible
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


def test_a_steep_line_is_cut_at_the_edge_of_the_view() -> None:
    ((x, y),) = visible(np.array([0.0, 100.0]), np.array([-1e9, 1e9]), 100, 100)
    assert np.allclose(x, 50, atol=1e-4)
    assert np.allclose(y, [-10, 110])


def test_what_leaves_the_view_comes_back_as_another_piece() -> None:
    x = np.array([-1000.0, 20.0, 40.0, 60.0, 80.0, 5000.0])
    y = np.array([50.0, 50.0, 500.0, 500.0, 50.0, 50.0])
    first, second = visible(x, y, 100, 100)
    assert first[0].tolist() == pytest.approx([-10, 20, 20 + 20 * 60 / 450])
    assert second[1].tolist() == pytest.approx([110, 50, 50])
    assert second[0][-1] == 110
