"""Times alone from visits that shared their core, of a machine whose slow-downs are known."""

from __future__ import annotations

import pytest

from costlab.calibration.suite import BANDWIDTH, SHAPED, Case
from costlab.calibration.visits import Visit, times_alone, widths_alone

_SLOWED = {"matmul": 1.4, "softmax": 1.9}


def _case(name: str, size: int) -> Case:
    return Case(SHAPED if name == "matmul" else BANDWIDTH, name, name, (size,))


def _visits(case: Case, *alone: bool) -> list[Visit]:
    time_s = float(case.shape[0])
    return [Visit(time_s if one else time_s * _SLOWED[case.name], one) for one in alone]


def test_a_case_never_alone_is_slowed_as_its_kind_was() -> None:
    suite = [_case(name, size) for name in ("matmul", "softmax") for size in (1, 2, 3, 4)]
    visits = {place: _visits(case, False, True) for place, case in enumerate(suite)}
    visits[3], visits[7] = _visits(suite[3], False, False), _visits(suite[7], False)

    found = times_alone(suite, visits)

    assert found[0] == (1.0,)
    assert found[3] == pytest.approx((4.0, 4.0))
    assert found[7] == pytest.approx((4.0,))


def test_without_its_kind_the_table_and_then_all_others_tell() -> None:
    suite = [*(_case("matmul", size) for size in (1, 2, 3)), _case("softmax", 5)]
    visits = {place: _visits(case, True, False) for place, case in enumerate(suite)}
    visits[3] = [Visit(7.0, False)]

    assert times_alone(suite, visits)[3] == pytest.approx((7.0 / 1.4,))


def test_where_everything_was_shared_times_stay_as_they_are() -> None:
    suite = [_case("matmul", size) for size in (1, 2, 3, 4)]

    found = times_alone(suite, {place: [Visit(2.0, False)] for place in range(4)})

    assert found == dict.fromkeys(range(4), (2.0,))


def test_a_width_never_alone_is_slowed_as_the_others_were() -> None:
    both = [Visit(1.0, True), Visit(3.0, False), Visit(1.2, True), Visit(1.5, False)]

    assert widths_alone([both, both, [Visit(6.0, False)]], min) == pytest.approx([1.0, 1.0, 4.0])
    assert widths_alone([[Visit(6.0, False), Visit(8.0, False)]], min) == [6.0]
