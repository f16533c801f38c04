"""The figure on screen: drawn by the exports' renderer, and positions go back to values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from costlab.figures import palette
from costlab.figures.spec import Axis, FigureSpec, Series
from costlab_gui.theme.tokens import DARK, LIGHT, Theme, choose
from costlab_gui.widgets.svg_figure import SvgFigure

X = (128.0, 256.0, 512.0)
SPEC = FigureSpec("Time", Axis("n"), Axis("time", "s"), (Series("a", X, (1e-3, 2e-3, 4e-3)),))


@pytest.fixture
def figure(qtbot: QtBot) -> SvgFigure:
    made = SvgFigure()
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show_figure(SPEC)
    made.show()
    return made


@pytest.fixture
def themed() -> Iterator[Callable[[Theme], None]]:
    yield choose
    choose(DARK)


def place(figure: SvgFigure, x: float, y: float) -> QPoint:
    frame = figure.frame
    assert frame is not None
    return figure.to_widget(*frame.at(x, y)).toPoint()


def test_the_pointer_and_clicks_tell_values(figure: SvgFigure, qtbot: QtBot) -> None:
    clicks: list[object] = []
    figure.clicked.connect(clicks.append)

    with qtbot.waitSignal(figure.hovered) as seen:
        qtbot.mouseMove(figure, place(figure, 256.0, 2e-3))
    qtbot.mouseClick(figure, Qt.MouseButton.LeftButton, pos=place(figure, 400.0, 3e-3))
    qtbot.mouseClick(figure, Qt.MouseButton.LeftButton, pos=QPoint(2, 2))

    assert seen.args[0] == pytest.approx((256.0, 2e-3), rel=0.02)
    assert clicks == [pytest.approx((400.0, 3e-3), rel=0.02)]


def test_keys_step_and_choose(figure: SvgFigure, qtbot: QtBot) -> None:
    steps: list[tuple[int, int]] = []
    figure.stepped.connect(lambda dx, dy: steps.append((dx, dy)))

    for key in (Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(figure, key)
    with qtbot.waitSignal(figure.chosen):
        qtbot.keyClick(figure, Qt.Key.Key_Return)

    assert steps == [(-1, 0), (0, 1)]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_the_curve_has_its_colour_in_either_theme(
    figure: SvgFigure, theme: Theme, themed: Callable[[Theme], None], qtbot: QtBot
) -> None:
    themed(theme)
    figure.retheme()
    qtbot.waitUntil(lambda: figure.is_drawn)

    drawn = figure.grab().toImage()

    at = place(figure, 256.0, 2e-3)
    spots = [drawn.pixelColor(at.x(), at.y() + shift).name() for shift in range(-2, 3)]
    assert theme.curve(0) in spots


@pytest.mark.parametrize(
    ("theme", "ground"), [(DARK, palette.DARK), (LIGHT, palette.LIGHT)], ids=["dark", "light"]
)
def test_pictures_lie_on_the_ground_of_the_app(theme: Theme, ground: palette.Ground) -> None:
    shared = ("line", "grid", "text", "dim", "accent")

    assert ground.surface == theme.card
    assert [getattr(ground, name) for name in shared] == [getattr(theme, name) for name in shared]
