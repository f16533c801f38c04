"""The check of the catalogue finds what is wrong, and README.md's rows are replaced one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import verify
from benchmarks.verified import Claimed, Outcome, Row, write
from benchmarks.verify import Job, check_job
from costlab.formulas import store
from costlab.formulas.record import Derivation

JOB = Job("feed_forward", "forward", {}, "float32", 2, 7)


def test_a_program_that_is_right_has_no_miss() -> None:
    _job, outcome = check_job(JOB)

    (row,) = outcome.rows
    assert (row.equal, row.peaks, row.sizes) == (2, 2, 2)
    assert row.torch_flop == "equal on meta"
    assert row.misses == []
    assert len(outcome.claims) == 2
    assert 0 < outcome.derived_s < outcome.took_s


def test_committed_formulas_that_the_code_no_longer_gives_are_a_miss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    another = store.load("gated_feed_forward")

    def others(*_choice: object) -> Derivation:
        return another

    monkeypatch.setattr(store, "load", others)

    (row,) = check_job(JOB)[1].rows
    assert row.misses == ["the committed formulas are others than those derived now"]


def test_a_program_that_fails_is_a_miss_of_its_own() -> None:
    (row,) = check_job(replace(JOB, mode="decode"))[1].rows
    assert row.derived == "failed"
    assert "decode" in row.misses[0]


def test_a_miss_is_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = Outcome([_row(equal=19, misses=["n=3: bytes"])], [], 1.0, 2.0)
    assert verify._sum_up([outcome, Outcome([_row()], [], 1.0, 2.0)])
    assert not verify._sum_up([Outcome([_row()], [], 1.0, 2.0)])
    assert "equal at 39 of 40 sizes" in capsys.readouterr().out


def test_rows_are_written_in_the_catalogues_order_and_replaced_by_name(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("before\n<!-- verify:begin -->\n<!-- verify:end -->\nafter\n", encoding="utf-8")
    claims = [Claimed("x", True, False), Claimed("y", False, True)]

    write("lstm", [Outcome([_row(equal=19, misses=["n=3: bytes"])], [], 1.0, 2.0)], file)
    write("gru", [Outcome([_row(), _row()], claims, 0.5, 1.5)], file)
    first = file.read_text(encoding="utf-8")
    write("lstm", [Outcome([_row()], [], 1.0, 2.0)], file)
    second = file.read_text(encoding="utf-8")

    assert "lstm **1 MISSED**" in first
    assert "runs equal 59 of 60, peak equal 60 of 60, claims 1 of 2; 4 s of" in first
    assert "MISSED" not in second
    gru, lstm = (line.split("|") for line in second.splitlines()[4:6])
    assert [cell.strip() for cell in gru[1:-1]] == [
        "gru", "1", "2", "40/40", "40/40", "equal on meta", "1/2, 1 explained", "`b*n`",
        "0.5 s", "1.5 s",
    ]  # fmt: skip
    assert lstm[1].strip() == "lstm"
    assert "2 entries, 2 programs, 3 classes: runs equal 60 of 60" in second
    assert "Not run: activation_checkpointing, " in second
    assert second.startswith("before\n")
    assert second.endswith("after\n")


def _row(equal: int = 20, misses: list[str] | None = None) -> Row:
    return Row(
        "gru forward", "", "verified", equal, 20, 20, "equal on meta", "none", "b*n + d (n: n)",
        "b*n", misses or [],
    )  # fmt: skip
