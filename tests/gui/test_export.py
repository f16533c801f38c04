"""Export: each format by its suffix, the picture of the command line, and the clipboard."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QGuiApplication, QImage
from pytestqt.qtbot import QtBot

from costlab.errors import InputError
from costlab.figures import Axis, FigureSpec, Series, figure_csv, figure_svg, to_tsv
from costlab.figures.palette import CURVES
from costlab.figures.svg import figure_frame
from costlab_gui.export import copied, image, save_figure, to_clipboard

X = (128.0, 256.0, 512.0)
SPEC = FigureSpec("Time", Axis("n"), Axis("time", "s"), (Series("a", X, (1e-3, 2e-3, 4e-3)),))


@pytest.mark.parametrize("scale", [1.0, 2.0, 3.0])
def test_a_png_is_the_svg_at_a_scale_on_white(qtbot: QtBot, tmp_path: Path, scale: float) -> None:
    path = save_figure(SPEC, tmp_path / "a.png", scale)

    drawn = QImage(str(path))
    frame = figure_frame(SPEC)
    assert drawn.width() == 760 * scale
    assert drawn.pixelColor(2, 2) == QColor("#ffffff")
    x, y = (scale * at for at in frame.at(256.0, 2e-3))
    assert _near(drawn, x, y, QColor(CURVES[0].light))
    assert not _near(drawn, x, y - 30 * scale, QColor(CURVES[0].light))


def _near(drawn: QImage, x: float, y: float, colour: QColor) -> bool:
    """Whether a dot around (x, y) has about this colour."""
    spots = [drawn.pixelColor(round(x) + i, round(y) + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return any(
        abs(spot.red() - colour.red()) + abs(spot.green() - colour.green())
        + abs(spot.blue() - colour.blue()) < 60
        for spot in spots
    )  # fmt: skip


def test_svg_and_csv_are_those_of_the_core(qtbot: QtBot, tmp_path: Path) -> None:
    svg, table = save_figure(SPEC, tmp_path / "a.svg"), save_figure(SPEC, tmp_path / "a.CSV")

    assert svg.read_text(encoding="utf-8") == figure_svg(SPEC)
    assert table.read_text(encoding="utf-8") == figure_csv(SPEC)


def test_without_a_suffix_it_is_a_png(qtbot: QtBot, tmp_path: Path) -> None:
    assert save_figure(SPEC, tmp_path / "plot").name == "plot.png"


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("a.bmp", SPEC, ".png, .svg, .csv"),
        ("no/folder/a.svg", SPEC, "No such file"),
        ("no/folder/a.png", SPEC, "cannot write"),
        ("a.png", FigureSpec("t", Axis("n"), Axis("y"), ()), "nothing to draw"),
    ],
)
def test_what_cannot_be_written_says_why(
    qtbot: QtBot, tmp_path: Path, name: str, spec: FigureSpec, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        save_figure(spec, tmp_path / name)


def test_the_clipboard_gets_picture_svg_and_table_at_once(qtbot: QtBot) -> None:
    to_clipboard(copied(SPEC))

    data = QGuiApplication.clipboard().mimeData()
    assert data.hasImage()
    assert data.imageData().size() == image(SPEC).size()
    assert bytes(data.data("image/svg+xml").data()).decode() == figure_svg(SPEC)
    assert data.text() == to_tsv(SPEC)


def test_a_png_is_written_without_a_display_and_without_an_application(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    code = (
        "import sys; from costlab.figures import *; from costlab_gui.export import save_figure\n"
        "s = Series('a', (1., 2.), (1., 2.))\n"
        "save_figure(FigureSpec('t', Axis('n'), Axis('y'), (s,)), sys.argv[1])\n"
    )
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path)}

    subprocess.run([sys.executable, "-c", code, str(path)], check=True, env=environment)

    assert path.read_bytes().startswith(b"\x89PNG")
