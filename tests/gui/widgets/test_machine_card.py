"""The card of this machine, with and without a GPU."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.machine_card import MachineCard
from costlab_gui.widgets.sparkline import Sparkline
from tests.devices.fake_nvml import loaded
from tests.gui.model.test_monitor import threads


@pytest.mark.parametrize(
    ("setup", "lines"),
    [
        ("", ["37 % · 2 of 80 GiB · 250 of 700 W · 41 °C"] * 2),
        ("fail=nvmlInitWithFlags:12", ["n/a · no NVIDIA driver"]),
    ],
)
def test_cpu_memory_and_a_line_for_each_gpu(setup: str, lines: list[str], qtbot: QtBot) -> None:
    with loaded(setup):
        card = MachineCard(Hub(Document(), Workspace()))
        qtbot.addWidget(card)
        card.show()

        def texts() -> list[str]:
            found = [label.text() for label in card.findChildren(QLabel) if label.isVisible()]
            return [text.replace("\N{NO-BREAK SPACE}", " ") for text in found]

        qtbot.waitUntil(lambda: texts()[-1] == lines[-1])
        assert [text for text in texts() if text in lines] == lines
        assert any(text.endswith(" GiB") and " of " in text for text in texts())
        assert all(line.points for line in card.findChildren(Sparkline)[1:])
        card.close()
    assert threads() == []


def test_a_card_that_is_deleted_while_shown_ends_its_thread(qtbot: QtBot) -> None:
    card = MachineCard(Hub(Document(), Workspace()))
    card.show()
    assert len(threads()) == 1
    with qtbot.waitSignal(card.destroyed):
        card.deleteLater()
    assert threads() == []
