"""Figures: well-formed SVG with every point where it belongs, nice ticks, and text plots."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.figures.scale import Scale, scale_of
from costlab.figures.spec import LINEAR, LOG, Axis, FigureSpec, MapSpec, Mark, Series
from costlab.figures.svg import figure_svg, map_svg
from costlab.figures.text import figure_text

SVG = "{http://www.w3.org/2000/svg}"
X = (128.0, 256.0, 512.0, 1024.0)


def spec() -> FigureSpec:
    return FigureSpec(
        title="Time < 1 s & more",
        x=Axis("n, tokens"),
        y=Axis("time", "s"),
        series=(
            Series("a predicted", X, (1e-3, 2e-3, 4e-3, 8e-3), "predicted", 0,
                   (5e-4, 1e-3, 2e-3, 4e-3), (2e-3, 4e-3, 8e-3, 2e-2)),
            Series("a measured", X, (1.1e-3, 2.2e-3, 4.4e-3, 9e-3), "measured", 0),
        ),
        marks=(Mark("x", 300.0, "n* = 300"), Mark("y", 5e-3, "limit")),
        caption="why \"quoted\"",
    )  # fmt: skip


@pytest.mark.parametrize("standalone", [True, False])
def test_svg_is_well_formed_and_names_everything(standalone: bool) -> None:
    root = ET.fromstring(figure_svg(spec(), standalone=standalone))

    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert root.tag == f"{SVG}svg"
    assert {"Time < 1 s & more", "n, tokens", "time", "a predicted", "n* = 300"} <= texts
    assert {"128", "256", "512", "1 024"} <= texts


def test_points_lie_on_straight_lines_in_log_log() -> None:
    root = ET.fromstring(figure_svg(spec()))

    (line,) = root.iter(f"{SVG}polyline")
    corners = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(corners)]
    # Doubling x doubles y: equal steps to the right and upwards.
    for step in steps:
        assert step == pytest.approx(steps[0], abs=0.2)
        assert step[0] > 0 > step[1]
    assert len(list(root.iter(f"{SVG}circle"))) == len(X) + 1  # and one in the legend


def test_an_infinite_bound_draws_no_band() -> None:
    bound = Series("a", X, X, low=X, high=(math.inf,) * 4)

    root = ET.fromstring(figure_svg(FigureSpec("t", Axis("n"), Axis("time", "s"), (bound,))))

    assert not list(root.iter(f"{SVG}polygon"))


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        figure_svg(FigureSpec("t", Axis("n"), Axis("time"), ()))


def test_series_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        Series("a", X, X[:3])


@given(
    low=st.floats(1e-9, 1e12),
    factor=st.floats(1.01, 1e9),
    unit=st.sampled_from(["", "B", "s", "FLOP/s"]),
    scale=st.sampled_from([LINEAR, LOG]),
)
def test_ticks_lie_inside_ascend_and_are_few(
    low: float, factor: float, unit: str, scale: str
) -> None:
    ticks = Scale(Axis("x", unit, scale), low, low * factor).ticks()

    values = [value for value, _label in ticks]
    assert values == sorted(set(values))
    assert all(low * (1 - 1e-6) <= v <= low * factor * (1 + 1e-6) for v in values)
    assert 2 <= len(values) <= 13


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20))
def test_a_scale_holds_all_its_values(values: list[float]) -> None:
    for kind in (LINEAR, LOG):
        scale = scale_of(Axis("x", "", kind), values)
        assert all(-1e-9 <= scale.position(value) <= 1 + 1e-9 for value in values)


def test_map_joins_equal_cells_and_leaves_out_nobody() -> None:
    cells = ((0, 0, 1, -1), (-2, -2, 1, 1))
    drawn = map_svg(MapSpec("m", Axis("n"), Axis("d"), X, (8.0, 16.0), ("full", "rnn"), cells))

    root = ET.fromstring(drawn)
    legend = 3
    assert len(list(root.iter(f"{SVG}rect"))) == 3 + 1 + legend
    assert {"full", "rnn", "undecided"} <= {e.text for e in root.iter(f"{SVG}text")}


def test_text_plot_puts_the_largest_value_at_the_top_right() -> None:
    lines = figure_text(spec(), width=40, height=10).splitlines()

    rows = [line.partition("|")[2] for line in lines if "|" in line]
    first, last = rows[0], rows[-1]
    marked = [index for index, row in enumerate(rows) if "o" in row]
    assert len(rows) == 10
    assert rows[marked[0]].rindex("o") > rows[marked[-1]].index("o")
    assert len(marked) == 4
    assert len(first) <= 40
    assert len(last) <= 40
    assert "1 024" in lines[-3]
