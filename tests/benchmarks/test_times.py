"""The time benchmark's points, table and goals; measuring itself is tested on one tiny point."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks import time_points
from benchmarks.time_points import TimePoint, load_points, read_record, write_record
from benchmarks.times import Judged, judge, report, rows
from costlab.arch import registry
from costlab.calibration.suite import cases
from costlab.formulas import store
from costlab.hardware.calibration_record import Residual
from tests.hardware.records import calibration


def test_a_timed_architecture_has_six_points_in_each_mode_it_has() -> None:
    counts: dict[tuple[str, str], int] = {}
    for point in load_points():
        key = (point.architecture, point.mode)
        counts[key] = counts.get(key, 0) + 1

    expected = {
        (name, mode)
        for name in {architecture for architecture, _mode in counts}
        for mode in ("forward", "train", "decode")
        if mode in registry.spec(name).modes
    }
    assert set(counts) == expected
    assert set(counts.values()) == {6}


def test_every_point_lies_in_a_class_and_no_calibration_has_its_sizes() -> None:
    calibrated = {case.shape for case in cases("full")}
    for point in load_points():
        derivation = store.load(point.architecture, point.mode, "float32")
        assert set(point.sizes) == set(derivation.sizes)
        derivation.select({**derivation.complete(point.sizes), "threads": 1})
        assert tuple(point.sizes.values()) not in calibrated


def test_measured_points_survive_a_file(tmp_path: Path) -> None:
    points = [TimePoint("rnn", "train", {"b": 2, "n": 7, "d": 9}, (0.5, 0.25), (0.9,))]
    file = tmp_path / "points.json"

    write_record(points, file)

    assert read_record(file) == points
    file.write_text('{"schema": "other"}')
    with pytest.raises(ValueError, match=r"points\.json"):
        read_record(file)


def test_a_point_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dataclasses.replace(time_points.PLAN, warmup_s=0.0, min_time_s=0.0, min_samples=2)
    monkeypatch.setattr(time_points, "PLAN", plan)
    seen: list[str] = []

    [found] = time_points.measure_points(
        [TimePoint("feed_forward", "forward", {"b": 1, "n": 5, "d": 6, "f": 7})], 2, seen.append
    )

    # Processes that shared their core are made up for, so far as further passes go.
    assert len(found.passes_s) + len(found.shared_s) == len(seen)
    assert 2 <= len(seen) <= 2 + time_points.MORE_PASSES
    assert len(seen) == 2 or len(found.passes_s) <= 2
    assert 0 < found.measured_s < 10


def test_times_on_a_shared_core_count_only_where_there_are_no_others() -> None:
    point = TimePoint("rnn", "train", {"n": 7}, (1.0, 1.2), (1.9, 2.0, 2.1))

    assert point.measured_s == pytest.approx(1.1)
    assert dataclasses.replace(point, passes_s=()).measured_s == 2.0


def test_a_prediction_is_judged_beside_a_plain_roofline() -> None:
    record = calibration((Residual("matmul", "", predicted_s=1.0, measured_s=1.2),))
    point = TimePoint("feed_forward", "forward", {"b": 1, "n": 512, "d": 64, "f": 300}, (1.0, 1.1))

    found = judge(point, record)

    flop = 2 * 2 * 512 * 64 * 300 + 5 * 512 * 300
    assert found.roofline_s >= flop / record.peak_flop_per_s
    assert found.low_s < found.predicted_s < found.high_s
    assert found.noise == pytest.approx(0.1)


def _judged(predicted_s: float, measured_s: float, mode: str = "train") -> Judged:
    point = TimePoint("some", mode, {"n": 7}, (measured_s, measured_s))
    return Judged(point, predicted_s, 0.9 * predicted_s, 1.1 * predicted_s, measured_s / 2)


def test_the_table_has_a_row_for_each_mode_and_one_for_all() -> None:
    judged = [_judged(1.0, 1.0), _judged(1.5, 1.0), _judged(0.95, 1.0, "decode")]

    found = rows(judged)

    assert [row[:2] for row in found] == [["some", "train"], ["some", "decode"], ["all", ""]]
    assert found[0][3:7] == ["25%", "45%", "+25%", "1 of 2"]
    assert found[2][6:] == ["2 of 3", "50%", "0.0%"]
    assert "Median error 5.0%" in report(judged, calibration())
