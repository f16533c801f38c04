"""Limits are typed with their units and drawn; hands are dragged in one step of undo."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.budget_control import BudgetPopup
from costlab_gui.widgets.plot_options import PlotOptions


@pytest.fixture
def hub() -> Hub:
    return Hub(Document(Session(setting=Setting(device="L4"))), Workspace())


@pytest.fixture
def popup(qtbot: QtBot, hub: Hub) -> BudgetPopup:
    made = BudgetPopup(hub)
    qtbot.addWidget(made)
    made.refresh()
    return made


@pytest.mark.parametrize(
    ("text", "limit"), [("24", 24 * 2**30), ("512 MiB", 512 * 2**20), ("80GB", 80e9)]
)
def test_memory_is_in_gibibytes_unless_said(
    popup: BudgetPopup, qtbot: QtBot, text: str, limit: float
) -> None:
    qtbot.keyClicks(popup.memory, text)
    qtbot.keyClick(popup.memory, Qt.Key.Key_Return)
    assert popup.hub.session.budget.memory_bytes == limit
    popup.memory.clear()
    assert popup.hub.session.budget.memory_bytes is None


def test_time_and_energy(popup: BudgetPopup, qtbot: QtBot) -> None:
    for edit, text in ((popup.time, "40"), (popup.energy, "250 mJ")):
        qtbot.keyClicks(edit, text)
        qtbot.keyClick(edit, Qt.Key.Key_Return)
    budget = popup.hub.session.budget
    assert (budget.time_s, budget.energy_j) == (0.04, 0.25)


def test_nonsense_changes_nothing_and_says_why(popup: BudgetPopup, qtbot: QtBot) -> None:
    qtbot.keyClicks(popup.memory, "a lot")
    qtbot.keyClick(popup.memory, Qt.Key.Key_Return)
    assert popup.hub.session.budget.memory_bytes is None
    assert "GiB" in popup.memory.accessibleDescription()


def test_hands_are_dragged_in_one_step(popup: BudgetPopup) -> None:
    own = popup.hub.workspace.machine(popup.hub.session.setting).width
    popup.wide.click()
    assert popup.hub.session.hands == own
    popup.slider.setSliderDown(True)
    for step in (200, 400):
        popup.slider.setSliderPosition(popup.slider.sliderPosition() + step)
    popup.slider.setSliderDown(False)
    assert popup.hub.session.hands is not None and popup.hub.session.hands > 10 * own
    popup.hub.document.undo()
    assert popup.hub.session.hands == own


def test_range_and_axis_of_the_plots(qtbot: QtBot, hub: Hub) -> None:
    options = PlotOptions(hub)
    qtbot.addWidget(options)
    options.refresh()
    options.low.setText("1k")
    options.low.setModified(True)
    qtbot.keyClick(options.low, Qt.Key.Key_Return)
    assert hub.session.low == 1024
    options.high.setText("512")
    options.high.setModified(True)
    qtbot.keyClick(options.high, Qt.Key.Key_Return)
    assert hub.session.high == 65_536, "an end below the start is refused"
    options.over.setCurrentIndex(options.over.findData("d"))
    options.over.activated.emit(options.over.currentIndex())
    assert (hub.session.over, hub.session.low, hub.session.high) == ("d", 16, 16_384)
