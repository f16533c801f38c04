"""Rates between and beyond what was measured."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from costlab.hardware.calibration_record import Curve, ShapedRate
from costlab.hardware.rates import CalibratedRates
from costlab.hardware.surface import Surface
from tests.hardware.records import calibration


def _curve(*points: tuple[float, float]) -> CalibratedRates:
    record = calibration()
    bandwidth = {**record.bandwidth, "elementwise": Curve(points)}
    return CalibratedRates(dataclasses.replace(record, bandwidth=bandwidth))


def test_a_curve_is_straight_in_log_log_and_flat_above() -> None:
    rates = _curve((1e2, 1e6), (1e4, 1e8))

    found = rates.bytes_per_s("aten.mul.Tensor", "elementwise", np.array([1e2, 1e3, 1e4, 1e9]))

    assert found == pytest.approx([1e6, 1e7, 1e8, 1e8])


def test_below_the_smallest_size_the_time_stays() -> None:
    rates = _curve((1e3, 1e6), (1e4, 1e8))

    for size in (1e3, 10.0, 1.0):
        rate = rates.bytes_per_s("aten.mul.Tensor", "elementwise", size)
        assert size / float(rate) == pytest.approx(1e-3)  # type: ignore[arg-type]


def test_an_operators_own_bandwidth_comes_before_its_kinds() -> None:
    rates = CalibratedRates(calibration())

    own = rates.bytes_per_s("aten.exp.default", "elementwise", 1e6)
    kind = rates.bytes_per_s("aten.add.Tensor", "elementwise", 1e6)

    assert own == pytest.approx(4e9)
    assert kind == pytest.approx(2e10)
    assert rates.bytes_per_s("aten.sort.default", "sort", 1e6) is None


def test_a_suffixed_name_falls_back_on_its_stem() -> None:
    rates = CalibratedRates(calibration())
    shape = (2, 100, 64, 100)

    assert rates.flop_per_s("matmul_backward", shape) == rates.flop_per_s("matmul", shape)
    assert rates.flop_per_s("fft", shape) is None


def _law(batch: float, m: float, k: float, n: float) -> float:
    """Saturates in every dimension of the product, as real kernels do."""
    del batch
    return 6e10 / (1 + 20 / m + 30 / k + 25 / n)


def test_a_surface_finds_a_smooth_law_between_the_measured_shapes() -> None:
    sizes = (8, 32, 128, 512, 2048)
    rates = [
        ShapedRate((1, m, k, n), _law(1, m, k, n)) for m in sizes for k in sizes for n in sizes
    ]
    surface = Surface.through(rates)

    for shape in ((1, 17, 300, 90), (1, 700, 50, 1200), (1, 64, 64, 64), (1, 1500, 900, 11)):
        assert float(surface.at(shape)) == pytest.approx(_law(*shape), rel=0.06)


def test_a_surface_is_flat_beyond_the_measured_shapes_and_takes_arrays() -> None:
    rates = [ShapedRate((1, m, 64, n), _law(1, m, 64, n)) for m in (16, 256) for n in (32, 512)]
    surface = Surface.through(rates)
    m, n = np.array([[1.0], [16.0], [90.0]]), np.array([[512.0, 1e6]])

    found = surface.at((1, m, 64, n))

    assert found.shape == (3, 2)
    assert found[0] == pytest.approx(found[1])
    assert found[:, 0] == pytest.approx(found[:, 1])
    assert found[2, 0] == pytest.approx(float(surface.at((1, 90, 64, 512))))


def test_no_shape_is_quicker_than_the_quickest_measured() -> None:
    """Rates that grow with one dimension at a time do not grow on where all are large."""
    shapes = [
        (4, 4, 32, 4),
        *((4, m, 32, 4) for m in (64, 4096)),
        *((4, 4, 32, n) for n in (64, 4096)),
    ]
    rates = [ShapedRate(shape, 1e9 * math.prod(shape) ** 0.3) for shape in shapes]

    found = Surface.through(rates).at((4, np.array([4, 4096]), 32, 4096))

    assert found[1] == max(rate.flop_per_s for rate in rates)
    assert found[0] < found[1] * 1.01


def test_one_noisy_rate_does_not_bend_its_neighbours() -> None:
    sizes = (16, 64, 256, 1024)
    rates = [
        ShapedRate((1, m, 64, n), 1e10 * (0.5 if (m, n) == (64, 64) else 1.0))
        for m in sizes
        for n in sizes
    ]

    rate = float(Surface.through(rates).at((1, 256, 64, 256)))

    assert abs(math.log(rate / 1e10)) < 0.1


def test_a_surface_is_the_regression_written_out(seed: int) -> None:
    """The product over dimensions equals the kernel of the distance, whichever of them vary."""
    draw = np.random.default_rng(seed)
    shapes = [tuple(int(x) for x in 2 ** draw.integers(0, 11, 4)) for _turn in range(40)]
    surface = Surface.through([ShapedRate(shape, _law(*shape)) for shape in shapes])
    for varying in ((), (0,), (1, 3), (0, 1, 2, 3)):
        wanted = [draw.integers(1, 5000, 9) if i in varying else 96 for i in range(4)]
        logs = np.log2(np.column_stack([np.broadcast_to(size, 9) for size in wanted]))
        logs = np.clip(logs, surface.known.min(axis=0), surface.known.max(axis=0))
        distance = np.square(logs[:, None] - surface.known).sum(axis=2)
        near = np.exp(distance / (-2 * 2.5**2))
        trend = surface.trend[0] + logs @ surface.trend[1:]

        found = surface.at(wanted)

        assert found.shape == (() if not varying else (9,))
        best = max(_law(*shape) for shape in shapes)
        np.testing.assert_allclose(
            np.broadcast_to(found, 9),
            np.minimum(np.exp(trend + near @ surface.weights), best),
            rtol=1e-11,
        )
