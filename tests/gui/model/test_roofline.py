"""The roofline's numbers: those of the prediction, below roofs that a machine really has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine
from costlab_gui.model.explore import point
from costlab_gui.model.roofline import roofline
from costlab_gui.model.roofs import roofs_of
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from tests.gui.cached_machine import calibration

SESSION = Session(setting=replace(Setting(), device="A100-80G-SXM"))


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def test_programs_stand_where_their_prediction_is(workspace: Workspace) -> None:
    found = roofline(SESSION, workspace)

    assert [row.target for row in found.rows] == list(SESSION.programs)
    for row in found.rows:
        predicted = point(SESSION.setting, workspace, row.target, {})
        assert predicted.flop is not None and predicted.bytes is not None
        assert row.intensity == pytest.approx(predicted.flop / predicted.bytes)
        assert row.rate == pytest.approx(predicted.flop / predicted.time_s)
        assert row.limiter == predicted.limiter
        assert row.rate <= row.attainable * 1.000001
    slowest = max(row.time_s for row in found.rows)
    assert [row.share for row in found.rows] == [row.time_s / slowest for row in found.rows]


@pytest.mark.parametrize("mode", ["forward", "train"])
def test_operators_add_up_to_their_program(workspace: Workspace, mode: str) -> None:
    session = replace(SESSION, setting=replace(SESSION.setting, mode=mode))
    rows = roofline(session, workspace, operators=True).rows

    predicted = point(session.setting, workspace, session.selected, {})
    assert sum(row.flop for row in rows) == predicted.flop
    assert sum(row.bytes for row in rows) == predicted.bytes
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert sum(row.calls for row in rows) == predicted.launches
    assert len({row.name for row in rows}) == len(rows)
    assert [row.time_s for row in rows] == sorted((row.time_s for row in rows), reverse=True)


def test_what_only_moves_bytes_is_a_row_and_no_point(workspace: Workspace) -> None:
    found = roofline(SESSION, workspace, operators=True)

    still = {row.name for row in found.rows if row.intensity == 0}
    assert still == {"clone"}
    assert found.figure is not None
    assert not still & {drawn.name for drawn in found.figure.points}
    assert any("clone" in note for note in found.notes)


def test_the_bytes_come_with_their_formula(workspace: Workspace) -> None:
    rows = roofline(SESSION, workspace).rows

    assert rows[0].formula == "16·n²·h + 64·n·d + 16·d²"
    assert rows[0].bytes == 16 * 4096**2 * 8 + 64 * 4096 * 512 + 16 * 512**2


def test_a_missing_rate_is_explained_and_not_dropped() -> None:
    roofs = roofs_of(Machine.from_profile(load_profile("L4"), "float64"), "float64")

    assert any("no rate of matrix products in float64" in note for note in roofs.notes)
    assert list(roofs.flats)
    assert roofs.level(1e12).bytes_per_s == load_profile("L4").bandwidth.value


def test_no_machine_and_no_formula_say_why(workspace: Workspace) -> None:
    nothing = roofline(Session(), workspace)
    odd = replace(SESSION.setting, sizes={**SESSION.sizes, "h": 7})
    some = roofline(replace(SESSION, setting=odd), workspace)

    assert nothing.figure is None
    assert "calibrat" in nothing.notes[0]
    assert "full_attention" in some.problems
    assert {row.target for row in some.rows} == set(SESSION.programs) - set(some.problems)


def test_levels_and_kinds_of_a_calibration() -> None:
    roofs = roofs_of(Machine.from_calibration(calibration()), "bfloat16")

    # The first cache is smaller than anything that was measured.
    assert [level.name for level in roofs.levels] == ["L2 cache", "L3 cache", "main memory"]
    assert [level.bytes_per_s for level in roofs.levels] == pytest.approx([6e10, 3e10, 1e10])
    assert roofs.level(2**19).name == "L2 cache"
    assert roofs.level(2**26).name == "main memory"
    # Rates that cannot be told apart share a line.
    assert dict(roofs.flats) == {"matrix products, recurrence": 1e11, "attention": 4e10}
    assert any("measured in float32, not in bfloat16" in note for note in roofs.notes)


def test_a_level_that_is_left_out_hands_its_work_to_the_next_outwards() -> None:
    roofs = roofs_of(Machine.from_calibration(calibration()), "float32")
    fewer = roofs.without({"L2 cache", "main memory"})

    assert [level.name for level in fewer.levels] == ["L3 cache", "main memory"]
    assert fewer.level(2**19).name == "L3 cache"


def test_points_are_read_against_the_levels_that_are_left(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine.from_calibration(calibration())
    monkeypatch.setattr(workspace, "machine", lambda _setting: machine)
    session = Session(setting=Setting(sizes={"b": 1, "n": 64, "d": 64, "h": 2, "w": 16}))
    every = roofline(session, workspace)
    some = roofline(session, workspace, without=("L2 cache",))

    assert every.levels == some.levels == ("L2 cache", "L3 cache", "main memory")
    assert every.figure is not None and some.figure is not None
    assert [slope.name for slope in some.figure.slopes] == ["L3 cache", "main memory"]
    moved = [(a, b) for a, b in zip(every.rows, some.rows, strict=True) if a.level == "L2 cache"]
    assert moved
    for before, after in moved:
        assert after.level == "L3 cache"
        assert after.attainable == min(1e11, after.intensity * 3e10)
        assert before.rate == after.rate
