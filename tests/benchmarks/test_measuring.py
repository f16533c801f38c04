"""The benchmark of measurements: its reading of other tools, and its arithmetic."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import measuring, others
from benchmarks.measured import attention, rounds
from benchmarks.measuring import Figure, _beside, _holds
from benchmarks.others import Study, pyperf_study, torch_study
from benchmarks.tables import rows_between
from costlab.measurement.point import PointResult


def _run(value_s: float, second: int) -> dict[str, Any]:
    date = f"2026-01-02 03:04:{second:02}"
    return {"values": [value_s] * 3, "metadata": {"date": date, "duration": 1.0, "loops": 8}}


def test_pyperfs_study_ends_with_the_process_that_made_it_tight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = (1.0, 1.1, 0.9, 1.0, 1.0, *[1.0] * 15)
    runs = [{"metadata": {}}, *(_run(value, index) for index, value in enumerate(values))]

    def run(argv: list[str], **_options: object) -> None:
        out = Path(argv[argv.index("-o") + 1])
        out.write_text(json.dumps({"benchmarks": [{"runs": runs}]}))

    monkeypatch.setattr(subprocess, "run", run)
    study = pyperf_study(0.02)

    assert study.tight
    assert 5 < study.processes < 20
    assert study.middle_s == pytest.approx(1.0)
    assert study.called_s == pytest.approx(8 * 3 * study.processes)
    reach = study.interval_s[1] - study.middle_s
    # Two of the values are 0.1 off; 2.131 and 2.145 are t(0.975) of 15 and 14 degrees of freedom.
    assert study.processes == 16
    assert reach == pytest.approx(2.131 * (0.02 / 15) ** 0.5 / 16**0.5)
    assert reach < 0.02 < 2.145 * (0.02 / 14) ** 0.5 / 15**0.5


def test_torchs_study_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_argv: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, json.dumps([[1.0] * 30, 0.001, 4.0]), "")

    monkeypatch.setattr(subprocess, "run", run)
    study = torch_study(0.02)

    assert (study.processes, study.middle_s, study.called_s, study.tight) == (1, 1.0, 4.0, True)


def test_two_studies_beside_each_other_say_whether_the_second_is_inside() -> None:
    first = Study("X", 1.0, (0.98, 1.02), 5, 9.0, 3.0, True)
    near, far = (
        Study("X", middle, (0.0, 9.0), 5, 9.0, 3.0, True) for middle in (1.01, 1.03)
    )  # fmt: skip

    assert "+1.0%: inside" in _beside(first, near).outcome
    assert "+3.0%: outside" in _beside(first, far).outcome
    assert "± 2.0%" in _beside(first, near).outcome


def test_a_point_without_a_time_holds_nothing() -> None:
    def point(**fields: Any) -> PointResult:
        return PointResult("p", "x", "forward", "float32", "cpu", {}, 1, "ok", "e", **fields)

    one = point(time_s=1.0, time_interval_s=(0.9, 1.1))

    assert _holds(one, point(time_s=1.1))
    assert not _holds(one, point(time_s=1.2))
    assert not _holds(one, point())
    assert not _holds(point(), one)


def test_rows_say_met_or_missed_only_where_there_is_a_goal() -> None:
    assert [Figure("a", "b", "c", met).row()[-1] for met in (True, False, None)] == [
        "met", "missed", "",
    ]  # fmt: skip


def test_five_per_cent_more_work_is_what_the_slowed_program_does() -> None:
    assert measuring._MORE_ROUNDS * 100 == measuring._ROUNDS * 105
    for factory in (attention, rounds):
        call, inputs = factory()
        assert call(*inputs) is not None
    assert callable(others.torch_study)


def test_every_row_belongs_to_a_part() -> None:
    aa = "A/A: pairs of 40 called different (rate set: 2%)"
    found = [measuring.part_of(what) for what in (aa, "5 % more work", "one CPU taken", "timer's")]

    assert found == ["aa", "slowdown", "hog", "overhead"]
    assert {row[0] for row in rows_between("measuring")}
    assert {measuring.part_of(row[0]) for row in rows_between("measuring")} <= set(measuring.PARTS)
