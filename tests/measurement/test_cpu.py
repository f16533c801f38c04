"""The CPU backend on programs whose costs are known."""

from __future__ import annotations

import time

import pytest
import torch

from costlab.measurement.backend import Block, open_backend
from costlab.measurement.cpu import CpuBackend


def test_a_block_times_all_its_calls_and_the_cpu_is_its_own_host() -> None:
    seen: list[int] = []
    start = time.perf_counter()

    block = CpuBackend().time(lambda: seen.append(1), 5)

    assert len(seen) == 5
    assert 0 < block.device_s < time.perf_counter() - start
    assert block == Block(block.device_s, block.device_s)


def test_making_cold_writes_twice_the_last_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[int] = []
    whole = torch.Tensor.bitwise_not_

    def record(tensor: torch.Tensor) -> torch.Tensor:
        touched.append(tensor.nbytes)
        return whole(tensor)

    monkeypatch.setattr(torch.Tensor, "bitwise_not_", record)
    backend = CpuBackend(cache_bytes=1000)

    backend.make_cold()
    backend.make_cold()

    assert touched == [2000, 2000]


def test_peaks_add_what_existed_before() -> None:
    x = torch.randn(37, 5)

    peaks = CpuBackend().peaks(lambda: x @ x.T, x.nbytes)

    assert peaks.peak_bytes == (37 * 5 + 37 * 37) * 4
    assert peaks.retries is None


def test_the_cpu_backend_is_opened_by_name() -> None:
    assert isinstance(open_backend("cpu"), CpuBackend)
