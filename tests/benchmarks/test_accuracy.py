"""Predicted peaks against measured ones for a few small programs, and the table's own rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import accuracy, times
from benchmarks.accuracy import Outcome, outcomes, planned_points, report, rows
from benchmarks.points import Bounds
from benchmarks.tables import markdown_table, write_between
from costlab.measurement.point import PointSpec

_SMALL = Bounds(peak_least=2**20, peak_most=8 * 2**20, flop=5e8)


def test_predicted_peaks_are_within_the_limit_of_measured_ones() -> None:
    """Forward and training, with and without a causal mask, on one thread and on two."""
    planned = [
        point
        for architecture in ("feed_forward", "flash_attention", "rnn")
        for point in planned_points(architecture, ("forward", "train"), "float32", 1, _SMALL)
    ]
    found = list(outcomes(planned))

    assert len(found) == len(planned) == 2 * (2 + 4 + 2)
    assert {outcome.point.threads for outcome in found} == {1, 2}
    assert [str(outcome) for outcome in found if outcome.over] == []
    assert all(outcome.measured_bytes >= 2**20 for outcome in found)


def outcome(predicted: int, measured: int, limit: float) -> Outcome:
    point = PointSpec("some", {"n": 7}, "train", threads=2, options={"causal": True})
    return Outcome(point, predicted, measured, limit, "core forward aten.mm", "aten::mm")


@pytest.mark.parametrize(
    ("predicted", "limit", "over"),
    [
        (1_000_064, 0.0, False),
        (1_000_065, 0.0, True),
        (999_935, 0.0, True),
        (1_010_000, 0.01, False),
        (1_010_001, 0.01, True),
        (949_999, 0.05, True),
    ],
)
def test_an_error_beyond_the_limit_is_over(predicted: int, limit: float, over: bool) -> None:
    assert outcome(predicted, 1_000_000, limit).over is over


def test_the_table_shows_the_worst_point_of_a_mode() -> None:
    found = [outcome(2**20, 2**20, 0.0), outcome(2**20 + 100, 2**20, 0.0)]

    [row] = rows(found)

    assert row[:5] == ["some", "train", "2", "1 to 1", "64 B, 1 over"]
    assert row[5].startswith("+100 B")
    assert row[6] == "n=7 causal 2 threads"
    assert "2 points" in report(found, 1.0)
    assert "1 over" in report(found, 1.0)


def test_text_between_markers_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n", encoding="utf-8")

    write_between("x", markdown_table(["p", "qq"], [["1", "2"]]), file)

    table = "| p | qq |\n| - | -- |\n| 1 | 2  |"
    expected = f"a\n<!-- x:begin -->\n{table}\n<!-- x:end -->\nb\n"
    assert expected == file.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="y:begin"):
        write_between("y", "", file)


@pytest.mark.parametrize(
    ("arguments", "ran", "status"),
    [
        ([], ["memory", "time"], 1),
        (["--only", "memory"], ["memory"], 0),
        (["rnn", "--modes", "train", "--only", "time"], ["time"], 1),
    ],
)
def test_both_halves_run_unless_one_is_chosen(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], ran: list[str], status: int
) -> None:
    seen: list[str] = []

    def memory(_arguments: object) -> int:
        seen.append("memory")
        return 0

    def time(given: list[str]) -> int:
        seen.append("time")
        assert given[:1] == ["rnn"] or "rnn" not in arguments
        return 1

    monkeypatch.setattr(accuracy, "_memory", memory)
    monkeypatch.setattr(times, "main", time)

    assert accuracy.main(arguments) == status
    assert seen == ran
