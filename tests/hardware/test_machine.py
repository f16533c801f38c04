"""A machine's array rates against the record's own scalar ones, spreads, and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from costlab.hardware.calibration_record import Residual
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine, spread_from_residuals
from tests.hardware.records import calibration

SHAPES = [(1, 16, 32, 32), (3, 77, 100, 65), (1, 4096, 512, 2048), (8, 1, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shaped_rates_are_those_of_the_record(shape: tuple[int, ...]) -> None:
    record = calibration()

    rate = Machine.from_calibration(record).rates.flop_per_s("matmul", shape)

    assert rate == pytest.approx(record.flop_per_s("matmul", shape), rel=1e-9)


def test_shaped_rates_of_arrays() -> None:
    record = calibration()
    m, n = np.array([[3.0], [50.0]]), np.array([[7.0, 90.0, 2000.0]])

    rates = np.asarray(Machine.from_calibration(record).rates.flop_per_s("matmul", (2, m, 64, n)))

    assert rates.shape == (2, 3)
    for row in range(2):
        for column in range(3):
            expected = record.flop_per_s("matmul", (2, m[row, 0], 64, n[0, column]))
            assert rates[row, column] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("op", "kind"),
    [("aten.exp.default", "elementwise"), ("aten.mul.Tensor", "elementwise"), ("x", "softmax")],
)
def test_bandwidth_is_that_of_the_record(op: str, kind: str) -> None:
    record = calibration()
    sizes = np.array([1.0, 12_345.0, 3e6, 1e12])

    found = Machine.from_calibration(record).rates.bytes_per_s(op, kind, sizes)

    assert found == pytest.approx([record.bytes_per_s(op, kind, s) for s in sizes])
    assert Machine.from_calibration(record).rates.bytes_per_s("x", "sort", sizes) is None


def test_launch_cost_by_phase_and_mode() -> None:
    machine = Machine.from_calibration(calibration())

    assert machine.launch("forward", "forward") == 2e-6
    assert machine.launch("forward", "train") == 4e-6
    assert machine.launch("backward", "train") == 5e-6
    assert machine.capacity_bytes == 4 * 2**30


def test_spread_comes_from_the_residuals_of_the_kind() -> None:
    # measured / predicted: softmax 1.0 .. 2.0 in five, matmul once 0.5.
    softmax = [Residual("softmax", "", 1.0, 1.0 + 0.25 * i) for i in range(5)]
    spread = spread_from_residuals([*softmax, Residual("matmul", "", 1.0, 0.5)])

    assert set(spread) == {"", "softmax"}
    low, high = spread["softmax"]
    assert low == 1.0
    # The 95 % point lies a fifth of the way from the second largest to the largest, in logs.
    assert high == pytest.approx(1.75**0.2 * 2.0**0.8)
    assert spread[""][0] < 1.0


def test_noise_widens_the_spread_and_no_residual_means_no_spread() -> None:
    same = [Residual("copy", "", 1.0, 1.0)]

    assert spread_from_residuals(same, noise=0.25)[""] == pytest.approx((0.8, 1.25))
    assert spread_from_residuals([]) == {}


def test_a_profile_takes_matrix_rates_for_matmuls_and_vector_rates_otherwise() -> None:
    machine = Machine.from_profile(load_profile("A100-80G-SXM"), "bfloat16")

    assert machine.rates.flop_per_s("matmul", ()) == 312e12
    assert machine.rates.flop_per_s("attention_backward", ()) == 312e12
    assert machine.rates.flop_per_s("elementwise", ()) == 19.5e12
    assert (machine.width, machine.basis) == (108, "datasheet bound")


def test_a_dtype_without_matrix_units_runs_at_the_vector_rate() -> None:
    machine = Machine.from_profile(load_profile("T4"), "bfloat16")

    assert machine.rates.flop_per_s("matmul", ()) == 8.1e12
