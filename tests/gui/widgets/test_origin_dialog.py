"""The dialog behind a number."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox, QTextBrowser
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.origin_dialog import open_origin


def test_it_opens_and_copies(qtbot: QtBot) -> None:
    hub = Hub(Document(Session(setting=replace(Setting(), device="L4"))), Workspace())

    dialog = open_origin(hub, "full_attention", "time", {"n": 2048})

    assert dialog is not None
    qtbot.addWidget(dialog)
    shown = dialog.findChild(QTextBrowser)
    assert shown is not None
    assert "n = 2048" in shown.toPlainText()
    box = dialog.findChild(QDialogButtonBox)
    assert box is not None
    box.buttons()[1].click()
    assert QGuiApplication.clipboard().text() == dialog.origin.text()


def test_without_formulas_the_reason_is_told(qtbot: QtBot) -> None:
    hub = Hub(Document(Session(setting=replace(Setting(), device="L4"))), Workspace())

    with qtbot.waitSignal(hub.told):
        assert open_origin(hub, "own.py:build", "time") is None
