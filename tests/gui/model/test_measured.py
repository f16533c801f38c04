"""Rows of a run: planned points matched with results, and what is said of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from costlab.prediction.api import predict
from costlab_gui.model.measured import NOW, WAITING, Rows, shown_runs
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace


def _planned(n: int, target: str = "full_attention") -> dict[str, Any]:
    return {
        "target": target, "sizes": {"n": n, "d": 64}, "mode": "forward", "dtype": "float32",
        "device": "L4", "threads": 1, "options": {},
    }  # fmt: skip


def _result(n: int, **fields: Any) -> dict[str, Any]:
    planned = _planned(n)
    target = planned.pop("target")
    sizes = {"b": 1, "h": 8, **planned["sizes"]}
    return {
        **planned, "architecture": target, "status": "ok", "time_s": 0.002, "sizes": sizes,
        "time_interval_s": [0.0019, 0.0021], "peak_bytes": 4096, "flags": [], "reasons": {},
        **fields,
    }  # fmt: skip


def test_planned_points_become_results_in_their_order() -> None:
    planned = [_planned(256), _planned(512), _planned(1024)]
    rows = Rows(Workspace()).of(planned, [_result(512)], ("full_attention", "b=1 n=256 d=64 h=8"))

    assert [(row.status, row.sizes["n"]) for row in rows] == [
        (NOW, 256), ("ok", 512), (WAITING, 1024)
    ]  # fmt: skip
    assert rows[1].time_text() == "2 ms ± 5 %"


def test_the_prediction_is_that_of_the_command_line() -> None:
    (row,) = Rows(Workspace()).of([_planned(512)], [_result(512)])
    expected = predict("full_attention", {"b": 1, "n": 512, "d": 64, "h": 8}, "L4", threads=1)

    assert row.predicted_s == expected.time_s
    assert row.error == expected.time_s / 0.002 - 1
    assert row.error_text().startswith("-")


def test_a_failure_says_why() -> None:
    result = _result(
        512, status="oom", time_s=None, time_interval_s=None, peak_bytes=None,
        flags=["drift"], reasons={"time_s": "oom: not enough\nmemory", "energy_j": "none"},
    )  # fmt: skip
    (row,) = Rows(Workspace()).of([_planned(512)], [result])

    assert row.failed
    assert row.notes == "drift · oom: not enough memory"
    assert (row.time_text(), row.error_text()) == ("", "")


def test_a_wide_interval_is_told_by_its_ends() -> None:
    (row,) = Rows(Workspace()).of([], [_result(512, time_interval_s=[0.0005, 0.009])])

    assert row.time_text() == "2 ms (500 µs – 9 ms)"


def test_results_that_nobody_planned_are_rows_too() -> None:
    rows = Rows(Workspace()).of([], [_result(512), _result(256)])

    assert [row.sizes["n"] for row in rows] == [512, 256]


def test_runs_are_shown_and_hidden_and_the_newest_is_followed() -> None:
    session = Session()
    assert shown_runs(session, "a", "b", True) == ("latest", "a")
    assert shown_runs(session, "b", "b", False) == ()
    assert shown_runs(replace(session, runs=("a",)), "b", "b", True) == ("a", "latest")
    assert shown_runs(replace(session, runs=("a", "c")), "a", "b", False) == ("c",)
