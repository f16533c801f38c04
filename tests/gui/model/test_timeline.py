"""The memory page's numbers: moments add up to the predicted peak, kind by kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.formulas import store
from costlab.hardware.catalogue import load_profile
from costlab_gui.model.explore import point
from costlab_gui.model.session import Budget, Session, Setting
from costlab_gui.model.timeline import KINDS, fits, sentence, timeline
from costlab_gui.model.workspace import Workspace

# A window that a dilated one can stretch to the default reach.
SIZES = {**Setting().sizes, "w": 32}
SESSION = Session(setting=Setting(device="L4", mode="train", sizes=SIZES))


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def programs() -> list[tuple[str, str]]:
    return [
        (name, mode)
        for name in store.names()
        for mode in ("forward", "train", "decode")
        if f"{mode}-cuda-float32" in store.available(name)
    ]


@pytest.mark.parametrize(("name", "mode"), programs())
def test_the_highest_column_is_the_predicted_peak(
    workspace: Workspace, name: str, mode: str
) -> None:
    session = replace(SESSION, selected=name, setting=replace(SESSION.setting, mode=mode))
    found = timeline(session, workspace)

    predicted = point(session.setting, workspace, name, {}).peak_bytes
    assert found.figure is not None
    assert round(found.moments[found.peak].bytes) == predicted
    assert round(found.figure.total(found.peak)) == predicted
    assert all(part.kind in KINDS for moment in found.moments for part in moment.alive)
    assert all(part.bytes >= 0 for moment in found.moments for part in moment.alive)


def test_the_peak_is_explained_with_kinds_and_formulas(workspace: Workspace) -> None:
    found = timeline(SESSION, workspace)

    text = sentence(found, found.peak)
    assert text.startswith("Peak, 1.55 GiB, 6.94 % of the device, while softmax backward data in")
    assert "temporary 1.02 GiB = 8·n²·h + 8·n·d" in text
    assert "gradients 1 MiB = 4·d²" in text
    assert not sentence(found, 0).startswith("Peak")


def test_capacity_and_budget_are_lines_and_not_fitting_is_said(workspace: Workspace) -> None:
    tight = replace(SESSION, budget=Budget(memory_bytes=2.0**30))
    huge = replace(SESSION, setting=replace(SESSION.setting, sizes={**SESSION.sizes, "n": 65_536}))

    found = timeline(tight, workspace)
    assert found.figure is not None
    capacity = load_profile("L4").capacity
    assert capacity is not None
    assert [mark.value for mark in found.figure.marks] == [capacity.value, 2.0**30]
    assert fits(found) == ""
    assert fits(timeline(huge, workspace)).startswith("Does not fit: the peak is ")


def test_rerolled_loops_are_said(workspace: Workspace) -> None:
    looped = timeline(replace(SESSION, selected="rnn_cell_loop"), workspace)

    assert any("Loops over n are re-rolled" in note for note in looped.notes)
    assert not any("re-rolled" in note for note in timeline(SESSION, workspace).notes)


def test_without_formulas_or_outside_their_domain_it_says_why(workspace: Workspace) -> None:
    odd = replace(SESSION.setting, sizes={**SESSION.sizes, "h": 7})
    outside = timeline(replace(SESSION, setting=odd), workspace)
    decode = replace(SESSION, selected="rnn_cell_loop")
    missing = timeline(replace(decode, setting=replace(odd, mode="decode")), workspace)

    assert outside.figure is None and "h" in outside.problem
    assert missing.figure is None and "no formulas" in missing.problem


def test_without_a_machine_there_is_a_timeline_without_capacity(workspace: Workspace) -> None:
    found = timeline(Session(), workspace)

    assert found.figure is not None
    assert found.capacity_bytes is None
    assert found.figure.marks == ()
