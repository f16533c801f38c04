"""From a measured sweep to the comparison and the report, through the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from costlab.calibration.records import save
from costlab.cli.__main__ import main
from costlab.devices import fingerprint
from tests.hardware.records import calibration

POINTS = ["feed_forward", "n=9", "d=16", "f=24"]


def test_sweep_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measure a point, go on with the run, list, export, import, compare and report it."""
    assert main(["profile", *POINTS, "--json"]) == 0
    *points, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert [point["sizes"]["n"] for point in points] == [9]
    assert all(point["kind"] == "point" and point["time_s"] > 0 for point in points)
    assert summary["kind"] == "summary"
    assert sum(summary["statuses"].values()) == 1
    run = summary["run"]

    assert main(["profile", *POINTS, "--resume"]) == 0
    assert "nothing left to measure" in capsys.readouterr().out

    assert main(["runs"]) == 0
    assert run in capsys.readouterr().out

    exported, other = tmp_path / "run.json", tmp_path / "other.sqlite"
    assert main(["export", run, "-o", str(exported)]) == 0
    assert main(["import", str(exported), "--store", str(other)]) == 0
    assert f"{run}: 1 new point(s)" in capsys.readouterr().out

    assert main(["compare", "latest"]) == 2
    assert "costlab calibrate" in capsys.readouterr().err
    save(replace(calibration(), environment=fingerprint()))
    assert main(["compare", "latest", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["run"] == run
    for point in compared["points"]:
        assert point["predicted"]["peak_bytes"] == point["measured"]["peak_bytes"]
    assert main(["compare", run, "--fail-over", "peak_bytes=0%"]) == 0
    assert main(["compare", run, "--fail-over", "time=0%"]) == 1
    assert "off by more than 0 %" in capsys.readouterr().err

    page = tmp_path / "report.html"
    assert main(["report", "latest", "-o", str(page)]) == 0
    assert run in page.read_text(encoding="utf-8")


def test_no_runs_yet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    assert "costlab profile" in capsys.readouterr().out
    assert main(["compare", "latest"]) == 2
    assert "costlab profile" in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["time", "time=much", "speed=3%", "time=-5%"])
def test_fail_over_refuses(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "latest", "--fail-over", limit]) == 2
    assert limit in capsys.readouterr().err


def test_sweep_file_stands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "sweep.toml", "n=4"]) == 2
    assert "sweep.toml n=4" in capsys.readouterr().err
