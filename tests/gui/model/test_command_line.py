"""The copied command gives the numbers of the window, to the last digit."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from costlab.cli.__main__ import main
from costlab_gui.model.command_line import command_line
from costlab_gui.model.explore import read_out
from costlab_gui.model.session import PAGES, Session, Setting
from costlab_gui.model.workspace import Workspace

SETTING = Setting(
    mode="train",
    dtype="bfloat16",
    device="L4",
    options={"causal": True},
    sizes={"b": 3, "n": 1024, "d": 192, "h": 6, "w": 64},
)
SESSION = Session(setting=SETTING, low=256, high=2048)


def test_the_curves_come_out_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace()
    words = shlex.split(command_line(SESSION, workspace))

    assert words[0] == "costlab"
    assert main([*words[1:], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["points"]

    assert [p["sizes"]["n"] for p in printed] == [256, 512, 1024, 2048] * 4
    shown = {
        (target, n): found.to_json()
        for n in (256, 512, 1024, 2048)
        for target, found in read_out(SESSION, workspace, n)[0].items()
    }
    assert len(shown) == len(printed)
    for one in printed:
        assert json.loads(json.dumps(shown[one["architecture"], one["sizes"]["n"]])) == one


@pytest.mark.parametrize("page", sorted(set(PAGES) - {"measure", "monitor"}))
def test_every_page_has_a_command_that_runs(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    words = shlex.split(command_line(replace(SESSION, page=page), Workspace()))

    assert main(words[1:]) == 0
    assert capsys.readouterr().out


def test_what_is_measured_is_what_is_shown() -> None:
    session = replace(SESSION, page="measure", hidden=("lstm",))
    words = shlex.split(command_line(session, Workspace()))

    assert words[:3] == ["costlab", "profile", "full_attention"]
    assert "lstm" not in words
    assert "n=256:2048:x2" in words
