"""Exact allocator peaks and the parsing of resident peaks."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F

from costlab.measurement.memory import allocator_peak, resident_peak_bytes, running_peak


def test_running_peak_is_the_largest_prefix_sum() -> None:
    assert running_peak([100, 50, -100, 20]) == 150
    assert running_peak([-10, 5]) == 0
    assert running_peak([]) == 0


def test_peak_of_two_tensors_is_their_bytes() -> None:
    """A product and its exponential are alive together; the input existed before."""
    x = torch.randn(37, 5)

    peak = allocator_peak(lambda: torch.exp(x @ x.T))

    assert peak == 2 * 37 * 37 * 4


def test_peak_counts_what_dies_before_the_end() -> None:
    def call() -> torch.Tensor:
        big = torch.ones(1001)
        small = big[:3].clone()
        del big
        return small + 1

    assert allocator_peak(call) == (1001 + 3) * 4


def test_peak_counts_scratch_inside_a_kernel() -> None:
    """Attention on the CPU allocates more than the output and row statistics it returns."""
    q = torch.randn(1, 2, 300, 16)

    peak = allocator_peak(lambda: F.scaled_dot_product_attention(q, q, q))

    assert peak > 2 * 300 * 16 * 4 + 2 * 300 * 4


def test_resident_peak_is_read_in_bytes(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t  123 kB\nVmRSS:\t 100 kB\n")

    assert resident_peak_bytes(status) == 123 * 1024


def test_resident_peak_is_missing_where_proc_is(tmp_path: Path) -> None:
    assert resident_peak_bytes(tmp_path / "status") is None
