"""What the app says about a run beside its predictions."""

from __future__ import annotations

from typing import Any

from costlab.comparison.api import compare
from costlab.prediction.api import predict
from costlab_gui.model.agreement import findings, headline


def _answer() -> dict[str, Any]:
    """A run whose times are a tenth longer than predicted and whose peaks are as predicted."""
    points, predictions = [], []
    for target in ("full_attention", "lstm"):
        for n in (256, 512, 1024, 2048, 4096):
            one = predict(target, {"b": 1, "n": n, "d": 64}, "L4")
            predictions.append(one)
            points.append({
                "architecture": target, "mode": "forward", "dtype": "float32", "status": "ok",
                "sizes": dict(one.sizes), "time_s": 1.1 * one.time_s, "peak_bytes": one.peak_bytes,
                "time_interval_s": [1.09 * one.time_s, 1.11 * one.time_s], "flags": [],
                "samples": [1.1 * one.time_s] * 3,
            })  # fmt: skip
    return compare(points, predictions, "r").to_json()


def test_errors_growth_and_crossovers_are_told_with_the_programs_names() -> None:
    answer = _answer()
    rows = findings(answer, str.upper)

    assert headline(answer) == "Time of 10 points: error 9.1 % median, 9.1 % at most, 9.1 % too low"
    by_what = {row.what: row for row in rows}
    assert by_what["all points, peak memory"].predicted == "0 % median, 0 % at most"
    assert by_what["all points, peak memory"].verdict.startswith("no bias")
    growth = by_what["LSTM, time with n"]
    assert growth.predicted.startswith("n^")
    assert growth.predicted == growth.measured
    assert growth.verdict == "agrees"
    assert {row.group for row in rows} >= {"Errors", "Growth"}


def test_a_run_without_predictions_has_no_headline() -> None:
    answer = compare([], [], "r").to_json()

    assert headline(answer) == ""
    assert findings(answer, str) == []
