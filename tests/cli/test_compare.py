"""``costlab compare RUN`` on a comparison of known errors: text, plot, JSON and ``--fail-over``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.comparison.api import compare
from tests.comparison.points import measured, predictions_over


@pytest.fixture(autouse=True)
def one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of three points: as predicted, 10 % slower and, with a wide interval, 50 % slower."""
    predictions = predictions_over([100, 200, 400])
    wide = [predictions[2].time_s * factor for factor in (1.1, 1.9)]
    points = [
        measured(predictions[0], 1.0),
        measured(predictions[1], 1.1),
        {**measured(predictions[2], 1.5), "time_interval_s": wide},
    ]
    comparison = compare(points, predictions, run="r1")
    monkeypatch.setattr("costlab.cli.joined.load_points", lambda _path, _run: ("r1", points))
    monkeypatch.setattr("costlab.cli.joined.compare_run", lambda *_args: comparison)


def test_text_has_errors_bias_coverage_growth_and_a_plot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", "r1"]) == 0

    out = capsys.readouterr().out
    # Predicted over measured is 1, 1/1.1 and 1/1.5: the median error is 1/11.
    errors = next(line for line in out.splitlines() if line.startswith("all ") and "time" in line)
    assert "9.09 %" in errors and "−9.09 %" in errors and "66.7 %" in errors
    assert "time in n" in out
    assert "o attention measured" in out and "·· attention predicted" in out


def test_json_has_bias_and_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "r1", "--json"]) == 0

    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    time = data["summary"]["overall"]["time"]
    assert time["bias"] == pytest.approx(-1 / 11)
    assert time["in_interval"] == pytest.approx(2 / 3)
    assert {"predicted", "measured", "interval", "verdict", "law"} <= data["exponents"][0].keys()


@pytest.mark.parametrize(
    ("limit", "code", "named"),
    [("time=5%", 1, ["n=200", "n=400"]), ("time=9%", 1, ["n=400"]), ("time=15%", 0, []),
     ("peak_bytes=0", 0, [])],
)  # fmt: skip
def test_fails_over_only_where_the_whole_interval_is_beyond(
    capsys: pytest.CaptureFixture[str], limit: str, code: int, named: list[str]
) -> None:
    assert main(["compare", "r1", "--fail-over", limit]) == code

    err = capsys.readouterr().err
    assert [line for line in err.splitlines() if "off by more" in line] == [
        line for line in err.splitlines() if any(name in line for name in named)
    ]
    assert all(name in err for name in named)


@pytest.mark.parametrize("limit", ["time", "time=x", "speed=5%", "time=-1"])
def test_a_bad_limit_is_one_line(capsys: pytest.CaptureFixture[str], limit: str) -> None:
    assert main(["compare", "r1", "--fail-over", limit]) == 2

    err = capsys.readouterr().err
    assert err.count("\n") == 1 and limit in err
