"""Modes, flags and devices follow the chosen programs."""

from __future__ import annotations

from pathlib import Path

from costlab_gui.model.choices import (
    basis_line,
    device_choices,
    flags,
    modes_with_users,
    with_flag,
)
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace


def test_a_mode_is_used_by_those_that_have_it() -> None:
    workspace = Workspace()
    users = modes_with_users(Session(programs=("transformer_block", "lstm")), workspace)
    assert users["decode"] == (workspace.title("lstm"),)
    assert len(users["train"]) == 2


def test_flags_are_those_of_the_chosen_programs() -> None:
    assert flags(Session(programs=("lstm",))) == ()
    session = Session(programs=("lstm", "full_attention"))
    assert flags(session) == ("causal",)
    assert with_flag(session, "causal", True) == {"causal": True}
    causal = Session(setting=Setting(options={"causal": True}))
    assert with_flag(causal, "causal", False) == {}


def test_a_device_file_is_among_the_choices(tmp_path: Path) -> None:
    own = str(tmp_path / "mine.toml")
    names = [
        choice.name for choice in device_choices(Session(setting=Setting(device=own)), Workspace())
    ]
    assert names[-1] == own
    assert own not in [choice.name for choice in device_choices(Session(), Workspace())]


def test_the_basis_says_what_times_mean() -> None:
    known = basis_line(Session(setting=Setting(device="A100-80G-SXM")), Workspace())
    assert known.startswith("NVIDIA A100") and "lower bounds" in known
    unknown = Session(setting=Setting(device="/nowhere/mine.toml"))
    assert "need a calibration" in basis_line(unknown, Workspace())
