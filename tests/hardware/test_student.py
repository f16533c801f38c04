"""Student quantiles against printed tables."""

from __future__ import annotations

import pytest

from costlab.hardware.student import student_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    # Two-sided 95 % points from printed tables.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042)],
)
def test_student_quantile(freedom: int, expected: float) -> None:
    assert student_quantile(freedom) == pytest.approx(expected, abs=5e-4)
