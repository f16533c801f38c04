"""Figures: well-formed SVG with every point where it belongs, nice ticks, and text plots."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.figures.frame import Frame, clip_area, clip_line
from costlab.figures.scale import Scale, scale_of
from costlab.figures.spec import LINEAR, LOG, MEASURED, Axis, FigureSpec, Mark, Ring, Series
from costlab.figures.svg import figure_frame, figure_svg
from costlab.figures.table import figure_csv, to_tsv
from costlab.figures.text import figure_text
from costlab.figures.ticks import label, ticks

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


def corners_of(element: ET.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in element.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_svg_is_well_formed_and_names_everything(theme: str) -> None:
    root = ET.fromstring(figure_svg(spec(), theme=theme))

    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert root.tag == f"{SVG}svg"
    assert {"Time < 1 s & more", "n, tokens", "time", "a predicted", "n* = 300"} <= texts
    assert {"128", "256", "512", "1k"} <= texts


def test_points_lie_on_straight_lines_in_log_log() -> None:
    root = ET.fromstring(figure_svg(spec()))

    (line,) = root.iter(f"{SVG}polyline")
    corners = corners_of(line)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(corners)]
    # Doubling x doubles y: equal steps to the right and upwards.
    for step in steps:
        assert step == pytest.approx(steps[0], abs=0.2)
        assert step[0] > 0 > step[1]
    assert len(list(root.iter(f"{SVG}circle"))) == len(X) + 1  # and one in the legend


def test_points_lie_where_the_frame_says_and_back() -> None:
    drawn = spec()
    frame = figure_frame(drawn)

    circles = [e.attrib for e in ET.fromstring(figure_svg(drawn)).iter(f"{SVG}circle")]
    found = [(float(c["cx"]), float(c["cy"])) for c in circles][: len(X)]
    for at, x, y in zip(found, X, drawn.series[1].y, strict=True):
        assert at == pytest.approx(frame.at(x, y), abs=0.06)
    assert [frame.value_x(x) for x, _y in found] == pytest.approx(X, rel=1e-3)
    assert [frame.value_y(y) for _x, y in found] == pytest.approx(drawn.series[1].y, rel=1e-2)


def test_colour_is_repeated_by_dash_and_marker_in_curve_and_legend() -> None:
    series = [Series(f"s{i}", X, X, colour=i) for i in range(4)]
    series += [Series(f"m{i}", X, X, MEASURED, colour=i) for i in range(4)]

    root = ET.fromstring(figure_svg(FigureSpec("t", Axis("n"), Axis("y"), tuple(series))))

    lines = [e.attrib for e in root.iter(f"{SVG}polyline")]
    samples = [e.attrib for e in root.iter(f"{SVG}path") if e.attrib["stroke-width"] == "2.2"]
    look = [(a["stroke"], a.get("stroke-dasharray")) for a in lines]
    assert look == [(a["stroke"], a.get("stroke-dasharray")) for a in samples]
    assert [dash is None for _colour, dash in look] == [True, False, True, False]
    circles, polygons = list(root.iter(f"{SVG}circle")), list(root.iter(f"{SVG}polygon"))
    assert len(circles) == len(X) + 1
    corners = sorted(len(corners_of(e)) for e in polygons)
    assert corners == [3] * (len(X) + 1) + [4] * 2 * (len(X) + 1)


def test_a_faint_series_is_thinner_and_paler_and_lies_below() -> None:
    bold, faint = Series("a", X, X), Series("b", X, X, faint=True)

    root = ET.fromstring(figure_svg(FigureSpec("t", Axis("n"), Axis("y"), (bold, faint))))

    first, second = (e.attrib for e in root.iter(f"{SVG}polyline"))
    assert float(first["stroke-width"]) < float(second["stroke-width"])
    assert float(first["stroke-opacity"]) < 1
    assert "stroke-opacity" not in second


def test_a_ring_stands_at_its_values_with_its_sentence_clear_of_it() -> None:
    drawn = replace(spec(), rings=(Ring(512.0, 4e-3, "b overtakes at n = 512"),))
    frame = figure_frame(drawn)

    root = ET.fromstring(figure_svg(drawn))

    (ring,) = (e.attrib for e in root.iter(f"{SVG}circle") if e.attrib["fill"] == "none")
    assert (float(ring["cx"]), float(ring["cy"])) == pytest.approx(frame.at(512.0, 4e-3), abs=0.06)
    (text,) = (e.attrib for e in root.iter(f"{SVG}text") if e.text == "b overtakes at n = 512")
    left, right = float(text["x"]), float(text["x"]) + 6 * len("b overtakes at n = 512")
    radius = float(ring["r"])
    assert not left - radius <= float(ring["cx"]) <= right + radius


def test_colours_stand_on_the_elements_and_auto_swaps_every_one_of_them() -> None:
    plain = figure_svg(spec(), theme="dark")
    auto = figure_svg(spec(), theme="auto")

    assert "class=" not in plain.replace('class="costlab-figure"', "")
    assert "<style>" not in plain
    used = set(re.findall(r'(fill|stroke)="(#[0-9a-f]{6})"', auto))
    swapped = set(re.findall(r'\[(fill|stroke)="(#[0-9a-f]{6})"\]', auto))
    assert used == swapped
    dark = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', plain))
    assert dark <= set(re.findall(r"#[0-9a-f]{6}", auto[auto.index("<style>") :]))


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(ValueError, match="light, dark or auto"):
        figure_svg(spec(), theme="sepia")


def test_a_window_cuts_curves_bands_and_points() -> None:
    drawn = replace(spec(), x=Axis("n", window=(200.0, 600.0)))
    frame = figure_frame(drawn)

    root = ET.fromstring(figure_svg(drawn))

    (line,) = root.iter(f"{SVG}polyline")
    (band,) = root.iter(f"{SVG}polygon")
    for element in (line, band):
        assert min(x for x, _y in corners_of(element)) == pytest.approx(frame.left, abs=0.06)
        assert max(x for x, _y in corners_of(element)) == pytest.approx(frame.right, abs=0.06)
    assert len(list(root.iter(f"{SVG}circle"))) == 2 + 1


@given(
    st.lists(st.tuples(st.floats(-50, 150), st.floats(-50, 150)), min_size=2, max_size=12),
)
def test_clipped_lines_lie_inside_and_lose_nothing_there(points: list[tuple[float, float]]) -> None:
    unit = Scale(Axis("", "", LINEAR), 0.0, 1.0)
    frame = Frame(unit, unit, 0.0, 0.0, 100.0, 100.0)

    pieces = clip_line(points, frame)

    assert all(frame.holds(p, 1e-6) for piece in pieces for p in piece)
    kept = {p for piece in pieces for p in piece}
    assert all(p in kept for p in points if frame.holds(p, -1e-9))
    assert all(frame.holds(p, 1e-6) for p in clip_area(points, frame))


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
    found = Scale(Axis("x", unit, scale), low, low * factor).ticks()

    values = [value for value, _label in found]
    assert values == sorted(set(values))
    assert all(low * (1 - 1e-6) <= v <= low * factor * (1 + 1e-6) for v in values)
    assert 2 <= len(values) <= 13


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (8192.0, "", "8k"), (3000.0, "", "3000"), (2.0**20, "", "1M"), (128.0, "", "128"),
        (2.0**31, "B", "2 GiB"), (0.01, "s", "10 ms"), (0.1, "FLOP/B", "0.1"),
        (1e4, "FLOP/B", "10\N{NARROW NO-BREAK SPACE}000"),
    ],
)  # fmt: skip
def test_tick_labels_have_units_and_sizes_as_they_are_typed(
    value: float, unit: str, text: str
) -> None:
    assert label(value, unit) == text


@pytest.mark.parametrize("axis", [Axis("n"), Axis("t", "s"), Axis("m", "B", LINEAR)])
def test_exports_have_the_ticks_of_the_screen(axis: Axis) -> None:
    most = 6 if axis.scale == LINEAR else 8
    screen = [one for one in ticks(axis, 64.0, 2.0**20, most) if one.label]

    assert Scale(axis, 64.0, 2.0**20).ticks() == [
        (one.value, one.label.replace("\N{NARROW NO-BREAK SPACE}", " ")) for one in screen
    ]
    assert len(screen) >= 3


def test_linear_ticks_of_bytes_are_binary() -> None:
    found = Scale(Axis("memory", "B", LINEAR), 0.0, 250 * 2.0**20).ticks()

    assert [text for _value, text in found] == ["0 B", "64 MiB", "128 MiB", "192 MiB"]


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20))
def test_a_scale_holds_all_its_values(values: list[float]) -> None:
    for kind in (LINEAR, LOG):
        scale = scale_of(Axis("x", "", kind), values)
        assert all(-1e-9 <= scale.position(value) <= 1 + 1e-9 for value in values)


def test_csv_has_every_point_with_units_and_full_digits() -> None:
    rows = list(csv.reader(io.StringIO(figure_csv(spec()))))

    assert rows[0] == ["series", "kind", "n, tokens", "time [s]", "low", "high"]
    assert len(rows) == 1 + 2 * len(X)
    assert [float(row[3]) for row in rows[1:5]] == list(spec().series[0].y)
    assert rows[5][4:] == ["", ""]
    assert to_tsv(spec()).splitlines()[0].split("\t") == rows[0]


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
    assert "1k" in lines[-3]
