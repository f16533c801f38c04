"""The small widgets that everything is made of."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from costlab_gui.widgets.card import Card
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.empty_state import EmptyState
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.segmented import SegmentedControl

CHOICES = [("a", "First"), ("b", "Second"), ("c", "Third")]


def shown(qtbot: QtBot, widget: QWidget) -> None:
    qtbot.addWidget(widget)
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(widget.isActiveWindow)


def test_one_segment_is_on_and_arrows_pass_over_what_is_disabled(qtbot: QtBot) -> None:
    control = SegmentedControl("Mode", CHOICES)
    shown(qtbot, control)
    told: list[tuple[str, ...]] = []
    control.chosen.connect(told.append)
    control.set_value(["a"])
    control.set_usable("b", False, "not here")
    assert told == []

    control.button("a").setFocus()
    qtbot.keyClick(control.button("a"), Qt.Key.Key_Right)
    assert control.value == ("c",)
    assert told[-1] == ("c",)
    assert control.button("b").toolTip() == "not here"
    assert control.button("b").accessibleName() == "Mode: Second"


def test_tab_stops_at_the_segment_that_is_on(qtbot: QtBot) -> None:
    control, after = SegmentedControl("Mode", CHOICES), QLineEdit()
    both = QWidget()
    layout = QVBoxLayout(both)
    layout.addWidget(control)
    layout.addWidget(after)
    control.set_value(["b"])
    shown(qtbot, both)
    after.setFocus()
    qtbot.keyClick(after, Qt.Key.Key_Tab)
    assert control.button("b").hasFocus()
    qtbot.keyClick(control.button("b"), Qt.Key.Key_Tab)
    assert after.hasFocus()


def test_of_several_segments_one_stays_on(qtbot: QtBot) -> None:
    control = SegmentedControl("Panels", CHOICES, multiple=True)
    shown(qtbot, control)
    control.set_value(["a"])
    for key in ("c", "a", "c"):
        qtbot.mouseClick(control.button(key), Qt.MouseButton.LeftButton)
    assert control.value == ("c",)


def test_segments_that_stay_keep_their_state(qtbot: QtBot) -> None:
    control = SegmentedControl("Mode", CHOICES)
    qtbot.addWidget(control)
    control.set_value(["b"])
    control.set_choices(CHOICES[1:])
    assert control.value == ("b",)


def test_an_error_marks_its_control_until_it_is_taken_back(qtbot: QtBot) -> None:
    edit = QLineEdit()
    line = ErrorLine(edit)
    both = QWidget()
    layout = QVBoxLayout(both)
    layout.addWidget(edit)
    layout.addWidget(line)
    shown(qtbot, both)
    assert not line.isVisible()
    line.say(ValueError("no number"))
    assert line.isVisible() and edit.accessibleDescription() == "no number"
    assert edit.property("wrong") is True
    line.say("")
    assert not line.isVisible() and not edit.accessibleDescription()
    assert edit.property("wrong") is False


@pytest.mark.parametrize("mode", [Qt.TextElideMode.ElideRight, Qt.TextElideMode.ElideMiddle])
def test_a_shortened_label_tells_the_whole_text(qtbot: QtBot, mode: Qt.TextElideMode) -> None:
    label = ElidedLabel("sequence length (of the queries)", mode)
    shown(qtbot, label)
    label.resize(label.sizeHint())
    assert label.toolTip() == ""
    label.resize(QSize(40, 20))
    assert label.toolTip() == label.text()
    label.setText("n")
    assert label.toolTip() == ""


def test_a_card_is_named_by_its_title(qtbot: QtBot) -> None:
    card = Card("Sizes")
    qtbot.addWidget(card)
    assert card.accessibleName() == "Sizes"


def test_an_empty_state_says_what_can_be_done(qtbot: QtBot) -> None:
    state = EmptyState("curve", "Nothing is chosen.", "Choose")
    shown(qtbot, state)
    assert state.accessibleName() == "Nothing is chosen."
    with qtbot.waitSignal(state.acted):
        state.action.click()
    state.say("Nothing runs.")
    assert not state.action.isVisible()
