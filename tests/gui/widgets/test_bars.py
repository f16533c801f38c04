"""The bar on top changes the setting; the line at the bottom tells what happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.errors import InputError
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.messages import WARNING, Message
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.status_line import StatusLine
from costlab_gui.widgets.top_bar import TopBar

MakeHub = Callable[..., Hub]


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


@pytest.fixture
def make_hub(workspace: Workspace) -> MakeHub:
    def made(*programs: str) -> Hub:
        setting = Setting(device="A100-80G-SXM")
        return Hub(Document(Session(programs=programs, setting=setting)), workspace)

    return made


def test_only_modes_that_a_chosen_program_has_can_be_chosen(
    qtbot: QtBot, make_hub: MakeHub
) -> None:
    hub = make_hub("transformer_block")
    bar = TopBar(hub)
    qtbot.addWidget(bar)
    assert not bar.mode.button("decode").isEnabled()
    assert bar.mode.button("decode").toolTip() == "no chosen architecture has this mode"
    hub.change(programs=("lstm",))
    hub.flush()
    assert bar.mode.button("decode").isEnabled()
    assert not bar.mode.button("decode").toolTip()


def test_the_bar_changes_the_setting_and_follows_undo(qtbot: QtBot, make_hub: MakeHub) -> None:
    hub = make_hub("full_attention")
    bar = TopBar(hub)
    qtbot.addWidget(bar)
    qtbot.mouseClick(bar.mode.button("train"), Qt.MouseButton.LeftButton)
    bar.dtype.textActivated.emit("bfloat16")
    qtbot.mouseClick(bar.flag("causal"), Qt.MouseButton.LeftButton)
    bar.device.activated.emit(bar.device.findData("L4"))
    hub.flush()
    setting = hub.session.setting
    assert (setting.mode, setting.dtype, setting.device) == ("train", "bfloat16", "L4")
    assert setting.options == {"causal": True}
    assert bar.device.currentData() == "L4"
    assert bar.undo.toolTip().startswith("Undo: set device to")

    for _step in range(4):
        hub.document.undo()
    hub.flush()
    assert bar.mode.value == ("forward",)
    assert bar.dtype.currentText() == "float32"
    assert bar.device.currentData() == "A100-80G-SXM"
    assert not bar.flag("causal").isChecked()
    assert not bar.undo.isEnabled()


def test_flags_come_and_go_with_the_programs(qtbot: QtBot, make_hub: MakeHub) -> None:
    hub = make_hub("lstm")
    bar = TopBar(hub)
    qtbot.addWidget(bar)
    with pytest.raises(KeyError):
        bar.flag("causal")
    hub.change(programs=("lstm", "full_attention"))
    hub.flush()
    assert bar.flag("causal").text() == "Causal"


def test_the_bar_fits_a_small_window(qtbot: QtBot, make_hub: MakeHub) -> None:
    bar = TopBar(make_hub("full_attention"))
    qtbot.addWidget(bar)
    assert bar.minimumSizeHint().width() <= 1280


def test_messages_stand_in_their_level_and_news_goes_again(qtbot: QtBot, make_hub: MakeHub) -> None:
    hub = make_hub("lstm")
    line = StatusLine(hub)
    qtbot.addWidget(line)
    line.fade_ms = 1
    hub.tell("saved")
    qtbot.waitUntil(lambda: line.message == "")

    hub.tell(InputError("no such file", given="a.json"))
    hub.tell(Message("careful", WARNING))
    assert line.message == "careful"
    assert not line.fading
    hub.closing.emit()


def test_the_basis_follows_the_device(qtbot: QtBot, make_hub: MakeHub) -> None:
    hub = make_hub("lstm")
    line = StatusLine(hub)
    qtbot.addWidget(line)
    assert line.basis.startswith("NVIDIA A100")
    hub.change(device="L4")
    hub.flush()
    assert line.basis.startswith("NVIDIA L4")
