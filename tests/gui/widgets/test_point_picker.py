"""Sizes picked on the axis: clicked, drawn, freed by Shift, and by keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from costlab_gui.widgets.point_picker import PointPicker

_LEFT, _NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def picker(qtbot: QtBot) -> PointPicker:
    picker = PointPicker()
    picker.set_axis("n", 16, 1024)
    picker.resize(700, picker.sizeHint().height())
    qtbot.addWidget(picker)
    picker.show()
    return picker


def _at(picker: PointPicker, share: float) -> QPoint:
    margin = picker.fontMetrics().horizontalAdvance("m")
    return QPoint(round(margin + share * (picker.width() - 2 * margin)), picker.height() // 3)


def test_a_click_picks_the_nearest_power_and_drops_it_again(
    picker: PointPicker, qtbot: QtBot
) -> None:
    heard: list[tuple[int, ...]] = []
    picker.picked.connect(heard.append)
    qtbot.mouseClick(picker, _LEFT, _NONE, _at(picker, 0.51))
    qtbot.mouseClick(picker, _LEFT, _NONE, _at(picker, 0.5))

    assert heard == [(128,), ()]


def test_drawing_picks_every_power_on_the_way(picker: PointPicker, qtbot: QtBot) -> None:
    qtbot.mousePress(picker, _LEFT, _NONE, _at(picker, 0.0))
    for step in range(1, 51):
        qtbot.mouseMove(picker, _at(picker, step / 100))
    qtbot.mouseRelease(picker, _LEFT, _NONE, _at(picker, 0.5))

    assert picker.values == (16, 32, 64, 128)


def test_shift_frees_the_size(picker: PointPicker, qtbot: QtBot) -> None:
    shift = Qt.KeyboardModifier.ShiftModifier
    qtbot.mouseClick(picker, _LEFT, shift, _at(picker, 0.55))

    (value,) = picker.values
    assert value == pytest.approx(16 * 64**0.55, rel=0.05)
    assert value & (value - 1)


def test_keys_move_the_cursor_and_pick(picker: PointPicker, qtbot: QtBot) -> None:
    picker.set_values((16, 2048))
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Space, Qt.Key.Key_Right):
        qtbot.keyClick(picker, key)
    qtbot.keyClick(picker, Qt.Key.Key_Space)

    assert picker.values == (16, 32, 64, 2048)
    assert "64" in picker.accessibleDescription()
