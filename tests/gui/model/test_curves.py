"""Curves of a frame: evaluated once for all panels, and anew when anything they show changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from costlab.errors import CostLabError
from costlab.prediction import grid
from costlab_gui.model import curves
from costlab_gui.model.curves import Curve, Curves
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace

SESSION = Session(
    programs=("full_attention", "sliding_window", "lstm", "feed_forward"),
    setting=Setting(device="L4", sizes={"b": 1, "n": 4096, "d": 512, "h": 8, "w": 256}),
    metrics=("time", "memory", "flop"),
    over="n",
)


def test_all_metrics_of_a_frame_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(*args: object, **more: object) -> object:
        asked.append(1)
        return grid.curves(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(curves, "curves", counted)
    workspace, known = Workspace(), Curves()
    frames = [known.of(SESSION, SESSION.setting, workspace, m, 64) for m in SESSION.metrics]
    assert len(asked) == 1
    assert frames[0] is frames[2]
    wider = replace(SESSION, setting=replace(SESSION.setting, sizes={**SESSION.sizes, "d": 640}))
    assert known.of(wider, wider.setting, workspace, "time", 64) is not frames[0]
    assert len(asked) == 2
    workspace.forget_machines()
    known.of(wider, wider.setting, workspace, "time", 64)
    assert len(asked) == 3


@pytest.mark.parametrize("metric", ["time", "memory", "flop"])
def test_values_are_those_of_single_curves(metric: str) -> None:
    workspace = Workspace()
    found = Curves().of(SESSION, SESSION.setting, workspace, metric, 64)
    machine = workspace.machine(SESSION.setting)
    for target in SESSION.programs:
        one = found[target]
        assert isinstance(one, Curve)
        values = one.values[metric]
        assert not isinstance(values, CostLabError)
        derivation = workspace.derivation(target, SESSION.setting)
        sizes = {k: v for k, v in SESSION.sizes.items() if k in derivation.sizes and k != "n"}
        alone = grid.curve(derivation, "n", one.x, sizes, metric, machine)
        np.testing.assert_allclose(values.value, alone.value, rtol=1e-12)
        assert np.isfinite(values.value).sum() > 30


def test_without_a_machine_only_time_is_missing() -> None:
    session = replace(SESSION, setting=replace(SESSION.setting, device="this"))
    found = Curves().of(session, session.setting, Workspace(), "memory", 64)["lstm"]

    assert isinstance(found, Curve)
    assert isinstance(found.values["time"], CostLabError)
    assert not isinstance(found.values["memory"], CostLabError)


def test_a_program_without_the_size_says_so() -> None:
    session = replace(SESSION, over="w")
    found = Curves().of(session, session.setting, Workspace(), "flop", 64)

    assert isinstance(found["lstm"], CostLabError)
    assert isinstance(found["sliding_window"], Curve)
