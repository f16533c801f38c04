"""Sliders, exact values, undo and the head size, as a user meets them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QMouseEvent
from PySide6.QtWidgets import QApplication, QStyle, QStyleOptionSlider
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session
from costlab_gui.model.snapping import notch
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.log_slider import LogSlider
from costlab_gui.widgets.sizes_panel import SizesPanel

LEFT, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
NONE = Qt.KeyboardModifier.NoModifier
Make = Callable[..., SizesPanel]


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


@pytest.fixture
def make(qtbot: QtBot, workspace: Workspace) -> Make:
    def panel(*programs: str) -> SizesPanel:
        session = Session(programs=programs or ("full_attention", "sliding_window"))
        made = SizesPanel(Hub(Document(session), workspace))
        made.hub.setParent(made)
        qtbot.addWidget(made)
        made.resize(320, 600)
        made.show()
        made.activateWindow()
        qtbot.waitUntil(made.isActiveWindow)
        return made

    return panel


def knob(slider: LogSlider) -> QPoint:
    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    return (
        slider.style()
        .subControlRect(
            QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
        )
        .center()
    )


def drag(slider: LogSlider, *by: int, modifier: Qt.KeyboardModifier = NONE) -> None:
    """Press the knob, move it by so many pixels, one after the other, and let go."""
    kinds = QEvent.Type
    at = knob(slider)
    steps = [(kinds.MouseButtonPress, 0), *((kinds.MouseMove, one) for one in by)]
    for kind, distance in [*steps, (kinds.MouseButtonRelease, by[-1])]:
        place = QPointF(at + QPoint(distance, 0))
        button = Qt.MouseButton.NoButton if kind is kinds.MouseMove else LEFT
        held = Qt.MouseButton.NoButton if kind is kinds.MouseButtonRelease else LEFT
        event = QMouseEvent(kind, place, slider.mapToGlobal(place), button, held, modifier)
        QApplication.sendEvent(slider, event)


def type_into(qtbot: QtBot, panel: SizesPanel, name: str, text: str) -> None:
    edit = panel.control(name).edit
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, text)
    qtbot.keyClick(edit, Qt.Key.Key_Return)


@pytest.mark.parametrize(("text", "size"), [("4095", 4095), ("8k", 8192), ("1M", 2**20)])
def test_a_typed_value_is_taken_exactly(qtbot: QtBot, make: Make, text: str, size: int) -> None:
    panel = make()
    type_into(qtbot, panel, "n", text)
    panel.hub.flush()

    assert panel.hub.session.sizes["n"] == size
    control = panel.control("n")
    assert control.slider.size_value == size
    assert control.edit.text() == str(size)
    control.edit.clearFocus()
    assert control.edit.text() == f"{size:,}".replace(",", "\u2009")


def test_typing_beyond_the_range_widens_the_slider(qtbot: QtBot, make: Make) -> None:
    panel = make()
    slider = panel.control("n").slider
    highest = slider.limits[1]
    type_into(qtbot, panel, "n", "64M")
    panel.hub.flush()
    assert slider.limits[1] == 64 * 2**20 > highest
    assert slider.value() == slider.maximum()

    type_into(qtbot, panel, "n", "4k")
    panel.hub.flush()
    assert slider.limits[1] == 64 * 2**20
    assert slider.value() == notch(4096)


def test_what_is_no_size_is_said_beneath_and_changes_nothing(qtbot: QtBot, make: Make) -> None:
    panel = make()
    before = panel.hub.session
    type_into(qtbot, panel, "n", "many")
    edit = panel.control("n").edit

    assert panel.hub.session == before
    assert "n must be a positive integer" in edit.accessibleDescription()
    assert edit.text() == "many"
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert edit.text() == str(before.sizes["n"])
    type_into(qtbot, panel, "n", "512")
    assert not edit.accessibleDescription()


def test_a_drag_is_one_step_of_undo_and_stops_at_sensible_sizes(qtbot: QtBot, make: Make) -> None:
    panel = make()
    slider = panel.control("n").slider
    told: list[bool] = []
    panel.hub.dragging.connect(told.append)
    seen: list[int] = []
    slider.sized.connect(seen.append)
    before = panel.hub.session.sizes["n"]
    drag(slider, 10, 20, 33)
    panel.hub.flush()

    assert len(seen) >= 2 and panel.hub.session.sizes["n"] == seen[-1] > before
    assert {size // (size & -size) for size in seen} <= {1, 3}
    assert told == [True, False]
    panel.hub.document.undo()
    panel.hub.flush()
    assert panel.hub.session.sizes["n"] == before
    assert panel.hub.document.undo_text is None
    assert slider.value() == notch(before)
    assert panel.control("n").edit.text() == "4\u2009096"


def test_two_drags_are_two_steps(qtbot: QtBot, make: Make) -> None:
    panel = make()
    slider = panel.control("n").slider
    drag(slider, 20)
    first = panel.hub.session.sizes["n"]
    drag(slider, 20)
    panel.hub.document.undo()
    assert panel.hub.session.sizes["n"] == first


def test_shift_frees_the_slider(qtbot: QtBot, make: Make) -> None:
    panel = make()
    seen: list[int] = []
    panel.control("n").slider.sized.connect(seen.append)
    drag(panel.control("n").slider, 3, 5, 7, 9, modifier=SHIFT)
    assert any(size // (size & -size) not in (1, 3) for size in seen)


def test_keys_step_double_and_go_to_the_ends(qtbot: QtBot, make: Make) -> None:
    panel = make()
    slider = panel.control("n").slider
    sizes = []
    for key in ("Right", "PageUp", "PageDown", "Left", "Home", "Left", "Right", "End", "Right"):
        qtbot.keyClick(slider, getattr(Qt.Key, f"Key_{key}"))
        sizes.append(panel.hub.session.sizes["n"])
    assert sizes == [4390, 8780, 4390, 4096, 1, 1, 2, 4 * 2**20, 4 * 2**20]


def test_pressing_the_groove_goes_there(qtbot: QtBot, make: Make) -> None:
    panel = make()
    slider = panel.control("n").slider
    qtbot.mouseClick(slider, LEFT, NONE, QPoint(2, slider.height() // 2))
    assert panel.hub.session.sizes["n"] == 1


def test_controls_are_those_of_the_chosen_programs_in_tab_order(qtbot: QtBot, make: Make) -> None:
    panel = make("lstm")
    assert not panel.head_size.isVisible()
    with pytest.raises(KeyError):
        panel.control("w")
    panel.hub.change("choose", programs=("lstm", "sliding_window"))
    panel.hub.flush()

    assert panel.head_size.isVisible()
    qtbot.waitUntil(panel.control("w").isVisible)
    panel.control("n").slider.setFocus()
    passed = []
    for _stop in range(6):
        passed.append(QApplication.focusWidget())
        qtbot.keyClick(passed[-1], Qt.Key.Key_Tab)
    controls = [panel.control(name) for name in ("n", "d", "w")]
    assert passed == [part for one in controls for part in (one.slider, one.edit)]
    for name in ("n", "d", "w", "h", "b"):
        spoken = QAccessible.queryAccessibleInterface(panel.control(name).edit)
        assert spoken.text(QAccessible.Text.Name).startswith(f"{name}, ")


def test_the_head_size_can_be_typed_and_kept(qtbot: QtBot, make: Make) -> None:
    panel = make("full_attention")
    edit = panel.head_size.edit
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "128")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert panel.hub.session.sizes["d"] == 8 * 128

    panel.head_size.keep.click()
    type_into(qtbot, panel, "d", "2k")
    assert (panel.hub.session.sizes["d"], panel.hub.session.sizes["h"]) == (2048, 16)
    panel.hub.document.undo()
    assert (panel.hub.session.sizes["d"], panel.hub.session.sizes["h"]) == (1024, 8)


def test_a_size_that_does_not_fit_is_said_at_its_control(qtbot: QtBot, make: Make) -> None:
    panel = make("full_attention")
    type_into(qtbot, panel, "h", "7")
    panel.hub.flush()
    assert panel.control("h").edit.accessibleDescription() == "h must divide d = 512"
    assert panel.head_size.edit.text() == "\u2013"
