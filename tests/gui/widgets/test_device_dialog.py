"""The device editor: inline complaints, then a file that the session uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.hardware.catalogue import load_profile
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.own_devices import recent
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.device_dialog import DeviceDialog

DEVICE = "H100-80G-SXM"


@pytest.fixture
def dialog(qtbot: QtBot) -> DeviceDialog:
    hub = Hub(Document(Session(setting=Setting(device=DEVICE))), Workspace())
    found = DeviceDialog(hub)
    # The test looks at it after it was closed.
    found.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(found)
    found.show()
    return found


def test_a_changed_figure_asks_for_its_source_and_is_used(
    dialog: DeviceDialog, tmp_path: Path, qtbot: QtBot
) -> None:
    hub = dialog.hub
    row = dialog.rows["memory.bandwidth"]
    published = load_profile(DEVICE).bandwidth
    assert dialog.start.currentData() == DEVICE
    assert row.source.placeholderText() == published.source.title
    assert dialog.save.isEnabled() and row.source.isReadOnly()

    row.value.selectAll()
    qtbot.keyClicks(row.value, "fast")
    assert "not a figure in B/s" in row.problem.text() and row.problem.isVisible()
    assert not dialog.save.isEnabled()
    row.value.selectAll()
    qtbot.keyClicks(row.value, "4 TB/s")
    assert "source" in row.problem.text() and not row.source.isReadOnly()
    qtbot.keyClicks(row.source, "https://example.org")
    assert not row.problem.isVisible() and dialog.save.isEnabled()

    path = tmp_path / "mine.toml"
    with qtbot.waitSignal(hub.data_changed) as caught:
        assert dialog.save_to(path)
    assert caught.args == ["devices"]
    assert hub.session.setting.device == str(path)
    assert load_profile(path).bandwidth.value == 4e12
    assert recent() == (path,)
    assert str(path) in {choice.name for choice in hub.workspace.devices()}
    hub.document.undo()
    assert hub.session.setting.device == DEVICE


def test_a_file_that_cannot_be_written_keeps_what_was_typed(dialog: DeviceDialog) -> None:
    dialog.name.clear()
    dialog.name.textEdited.emit("")
    assert not dialog.save.isEnabled()
    dialog.name.setText("mine")
    dialog.name.textEdited.emit("mine")

    assert not dialog.save_to(Path("/no/such/folder/mine.toml"))
    assert "/no/such/folder" in dialog.problem.text()
    assert dialog.isVisible() and dialog.draft.name == "mine"
