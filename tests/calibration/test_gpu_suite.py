"""The large cases of a GPU: beyond a large cache, next to the common ones, each once."""

from __future__ import annotations

import pytest
import torch

from costlab.calibration.gpu_suite import device_cases
from costlab.calibration.kernels import build
from costlab.calibration.suite import BANDWIDTH, LEVELS, cases
from costlab.calibration.worker import traced

_LARGEST_CACHE_BYTES = 128 * 2**20  # the last cache of the largest GPUs of 2025


@pytest.mark.parametrize("level", LEVELS)
def test_a_cpu_has_the_common_cases(level: str) -> None:
    assert device_cases(level, "cpu") == cases(level)


@pytest.mark.parametrize("level", ["quickest", "quick", "full"])
def test_a_gpu_has_larger_ones_too_and_none_twice(level: str) -> None:
    found = device_cases(level, "cuda:0")

    assert set(found) > set(cases(level))
    assert len(found) == len(set(found))
    assert [case.rank for case in found] == sorted(case.rank for case in found)
    assert found[0] not in cases(level)


def test_streams_go_beyond_the_largest_cache_and_are_checked_there() -> None:
    common = set(cases("quick"))
    for dtype_bytes in (2, 4):
        reach = {
            case.held_out
            for case in device_cases("quick", "cuda")
            if case.table == BANDWIDTH
            and case not in common
            and case.shape[0] * dtype_bytes > (1 if case.held_out else 2) * 45 * 2**20
        }
        assert reach == {True, False}
    largest = max(c.shape[0] for c in device_cases("quick", "cuda") if c.table == BANDWIDTH)
    assert 2 * largest > _LARGEST_CACHE_BYTES


def test_every_large_case_has_a_kernel_that_takes_its_shape() -> None:
    """At an eighth of each dimension, which every builder must take as well."""
    common = set(cases("full"))
    for case in set(device_cases("full", "cuda")) - common:
        shape = tuple(max(size // 8, 1) for size in case.shape)
        if case.table == BANDWIDTH:
            shape = (case.shape[0] // 2**16 // 512 * 512 or 512,)
        kernel = build(case.kernel, shape, "float32", "cpu")
        with torch.set_grad_enabled(kernel.grad):
            if kernel.between is not None:
                kernel.between()
            assert sum(op.launches for op in traced(kernel, "cpu")) > 0, case.name
