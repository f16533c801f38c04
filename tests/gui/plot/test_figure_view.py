"""What a plot draws is where the numbers say, in both themes, and stays where the user looks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from costlab.figures.spec import Axis, FigureSpec
from costlab.units import format_value
from costlab_gui.plot.figure_view import FigureView
from costlab_gui.theme import tokens
from tests.gui.plot.figures import figure, near, without


@pytest.fixture(params=[tokens.DARK, tokens.LIGHT], ids=lambda theme: theme.name)
def theme(request: pytest.FixtureRequest) -> Iterator[tokens.Theme]:
    before = tokens.current()
    tokens.choose(request.param)
    yield request.param
    tokens.choose(before)


@pytest.fixture
def view(qtbot: QtBot) -> FigureView:
    made = FigureView()
    qtbot.addWidget(made)
    made.resize(760, 480)
    made.show_figure(figure())
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    return made


@pytest.mark.parametrize("log_x", [True, False])
@pytest.mark.parametrize("log_y", [True, False])
def test_curves_points_bars_marks_and_rings_are_where_the_numbers_say(
    view: FigureView, theme: tokens.Theme, log_x: bool, log_y: bool
) -> None:
    view.retheme()
    spec = figure(log_x, log_y)
    view.show_figure(without(spec, "measured"))
    QApplication.processEvents()
    image = view.grab().toImage()
    for x in (2_000.0, 20_000.0, 50_000.0):
        assert near(image, view.pixel(x, 1e-7 * x**2), theme.curve(0))
    # The second curve is dashed: within one period some pixel is drawn.
    place = view.pixel(30_000.0, 30.0)
    assert any(
        near(image, view.pixel(x, 1e-3 * x), theme.curve(1)) for x in (29_000, 29_400, 30_000)
    )
    assert not near(image, place - QPoint(0, 40), theme.curve(1))
    ring = view.pixel(1e4, 10.0)
    assert near(image, ring + QPoint(7, 0), theme.text)
    mark = view.pixel(200.0, 30.0)
    assert any(near(image, mark + QPoint(dx, 0), theme.dim) for dx in range(12))
    view.show_figure(replace(without(spec, "curve 0", "curve 1"), rings=(), marks=()))
    QApplication.processEvents()
    image = view.grab().toImage()
    assert near(image, view.pixel(1024.0, 0.5), theme.curve(2), 1)
    for end in (0.3, 0.8):
        assert near(image, view.pixel(1024.0, end) + QPoint(2, 0), theme.curve(2), 1)


def test_the_range_follows_until_the_user_zooms(view: FigureView) -> None:
    fit = view.findChild(QToolButton)
    assert fit is not None and not fit.isVisible()
    before = view.y_range
    view.show_figure(figure(factor=10.0))
    assert view.y_range[1] == pytest.approx(10 * before[1])
    turn_wheel(view, view.pixel(4096.0, 10.0), 240)
    zoomed = view.x_range, view.y_range
    assert fit.isVisible()
    assert zoomed[0][1] - zoomed[0][0] < 65_000
    view.show_figure(figure(factor=1000.0))
    assert (view.x_range, view.y_range) == zoomed
    fit.click()
    assert not fit.isVisible()
    assert not view.is_zoomed
    assert view.y_range[1] == pytest.approx(1000 * before[1])


def test_zooms_are_taken_back_one_by_one(view: FigureView, qtbot: QtBot) -> None:
    whole = view.x_range
    drag(view, qtbot, view.pixel(512.0, 10.0), view.pixel(8192.0, 0.1))
    first = view.x_range
    assert first == pytest.approx((512.0, 8192.0), rel=0.03)
    assert view.y_range == pytest.approx((0.1, 10.0), rel=0.05)
    drag(view, qtbot, view.pixel(1024.0, 5.0), view.pixel(2048.0, 1.0))
    assert view.x_range == pytest.approx((1024.0, 2048.0), rel=0.03)
    qtbot.keyClick(view, Qt.Key.Key_Backspace)
    assert view.x_range == first
    qtbot.keyClick(view, Qt.Key.Key_Backspace)
    assert view.x_range == whole and not view.is_zoomed
    view.zoom(1000.0, 1001.0)
    view.zoom(1000.0, 1000.5)
    qtbot.keyClick(view, Qt.Key.Key_F)
    assert view.x_range == whole


def test_another_axis_is_shown_whole(view: FigureView) -> None:
    view.zoom(512.0, 1024.0)
    view.show_figure(figure(log_x=False))
    assert not view.is_zoomed
    assert view.x_range == pytest.approx((128.0, 65_536.0))


def test_the_crosshair_by_keys_and_mouse(view: FigureView, qtbot: QtBot) -> None:
    moved: list[float] = []
    view.crosshair_moved.connect(moved.append)
    view.set_crosshair(8192.0)
    assert moved == []
    assert dict(view.cuts())["curve 1"] == pytest.approx(8.192, rel=1e-3)
    assert dict(view.cuts())["curve 0"] == pytest.approx(1e-7 * 8192**2, rel=1e-2)
    for _press in range(10):
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert moved[-1] == pytest.approx(16_384.0)
    qtbot.keyClick(view, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert moved[-1] == pytest.approx(8192.0)
    with qtbot.waitSignal(view.curve_chosen) as chosen:
        qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.spec.series[chosen.args[0]].name == "curve 1"
    with qtbot.waitSignal(view.curve_chosen) as chosen:
        qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.spec.series[chosen.args[0]].name == "curve 0"
    with qtbot.waitSignal(view.crosshair_chosen) as size:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert size.args[0] == pytest.approx(8192.0)
    drag(view, qtbot, view.pixel(8192.0, 1.0), view.pixel(1024.0, 1.0))
    assert moved[-1] == pytest.approx(1024.0, rel=0.02)
    assert not view.is_zoomed
    assert format_value(1e-3 * moved[-1], "s") in view.accessibleDescription()


def test_double_clicks_choose_a_size(view: FigureView, qtbot: QtBot) -> None:
    target = view._graphics
    in_plot = view.pixel(2048.0, 1.0)
    on_axis = QPoint(in_plot.x(), view.height() - view.fontMetrics().height() * 2)
    for place in (in_plot, on_axis):
        with qtbot.waitSignal(view.crosshair_chosen) as size:
            at = target.mapFrom(view, place)
            qtbot.mouseClick(target, Qt.MouseButton.LeftButton, pos=at)
            qtbot.mouseDClick(target, Qt.MouseButton.LeftButton, pos=at)
            qtbot.mouseRelease(target, Qt.MouseButton.LeftButton, pos=at)
        assert size.args[0] == pytest.approx(2048.0, rel=0.02)


def test_the_wheel_over_an_axis_zooms_that_one(view: FigureView) -> None:
    x, y = view.x_range, view.y_range
    turn_wheel(view, QPoint(view.pixel(2048.0, 1.0).x(), view.height() - 30), 120)
    assert view.x_range != x and view.y_range == y


def test_a_figure_may_say_what_part_of_an_axis_is_shown(view: FigureView) -> None:
    spec = figure()
    view.show_figure(replace(spec, x=replace(spec.x, window=(256.0, 1024.0))))
    assert view.x_range == pytest.approx((256.0, 1024.0))


def test_sentences_stay_in_view(view: FigureView) -> None:
    frame = view.frame()
    box = QRectF(0, 0, frame.width, frame.height)
    view.zoom(9_900.0, 65_000.0)
    frame = view.frame()
    labels = view._graphics.notes.labels(frame)
    assert {text for _box, text, _ring in labels} == {"budget", "they cross at n = 10 000"}
    assert all(box.contains(place) for place, _text, _ring in labels)
    view._seen.zoom_to((view._seen.range[0], (-3.0, -2.0)))
    labels = view._graphics.notes.labels(view.frame())
    assert [text for _box, text, _ring in labels] == ["↑ budget"]


def test_an_empty_figure_says_why(view: FigureView) -> None:
    axis = Axis("n")
    view.show_figure(FigureSpec("Energy", axis, axis, ()), "Energy is measured, not predicted.")
    assert view.summary() == "Energy is measured, not predicted."
    assert view._empty.isVisible() and not view._graphics.isVisible()
    view.show_figure(figure())
    assert not view._empty.isVisible() and view._graphics.isVisible()


def test_lines_are_coarser_only_while_dragging(view: FigureView) -> None:
    def shades() -> int:
        image = view.grab().toImage()
        return len({image.pixel(x, y) for x in range(0, 760, 3) for y in range(0, 480, 3)})

    fine = shades()
    view.set_live(True)
    coarse = shades()
    view.set_live(False)
    assert coarse < fine == shades()


@pytest.mark.parametrize("scale", ["1", "2"])
def test_labels_are_not_cut(scale: str) -> None:
    script = Path(__file__).with_name("labels_child.py")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "QT_SCALE_FACTOR": scale, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[0] == scale + ".0"


def turn_wheel(view: FigureView, at: QPoint, angle: int) -> None:
    target = view._graphics
    place = QPointF(target.mapFrom(view, at))
    event = QWheelEvent(
        place,
        QPointF(target.mapToGlobal(place)),
        QPoint(),
        QPoint(0, angle),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(target, event)


def drag(view: FigureView, qtbot: QtBot, start: QPoint, end: QPoint) -> None:
    target = view._graphics
    a, b = target.mapFrom(view, start), target.mapFrom(view, end)
    qtbot.mousePress(target, Qt.MouseButton.LeftButton, pos=a)
    for share in (0.3, 0.6, 1.0):
        qtbot.mouseMove(target, a + (b - a) * share)
        QApplication.processEvents()
    qtbot.mouseRelease(target, Qt.MouseButton.LeftButton, pos=b)
