"""Curves, points and read-out of the curves page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.formulas import store
from costlab.prediction.api import predict
from costlab_gui.model.explore import panel, point, read_out
from costlab_gui.model.session import Budget, Session, Setting
from costlab_gui.model.workspace import Workspace

SESSION = Session(setting=replace(Setting(), device="L4"))


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def test_curves_are_the_formulas(workspace: Workspace) -> None:
    figure = panel(SESSION, workspace, "flop").figure

    assert [series.colour for series in figure.series] == [0, 1, 2, 3]
    full = figure.series[0]
    for x, y in zip(full.x[::50], full.y[::50], strict=True):
        n, d = int(x), 512
        assert y == 8 * n * d * d + 4 * n * n * d + _softmax(n)
    # The window's formula holds for whole windows: only such sizes are drawn.
    assert all(x % 256 == 0 for x in figure.series[1].x)


def _softmax(n: int) -> int:
    """What is no matrix product, from the committed formula alone."""
    found = store.load("full_attention", "forward", "float32", "cuda")
    cost = found.select(found.complete({"b": 1, "n": n, "d": 512, "h": 8})).cost
    assert cost["flop"].expr is not None
    assert cost["flop_matmul"].expr is not None
    sizes = {"b": 1, "n": n, "d": 512, "h": 8, "k": 64}
    return int(cost["flop"].expr.evaluate(sizes) - cost["flop_matmul"].expr.evaluate(sizes))


def test_what_cannot_be_drawn_has_a_reason(workspace: Workspace) -> None:
    odd = replace(SESSION.setting, sizes={**SESSION.sizes, "h": 7})
    found = panel(replace(SESSION, setting=odd), workspace, "memory")

    assert set(found.problems) >= {"full_attention"}
    assert "h" in found.problems["full_attention"]
    state = panel(SESSION, workspace, "state")
    assert set(state.problems) == set(SESSION.programs)
    assert not state.figure.series
    energy = panel(SESSION, workspace, "energy")
    assert "measured" in energy.problems["lstm"]


def test_a_device_without_calibration_is_a_reason_for_time_alone(workspace: Workspace) -> None:
    session = Session()

    assert "calibrat" in panel(session, workspace, "time").problems["lstm"]
    assert not panel(session, workspace, "flop").problems


def test_a_second_setting_is_drawn_faintly(workspace: Workspace) -> None:
    session = replace(SESSION, reference=replace(SESSION.setting, mode="train"))
    series = panel(session, workspace, "flop").figure.series

    assert [one.faint for one in series] == [False, True] * 4
    assert all(b.y[-1] > 2 * a.y[-1] for a, b in zip(series[::2], series[1::2], strict=True))


def test_budget_and_device_are_lines(workspace: Workspace) -> None:
    session = replace(SESSION, budget=Budget(memory_bytes=2.0**30, time_s=0.1))

    memory = panel(session, workspace, "memory").figure.marks
    assert [mark.value for mark in memory] == [24e9, 2.0**30] or memory[1].value == 2.0**30
    assert [mark.value for mark in panel(session, workspace, "time").figure.marks] == [0.1]


def test_measured_points_belong_to_the_setting(workspace: Workspace) -> None:
    stored = {
        "architecture": "lstm",
        "mode": "forward",
        "dtype": "float32",
        "sizes": {"b": 1, "n": 256, "d": 512},
        "time_s": 0.25,
        "time_interval_s": [0.2, 0.3],
        "peak_bytes": 1000,
    }
    others = [
        {**stored, "mode": "train"},
        {**stored, "dtype": "bfloat16"},
        {**stored, "sizes": {"b": 2, "n": 256, "d": 512}},
        {**stored, "architecture": "gru"},
        {**stored, "time_s": None},
    ]
    figure = panel(SESSION, workspace, "time", [stored, *others]).figure
    (measured,) = [series for series in figure.series if series.kind == "measured"]

    assert (measured.x, measured.y) == ((256.0,), (0.25,))
    assert (measured.low, measured.high) == ((0.2,), (0.3,))
    assert measured.colour == SESSION.colour("lstm")


def test_hands_share_the_work(workspace: Workspace) -> None:
    machine = workspace.machine(SESSION.setting)
    usual = panel(SESSION, workspace, "time").figure.series[0]
    same = panel(replace(SESSION, hands=float(machine.width)), workspace, "time").figure.series[0]
    twice = panel(replace(SESSION, hands=2.0 * machine.width), workspace, "time").figure.series[0]

    assert same.y == pytest.approx(usual.y)
    # A datasheet knows no launches: all of it is work.
    assert twice.y == pytest.approx([y / 2 for y in usual.y])


def test_the_read_out_is_a_prediction(workspace: Workspace) -> None:
    found, problems = read_out(SESSION, workspace, 1024)

    assert problems == {}
    assert found["lstm"] == predict("lstm", {"b": 1, "n": 1024, "d": 512}, "L4")
    assert point(SESSION.setting, workspace, "lstm", {}).sizes["n"] == 4096
