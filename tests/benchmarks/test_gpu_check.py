"""The GPU check runs on a CPU at tiny sizes, every section reports, and its files are usable."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu_check
from benchmarks.gpu_points import points, traced_programs
from benchmarks.gpu_record import Check, Findings
from costlab.arch import registry
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.hardware.catalogue import load_profile
from costlab.measurement.process import SpawnedWorkers
from costlab.prediction.api import predict
from costlab.store import Store
from costlab.store.merge import import_file


@pytest.fixture
def results(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    out = tmp_path_factory.mktemp("out")
    monkeypatch.setenv("COSTLAB_HOME", str(out))  # the check sets it; this puts it back
    assert gpu_check.main(["--dry-run", "--out", str(out)]) == 0
    return out


def test_a_dry_run_reports_every_section_and_leaves_files_that_costlab_reads(
    results: Path, tmp_path: Path
) -> None:
    report: dict[str, Any] = json.loads((results / "gpu_check.json").read_text())
    sections = report["sections"]

    assert list(sections) == [name for name, _section, _share in gpu_check.SECTIONS]
    assert {row["status"] for row in sections.values()} == {"ok"}
    for name, row in sections.items():
        assert row["checks"], name
    with Store(tmp_path / "runs.sqlite") as store:
        (came,) = import_file(store, results / "run.json")
        assert came.run == report["run"]
        found = store.points(came.run)
    assert len(found) == len(list(points("cpu", dry_run=True)))
    assert {point["status"] for point in found} <= {"ok", "noisy"}
    profile = load_profile(results / "profile.toml")
    record = json.loads((results / "calibration-float32.json").read_text())
    assert profile.matrix["float32"].value == pytest.approx(
        CalibrationRecord.from_json(record).peak_flop_per_s, rel=1e-5
    )
    overall = sections["comparison"]["data"]["calibrated"]["summary"]["overall"]
    assert overall["time"]["count"] == len(found)
    assert overall["peak_bytes"]["max_ape"] < 0.01


def _check(tmp_path: Path) -> Check:
    return Check("cpu", True, tmp_path, tmp_path, "run", SpawnedWorkers(1))


def test_a_section_that_fails_is_written_down_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_check: Check, _until: float) -> Findings:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def whole(_check: Check, _until: float) -> Findings:
        found = Findings()
        found.check("it ran", True)
        found.check("it holds", False, "no")
        return found

    monkeypatch.setattr(gpu_check, "SECTIONS", (("broken", broken, 0.5), ("whole", whole, 0.5)))

    gpu_check.run(_check(tmp_path), 10.0)

    sections = json.loads((tmp_path / "gpu_check.json").read_text())["sections"]
    assert sections["broken"]["status"] == "failed"
    assert "illegal memory access" in sections["broken"]["traceback"]
    assert sections["whole"]["checks"] == [["it ran", True, ""], ["it holds", False, "no"]]


def test_a_section_gets_its_share_of_what_is_left_and_none_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def note(_check: Check, until: float) -> Findings:
        given.append(until - time.monotonic())
        return Findings()

    monkeypatch.setattr(gpu_check, "SECTIONS", tuple((name, note, 0.25) for name in "abcd"))

    gpu_check.run(_check(tmp_path), 100.0)
    late = gpu_check.run(_check(tmp_path), -1.0)

    assert given == pytest.approx([25.0, 100 / 3, 50.0, 100.0], abs=1.0)
    assert {row["status"] for row in late["sections"].values()} == {"skipped"}


def test_every_point_has_a_prediction() -> None:
    for spec in points("cuda:0", False):
        found = predict(
            spec.target, spec.sizes, "H100-80G-SXM", mode=spec.mode, dtype=spec.dtype, doubled=()
        )
        assert found.time_s > 0


def test_every_architecture_and_mode_is_among_the_points_and_the_traced_programs() -> None:
    wanted = {
        (name, mode)
        for name in registry.names()
        for mode in registry.spec(name).modes
        if mode != "prefill"
    }

    assert {(spec.target, spec.mode) for spec in points("cuda:0", False)} == wanted
    assert {(name, mode) for name, mode, _dtype, _sizes in traced_programs(False)} == wanted
    first = [spec.target for spec in points("cuda:0", False)][: len(registry.names())]
    assert first == list(registry.names())
