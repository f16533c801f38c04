"""The picture of a pattern: a square, the first output on top, and its cells as a table."""

from __future__ import annotations

import re

import pytest

from costlab.figures.render import frame_of, to_svg
from costlab.figures.spec import PatternSpec
from costlab.figures.table import to_csv

# Four outputs, each reading itself and the one before.
BAND = PatternSpec("band", ((1, 0, 0, 0), (1, 1, 0, 0), (2, 1, 1, 0), (3, 2, 1, 1)))
_RUN = re.compile(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)")


def _runs(spec: PatternSpec) -> list[tuple[float, ...]]:
    return [tuple(map(float, run)) for run in _RUN.findall(to_svg(spec))]


def test_cells_lie_where_their_positions_are() -> None:
    frame = frame_of(BAND)
    side = (frame.right - frame.left) / 4

    assert frame.bottom - frame.top == pytest.approx(4 * side)
    assert frame.at(1.0, 1.0) == pytest.approx((frame.left + side / 2, frame.top + side / 2))
    runs = _runs(BAND)
    assert [round(run[2] / side) for run in runs] == [1, 2, 2, 2]
    assert runs[3][:2] == pytest.approx((frame.left + 2 * side, frame.top + 3 * side), abs=0.01)


def test_what_is_farther_is_paler_and_only_as_far_as_asked() -> None:
    far = PatternSpec("band", BAND.layers, upto=2)

    assert len(_runs(far)) == len(_runs(BAND)) + 2
    assert "over up to 2 layers" in to_svg(far)
    assert "over up to" not in to_svg(BAND)


def test_every_connected_pair_is_a_row_of_the_table() -> None:
    rows = to_csv(BAND).splitlines()

    assert rows[0] == "output,position,layers"
    assert rows[1:] == [
        f"{i},{j},{away}"
        for i, row in enumerate(BAND.layers, 1)
        for j, away in enumerate(row, 1)
        if away
    ]


def test_a_pattern_is_a_square() -> None:
    with pytest.raises(ValueError, match="as many columns as rows"):
        PatternSpec("band", ((1, 0), (1,)))
