"""Maps, stacks and rooflines: areas, columns and points where the numbers put them."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from costlab.figures.map_svg import cell_at, map_frame, map_svg
from costlab.figures.render import frame_of, to_svg
from costlab.figures.roofline_svg import outside, roofline_frame, roofline_scales, roofline_svg
from costlab.figures.spec import (
    LINEAR,
    AnyFigure,
    Axis,
    FigureSpec,
    Layer,
    MapSpec,
    Mark,
    Roof,
    RooflineSpec,
    RoofPoint,
    Series,
    StackSpec,
)
from costlab.figures.stack_svg import column_span, stack_frame, stack_svg
from costlab.figures.table import map_csv, rows_of, to_csv

SVG = "{http://www.w3.org/2000/svg}"
X = (128.0, 256.0, 512.0, 1024.0)
MAP = MapSpec(
    "m", Axis("n"), Axis("d"), X, (8.0, 16.0), ("full", "rnn"),
    cells=((0, 0, 1, -1), (-2, -2, 1, 1)), best=((0, 0, 1, 1), (-2, -2, 1, 1)), here=(512.0, 8.0),
)  # fmt: skip
STACK = StackSpec(
    "live", Axis("bytes alive", "B", LINEAR), ("aten.mm", "aten.bmm", "aten.mm"),
    ("forward", "forward", "backward"),
    (Layer("parameters", (4e6, 4e6, 4e6), 0), Layer("saved", (1e6, 8e6, 6e6), 2)),
    peak=1, peak_label="peak 11.4 MiB", marks=(Mark("y", 1.5e7, "limit"), Mark("y", 2e9, "GPU")),
)  # fmt: skip
ROOF = RooflineSpec(
    "roofs", (Roof("memory", 3e11), Roof("cache", 1.5e12, faint=True)), (Roof("bf16", 1.2e14),),
    (RoofPoint("a", 30.0, 8e12, 0, 0.64), RoofPoint("b", 2.0, 1e11, 1, 0.16)),
)  # fmt: skip


def texts(drawn: str) -> set[str | None]:
    return {element.text for element in ET.fromstring(drawn).iter(f"{SVG}text")}


def area_of(path: str) -> float:
    """Area of a path of rectangles."""
    return sum(float(w) * abs(float(h)) for w, h in re.findall(r"h([\d.]+)v(-?[\d.]+)h", path))


def test_map_areas_are_as_large_as_their_cells() -> None:
    frame = map_frame(MAP)
    cell = (frame.right - frame.left) * (frame.bottom - frame.top) / 8

    paths = [e.attrib for e in ET.fromstring(map_svg(MAP)).iter(f"{SVG}path")]
    areas = [area_of(a["d"]) / cell for a in paths if a["fill"] != "none"]
    assert areas == pytest.approx([2, 3, 1], rel=1e-3)
    assert {"full", "rnn", "hatched: too close to tell"} <= texts(map_svg(MAP))


def test_hatching_covers_the_undecided_cell_and_nothing_else() -> None:
    frame = map_frame(MAP)
    left, top = frame.at_x(1024.0 / 2**0.5), frame.at_y(8.0 * 2**0.5)

    strokes = [a for a in _paths(MAP) if a.count("M") > 3]
    ends = [tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", strokes[0])]
    assert len(strokes) == 1
    assert all(left - 0.1 <= x <= frame.right + 0.1 for x, _y in ends)
    assert all(top - 0.1 <= y <= frame.bottom + 0.1 for _x, y in ends)
    assert max(x for x, _y in ends) - min(x for x, _y in ends) > 0.9 * (frame.right - left)
    assert not [a for a in _paths(replace(MAP, cells=((0,) * 4, (1,) * 4))) if a.count("M") > 3]


def _paths(spec: MapSpec) -> list[str]:
    """Strokes of the map itself: those of legend and cross are relative."""
    found = ET.fromstring(map_svg(spec)).iter(f"{SVG}path")
    return [e.attrib["d"] for e in found if e.attrib["fill"] == "none" and "l" not in e.attrib["d"]]


def test_cells_lie_around_their_sizes() -> None:
    frame = map_frame(MAP)

    assert frame.x.position(128.0) == pytest.approx(1 / 8)
    assert cell_at(MAP, 500.0, 9.0) == (0, 2)
    assert cell_at(MAP, frame.value_x(frame.right - 1), 15.0) == (1, 3)
    assert cell_at(MAP, 5000.0, 9.0) is None


def test_a_map_of_one_cell_is_drawn() -> None:
    one = MapSpec("m", Axis("n"), Axis("d"), (64.0,), (8.0,), ("full",), ((0,),))

    assert cell_at(one, 64.0, 8.0) == (0, 0)
    assert "full" in texts(map_svg(one))


def test_map_csv_tells_the_narrow_winner_and_nobody() -> None:
    rows = list(csv.reader(io.StringIO(map_csv(MAP))))

    assert rows[4] == ["1024.0", "8.0", "rnn", "no"]
    assert rows[5] == ["128.0", "16.0", "", ""]
    assert rows[7] == ["512.0", "16.0", "rnn", "yes"]


def test_columns_are_as_high_as_their_values_and_the_peak_is_marked() -> None:
    frame = stack_frame(STACK)
    drawn = stack_svg(STACK)

    boxes = [
        e.attrib for e in ET.fromstring(drawn).iter(f"{SVG}rect") if "fill-opacity" in e.attrib
    ]
    columns = [b for b in boxes if "rx" not in b]
    left, right = column_span(frame, 1)
    (saved,) = (
        b for b in columns[2:4] if float(b["y"]) == pytest.approx(frame.at_y(12e6), abs=0.01)
    )
    assert float(saved["x"]) == pytest.approx(left, abs=0.01)
    assert float(saved["width"]) == pytest.approx(right - left, abs=0.01)
    height = frame.at_y(4e6) - frame.at_y(12e6)
    assert float(saved["height"]) == pytest.approx(height - 1, abs=0.02)
    assert {"peak 11.4 MiB", "limit", "above: GPU", "forward", "backward", "saved"} <= texts(drawn)


def test_a_stack_of_unequal_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        replace(STACK, phases=("forward",))


def test_the_frame_of_a_roofline_follows_from_the_machine_alone() -> None:
    far = replace(ROOF, points=(*ROOF.points, RoofPoint("far", 1e7, 1e9)))

    assert roofline_scales(far) == roofline_scales(ROOF)
    x, y = roofline_scales(ROOF)
    # Whole decades that hold both ridges, the roof and an elementwise sum.
    assert (x.low, x.high, y.low, y.high) == pytest.approx((0.01, 1e5, 1e9, 1e15))
    assert outside(far) == far.points[-1:]
    assert "outside: far, 10 000 000 FLOP/B, 1 GFLOP/s" in texts(roofline_svg(far))
    assert roofline_frame(far).bottom == pytest.approx(roofline_frame(ROOF).bottom)


def test_points_lie_at_intensity_and_rate_with_their_share_as_area() -> None:
    frame = roofline_frame(ROOF)

    halos = [
        e.attrib
        for e in ET.fromstring(roofline_svg(ROOF)).iter(f"{SVG}circle")
        if "fill-opacity" in e.attrib
    ]
    found = [(float(h["cx"]), float(h["cy"])) for h in halos]
    assert found == [pytest.approx(frame.at(30, 8e12), abs=0.06),
                     pytest.approx(frame.at(2, 1e11), abs=0.06)]  # fmt: skip
    first, second = (float(h["r"]) for h in halos)
    assert first**2 / second**2 == pytest.approx(4, rel=0.05)


def test_a_slope_meets_the_roof_at_the_ridge() -> None:
    frame = roofline_frame(ROOF)

    paths = [e.attrib for e in ET.fromstring(roofline_svg(ROOF)).iter(f"{SVG}path")]
    slopes = [a["d"] for a in paths if a["stroke-width"] == "1.8"]
    ends = [tuple(map(float, re.findall(r"[\d.]+", d)[-2:])) for d in slopes]
    assert pytest.approx(frame.at(400, 1.2e14), abs=0.1) in ends
    assert pytest.approx((frame.right, frame.at_y(1.2e14)), abs=0.1) in ends


def test_a_roofline_without_roofs_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a flat roof"):
        roofline_svg(replace(ROOF, flats=()))


LINE = FigureSpec("t", Axis("n"), Axis("y"), (Series("a", X, X),))


@pytest.mark.parametrize("spec", [LINE, MAP, STACK, ROOF], ids=["curves", "map", "stack", "roofs"])
@pytest.mark.parametrize("size", [None, (500.0, 400.0), (1400.0, 700.0)])
def test_every_figure_fills_the_size_it_is_given(
    spec: AnyFigure, size: tuple[float, float] | None
) -> None:
    root = ET.fromstring(to_svg(spec, size=size))
    frame = frame_of(spec, size)

    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert size is None or (width, height) == size
    assert 0 < frame.left < frame.right < width
    assert 0 < frame.top < frame.bottom < height
    for element in root.iter(f"{SVG}text"):
        if "transform" not in element.attrib:
            assert -10 <= float(element.attrib["x"]) <= width
            assert -10 <= float(element.attrib["y"]) <= height


@pytest.mark.parametrize("spec", [LINE, MAP, STACK, ROOF], ids=["curves", "map", "stack", "roofs"])
def test_every_row_of_a_table_is_as_wide_as_its_head(spec: AnyFigure) -> None:
    rows = rows_of(spec)

    assert len({len(row) for row in rows}) == 1
    assert len(list(csv.reader(io.StringIO(to_csv(spec))))) == len(rows) > 1
