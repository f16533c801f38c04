"""Launch costs, spreads, and bounds."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest

from costlab.hardware.calibration_record import STYLES, Residual
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine, spread_from_residuals
from tests.hardware.records import calibration


def test_launch_cost_by_phase_and_mode() -> None:
    machine = Machine.from_calibration(calibration())

    assert machine.launch("forward", "forward") == 2e-6
    assert machine.launch("forward", "train") == 4e-6
    assert machine.launch("backward", "train") == 5e-6
    assert machine.launch("forward", "train", "loop_") == 4e-6


def test_loops_have_launch_costs_of_their_own() -> None:
    costs = {"forward": 3e-6, "loop_forward": 2e-6, "fused_forward": 1e-6}
    machine = Machine.from_calibration(dataclasses.replace(calibration(), launch_s=costs))

    assert [machine.launch("forward", "forward", style) for style in STYLES] == [3e-6, 2e-6, 1e-6]
    assert machine.launch("backward", "train", "fused_") == 1e-6
    assert machine.capacity_bytes == 4 * 2**30


def case(name: str, ratio: float) -> Residual:
    return Residual(name, "", predicted_s=2.0, measured_s=2.0 * ratio)


def test_whole_passes_give_the_interval_of_whole_programs() -> None:
    # Logs of measured over predicted: 0, 0.1, 0.2; t(2 degrees, 90 %) = 2.920; s = 0.1.
    passes = [case("pass", math.exp(x)) for x in (0.0, 0.1, 0.2)]

    spread = spread_from_residuals([*passes, case("softmax", 9.0)])

    half = 2.920 * 0.1 * math.sqrt(1 + 1 / 3)
    assert set(spread) == {""}
    assert spread[""] == pytest.approx((math.exp(0.1 - half), math.exp(0.1 + half)), rel=1e-3)


def test_without_passes_a_kind_with_enough_residuals_has_its_own_interval() -> None:
    softmax = [case("softmax", 1.0 + 0.02 * i) for i in range(5)]
    matmul = [case("matmul", 0.5), case("matmul", 2.0)]

    spread = spread_from_residuals([*softmax, *matmul])

    assert set(spread) == {"", "softmax"}
    assert spread[""][1] > 1.5 > spread["softmax"][1] > 1.05


def test_intervals_contain_the_prediction_and_cover_what_they_say() -> None:
    noise = random.Random(3)
    covered = 0
    for _trial in range(500):
        passes = [case("pass", math.exp(noise.gauss(0, 0.2))) for _pass in range(6)]
        low, high = spread_from_residuals(passes)[""]
        assert low <= 1 <= high
        covered += low <= math.exp(noise.gauss(0, 0.2)) <= high
    assert 0.86 <= covered / 500 <= 0.95


def test_noise_between_rounds_adds_to_the_errors_of_passes() -> None:
    passes = [case("pass", math.exp(x)) for x in (-0.1, 0.0, 0.1)]
    sigma = math.log(1.4) / 1.693

    low, high = spread_from_residuals(passes, noise=0.4)[""]

    half = 2.920 * math.sqrt(0.1**2 * (1 + 1 / 3) + sigma**2)
    assert (low, high) == pytest.approx((math.exp(-half), math.exp(half)), rel=1e-3)


def test_noise_widens_the_spread_and_no_residual_means_no_spread() -> None:
    assert spread_from_residuals([case("copy", 1.0)], noise=0.25)[""] == pytest.approx((0.8, 1.25))
    assert spread_from_residuals([case("copy", 2.0)])[""] == pytest.approx((1.0, 4.0))
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
