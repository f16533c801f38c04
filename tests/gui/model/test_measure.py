"""The points of a measurement: sizes, duration, memory, and the sweep file they make."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from costlab.cli.sweep_file import load_sweep
from costlab.errors import InputError, SizeError
from costlab_gui.model.duration import seconds_of
from costlab_gui.model.measure import (
    OUTSIDE,
    TOO_LARGE,
    Wish,
    plan,
    sweep_text,
    why_not_here,
)
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.size_lists import first_values, values_of, values_text
from costlab_gui.model.workspace import Workspace

_SIZES = {"b": 1, "n": 4096, "d": 512, "h": 8, "w": 256}
_GIB = 2**30


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def _session(*programs: str) -> Session:
    return Session(programs=programs, setting=Setting(device="L4", sizes=_SIZES))


def test_values_are_typed_as_on_the_command_line() -> None:
    session = _session("lstm")

    assert values_of(session, "256:1k:x2, 300") == (256, 300, 512, 1024)
    assert values_text((512, 256, 1024)) == "256:1024:x2"
    assert values_text((512, 256, 300)) == "256,300,512"
    with pytest.raises(SizeError):
        values_of(session, "256:1k")
    assert 3 <= len(values_of(session, first_values(session))) <= 6


def test_every_shown_program_at_every_size_that_it_has(workspace: Workspace) -> None:
    session = replace(_session("full_attention", "sliding_window"), hidden=("sliding_window",))
    found = plan(session, workspace, Wish("256,512"))

    assert [(one.target, one.sizes["n"]) for one in found.points] == [
        ("full_attention", 256), ("full_attention", 512)
    ]  # fmt: skip
    assert "w" not in found.points[0].sizes
    assert found.points[0].time_s is not None


def test_what_does_not_fit_is_left_out_unless_it_is_asked_for(workspace: Workspace) -> None:
    session = _session("full_attention")
    found = plan(session, workspace, Wish("512,64k"), free_bytes=4 * _GIB)

    assert [one.sizes["n"] for one in found.points] == [512]
    (large,) = found.left_out
    assert (large.problem, large.sizes["n"]) == (TOO_LARGE, 65_536)
    assert "4 GiB are free" in large.why
    whole = plan(session, workspace, Wish("512,64k", all=True), free_bytes=4 * _GIB)
    assert len(whole.points) == 2


def test_a_size_outside_the_domain_says_why(workspace: Workspace) -> None:
    session = _session("full_attention")
    session = replace(session, over="h")
    found = plan(session, workspace, Wish("7,8"))

    assert [one.sizes["h"] for one in found.points] == [8]
    (outside,) = found.left_out
    assert outside.problem == OUTSIDE
    assert outside.why


def test_the_duration_grows_with_calls_and_is_bounded_by_the_budget(workspace: Workspace) -> None:
    session = _session("full_attention")
    short = plan(session, workspace, Wish("256", repeats=3))
    long = plan(session, workspace, Wish("256,512,1024", repeats=9))

    assert short.seconds < long.seconds
    assert plan(session, workspace, Wish("256", budget_s=7)).seconds == 7
    # Three processes of a quick call: each settles and samples for about half a second.
    assert 3 < seconds_of(1e-4, 3, False) < 6
    # Calls of a second are sampled for three, and of ten seconds once in each part.
    assert 20 < seconds_of(1.0, 3, False) - seconds_of(1e-4, 3, False) < 40
    assert seconds_of(10.0, 3, True) - seconds_of(10.0, 3, False) == 17


def test_the_sweep_file_says_the_same(workspace: Workspace, tmp_path: Path) -> None:
    session = _session("full_attention", "lstm")
    setting = replace(session.setting, mode="train", options={"causal": True})
    session = replace(session, setting=setting)
    wish = Wish("256,512", repeats=3, budget_s=90)
    found = plan(session, workspace, wish)
    path = tmp_path / "sweep.toml"
    path.write_text(sweep_text(found, setting, 2, wish), encoding="utf-8")
    sweep = load_sweep(path)

    assert tomllib.loads(path.read_text())["energy"] is False
    assert (sweep.repeats, sweep.budget_s, len(sweep.points)) == (3, 90, 4)
    assert {one.mode for one in sweep.points} == {"train"}
    assert {one.threads for one in sweep.points} == {2}
    assert {one.device for one in sweep.points} == {"cpu"}
    assert [one.options for one in sweep.points] == [{"causal": True}] * 2 + [{}] * 2


def test_nothing_to_measure_and_too_much_are_said(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="no architecture"):
        plan(_session(), workspace, Wish("256"))
    with pytest.raises(InputError, match="too many points"):
        plan(_session("lstm"), workspace, Wish("1:10000:+1"))


def test_another_machine_cannot_be_measured() -> None:
    assert "L4" in why_not_here(_session("lstm").setting)
    assert why_not_here(Setting()) == ""
