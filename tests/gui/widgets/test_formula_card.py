"""The card of the selected program's formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from costlab.units import format_value
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.explore import point
from costlab_gui.model.formula import View, view
from costlab_gui.model.place import Place
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.formula_card import FormulaCard
from costlab_gui.widgets.origin_dialog import OriginDialog


@pytest.fixture
def hub() -> Hub:
    return Hub(Document(Session(setting=replace(Setting(), device="L4"))), Workspace())


@pytest.fixture
def card(qtbot: QtBot, hub: Hub) -> FormulaCard:
    found = FormulaCard(hub)
    qtbot.addWidget(found)
    found.resize(360, 500)
    found.show()
    qtbot.waitUntil(lambda: any("✓" in text for text in _texts(found)))
    return found


def _texts(card: FormulaCard) -> list[str]:
    labels = [label.text() for label in card.findChildren(QLabel) if label.isVisible()]
    return labels + [button.text() for button in card.findChildren(QPushButton)]


def _button(card: FormulaCard, text: str) -> QPushButton:
    return next(b for b in card.findChildren(QPushButton) if b.text() == text)


def test_it_says_what_the_prediction_says(card: FormulaCard) -> None:
    texts = " ".join(_texts(card))

    assert "FULL ATTENTION" in texts
    assert "43.6 GFLOP" in texts
    assert "order in n: <b>n²</b>" in texts
    assert "core agrees with the paper" in texts
    assert "h divides d" in texts


def test_numbers_follow_the_slider(qtbot: QtBot, hub: Hub, card: FormulaCard) -> None:
    drag = hub.new_drag()
    for n in (4096, 2048, 1024):
        hub.change("n", drag, sizes={"n": n})
        hub.flush()

    flop = point(hub.session.setting, hub.workspace, "full_attention", {}).flop
    assert format_value(flop, "FLOP") in _texts(card)


def test_a_drag_is_read_at_ease_and_its_end_at_once(
    qtbot: QtBot, hub: Hub, card: FormulaCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def count(place: Place, quantity: str) -> View:
        looked.append(place.sizes["n"])
        return view(place, quantity)

    monkeypatch.setattr("costlab_gui.widgets.formula_card.view", count)
    hub.dragging.emit(True)
    for n in range(1024, 1124):
        hub.change("n", 1, sizes={"n": n})
        hub.flush()
    seen = len(looked)
    hub.dragging.emit(False)

    assert seen < 100  # two for each refresh
    assert looked[-1] == 1123


def test_copy(hub: Hub, card: FormulaCard) -> None:
    clipboard: Callable[[], str] = QGuiApplication.clipboard().text

    _button(card, "Python").click()
    assert clipboard().startswith("def flop(b, n, d, h):")
    _button(card, "LaTeX").click()
    assert clipboard().startswith(r"\mathrm{flop} = ")
    _button(card, "Text").click()
    assert clipboard().endswith("FLOP")
    _button(card, "By operator").click()
    assert hub.session.page == "formula"


def test_the_value_opens_its_origin(card: FormulaCard) -> None:
    _button(card, "43.6 GFLOP").click()

    dialog = card.findChild(OriginDialog)
    assert dialog is not None
    assert dialog.origin.value == "43.6 GFLOP"
    dialog.close()


def test_sizes_without_a_formula_say_so(hub: Hub, card: FormulaCard) -> None:
    hub.change("h", sizes={"h": 7})
    hub.flush()

    assert any("positive integer" in text for text in _texts(card))


def test_a_module_without_formulas_says_so(hub: Hub, card: FormulaCard) -> None:
    hub.change("own", programs=("own.py:build",), selected="own.py:build")
    hub.flush()

    assert any("no formulas yet" in text for text in _texts(card))
    assert not _button(card, "LaTeX").isEnabled()
