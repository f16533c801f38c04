"""The demo's job on recorded answers: order of events, tables, the contest, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from costlab.errors import MeasurementError
from costlab.formulas.record import Derivation
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.hardware.machine import Machine
from costlab.measurement.point import PointResult
from costlab.prediction.api import predict
from costlab.reporting.demo import BUDGET_S, LEAST_S, LENGTHS, run_demo
from tests.hardware.records import calibration
from tests.prediction.programs import attention, recurrence, renamed


class Lab:
    """Answers like the real functions do; measures 1.2 times what is predicted."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.events: list[str] = []
        self.budgets_s: list[float] = []

    def derive(self, target: str, *, mode: str) -> Derivation:
        self.events.append(f"derive {target.rsplit(':', 1)[-1]} {mode}")
        program = recurrence() if target.endswith("rnn_cell_loop") else attention()
        return renamed(program, target, mode)

    def calibrate(self) -> CalibrationRecord:
        self.events.append("calibrate")
        return calibration()

    def measure(
        self, target: str, sizes: Mapping[str, int], *, mode: str, budget_s: float
    ) -> PointResult:
        self.budgets_s.append(budget_s)
        name = target.rsplit(":", 1)[-1]
        self.events.append(f"measure {name} {mode}")
        if name == self.failing:
            raise MeasurementError("it broke")
        program = self.derive(target, mode=mode)
        machine = Machine.from_calibration(calibration())
        expected = predict(program, sizes, machine)
        time_s = 1.2 * expected.time_s
        return PointResult(
            point="p", architecture=target, mode=mode, dtype="float32", device="cpu", sizes=sizes,
            threads=1, status="ok", environment="e", time_s=time_s,
            time_interval_s=(0.99 * time_s, 1.01 * time_s), peak_bytes=expected.peak_bytes,
        )  # fmt: skip


def test_demo_derives_calibrates_predicts_measures_and_reports(tmp_path: Path) -> None:
    lab = Lab()
    said: list[str] = []
    shares: list[float] = []

    code = run_demo(
        lab.derive, lab.measure, lab.calibrate, tmp_path / "report.html",
        lambda _text, share: shares.append(share), said.append,
    )  # fmt: skip

    text = "\n".join(said)
    page = (tmp_path / "report.html").read_text()
    assert code == 0
    assert lab.events[0] == "calibrate"
    assert lab.events.count("measure full_attention train") == len(LENGTHS)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert text.count("−16.7 %") == 2 * len(LENGTHS)
    assert "agrees" in text
    assert str(tmp_path / "report.html") in text
    assert "Is attention faster because it is parallel?" in page
    assert "rnn_cell_loop" in page


def test_contest_is_explained_with_the_numbers_of_the_formulas(tmp_path: Path) -> None:
    lab = Lab()
    said: list[str] = []

    run_demo(
        lab.derive, lab.measure, lab.calibrate, tmp_path / "r.json", lambda *_x: None, said.append
    )

    contest = json.loads((tmp_path / "r.json").read_text())["contest"]
    loop, parallel = (side["predicted"] for side in contest["sides"])
    # b=32 n=512 d=128: 4bnd² + bnd against 8bnd² + 4bn²d + 5bhn².
    assert loop["flop"] == 32 * 512 * 128 * (4 * 128 + 1)
    assert parallel["flop"] == 32 * 512 * (8 * 128**2 + 4 * 512 * 128 + 5 * 4 * 512)
    assert loop["steps"] == 1024
    ratio = parallel["flop"] / loop["flop"]
    assert any(f"{ratio:.2f}x the arithmetic" in line for line in contest["lines"])
    # (8bnd² + 4bn²d) / 4bnd²
    assert any("alone the ratio is n/d + 2 = 6." in line for line in contest["lines"])
    assert any("1 024 steps" in line for line in contest["lines"])
    assert contest["turn"]["cheaper_alone"] in {"rnn_cell_loop", "self_attention"}


def test_a_failed_measurement_is_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    lab = Lab(failing="rnn_cell_loop")
    said: list[str] = []

    code = run_demo(
        lab.derive, lab.measure, lab.calibrate, tmp_path / "r.md", lambda *_x: None, said.append
    )

    assert code == 1
    assert "it broke" in (tmp_path / "r.md").read_text()
    assert "rnn_cell_loop forward b=32 n=512 d=128: it broke" in "\n".join(said)


def test_the_points_share_the_time_and_none_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, late = Lab(), Lab()
    points = 2 * len(LENGTHS) + 2

    run_demo(
        lab.derive,
        lab.measure,
        lab.calibrate,
        tmp_path / "r.html",
        lambda *_x: None,
        lambda _x: None,
    )
    monkeypatch.setattr("costlab.reporting.demo.BUDGET_S", -1.0)
    code = run_demo(
        late.derive, late.measure, late.calibrate, tmp_path / "r.html", lambda *_x: None,
        lambda _x: None,
    )  # fmt: skip

    assert code == 0
    assert lab.budgets_s[0] == pytest.approx(BUDGET_S / points, rel=0.05)
    # Recorded answers take no time, so later points get what earlier ones left.
    assert lab.budgets_s[-1] == pytest.approx(BUDGET_S, rel=0.05)
    assert late.budgets_s == [LEAST_S] * points
