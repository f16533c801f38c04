"""``costlab report`` of predictions: sizes make it one, with curves and formulas."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from costlab.cli.__main__ import main

PREDICTED = ["report", "full_attention", "lstm", "n=64:256:x2", "d=64", "--device", "L4"]


@pytest.mark.parametrize("suffix", ["html", "md", "json", "csv"])
def test_predictions_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"predicted.{suffix}"

    assert main([*PREDICTED, "-o", str(path)]) == 0

    text = path.read_text(encoding="utf-8")
    if suffix == "json":
        points = json.loads(text)["points"]
        assert [p["sizes"]["n"] for p in points] == [64, 128, 256] * 2
    elif suffix == "csv":
        assert [row["sizes.n"] for row in csv.DictReader(text.splitlines())] == [
            "64", "128", "256",
        ] * 2  # fmt: skip
    else:
        assert "Formulas of lstm" in text and "at least this" in text
    if suffix == "html":
        assert text.count("<svg") == 2  # time and peak memory over n
        assert "<math" in text


def test_two_runs_in_one_report_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "one", "two", "-o", str(tmp_path / "r.md")]) == 2

    assert capsys.readouterr().err.count("\n") == 1


def test_the_first_figure_as_picture(tmp_path: Path) -> None:
    svg, png = tmp_path / "time.svg", tmp_path / "time.png"

    assert main([*PREDICTED, "-o", str(svg)]) == 0
    assert main([*PREDICTED, "-o", str(png)]) == 0

    assert "<title>Time, forward</title>" in svg.read_text(encoding="utf-8")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_picture_without_a_figure_or_without_qt_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_size = ["report", "lstm", "n=64", "d=64", "--device", "L4"]

    assert main([*one_size, "-o", str(tmp_path / "a.svg")]) == 2
    assert "there is no figure" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "costlab_gui.export", None)
    assert main([*PREDICTED, "-o", str(tmp_path / "a.png")]) == 2
    assert "needs Qt" in capsys.readouterr().err
