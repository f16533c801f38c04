"""Kept and changed answers, from what a timed process and a fresh one saw."""

from __future__ import annotations

import json
from dataclasses import asdict

from costlab.measurement.judge_results import ResultCheck, judge_results
from costlab.measurement.signature import Signature


def _answer(value: float) -> Signature:
    return ((9.0, abs(value), value, -value, value / 2),)


_FIRST, _VARIED = _answer(4.0), _answer(3.0)


def _judge(check: ResultCheck, fresh: Signature | None = _VARIED) -> tuple[str, ...]:
    return judge_results(check, fresh, "float32")


def test_answers_that_follow_the_inputs_are_fine() -> None:
    assert _judge(ResultCheck(_FIRST, _FIRST, _VARIED, (1.1e-3, 2e-3), (1e-3, 1e-3))) == ()


def test_the_old_answer_for_new_values_was_kept() -> None:
    assert _judge(ResultCheck(_FIRST, _FIRST, _FIRST)) == ("cached_result",)


def test_the_old_answer_is_right_where_a_fresh_process_gives_it_too() -> None:
    assert _judge(ResultCheck(_FIRST, _FIRST, _FIRST), fresh=_FIRST) == ()


def test_without_a_fresh_process_an_equal_answer_proves_nothing() -> None:
    assert _judge(ResultCheck(_FIRST, _FIRST, _FIRST), fresh=None) == ()


def test_new_values_that_take_far_longer_show_kept_answers() -> None:
    slow = ResultCheck(_FIRST, _FIRST, _VARIED, (6e-3, 9e-3, 5e-3), (1e-3, 1e-3, 1e-3))
    cold = ResultCheck(_FIRST, _FIRST, _VARIED, (9e-3, 3e-3, 9e-3), (1e-3, 1e-3, 1e-3))

    assert _judge(slow) == ("cached_result",)
    assert _judge(cold) == ()


def test_new_values_beside_old_ones_as_slow_were_disturbed() -> None:
    """A busy machine keeps one of several threads waiting, whatever the values are."""
    disturbed = ResultCheck(_FIRST, _FIRST, _VARIED, (9e-3, 1e-2, 9e-3), (1e-5, 1e-2, 8e-3))

    assert _judge(disturbed) == ()


def test_a_tiny_program_is_not_far_longer() -> None:
    assert _judge(ResultCheck(_FIRST, _FIRST, _VARIED, (8e-5,), (2e-6,))) == ()


def test_another_answer_later_or_elsewhere_is_named() -> None:
    assert _judge(ResultCheck(_FIRST, _answer(4.1), _VARIED)) == ("result_changed",)
    assert _judge(ResultCheck(_FIRST, _FIRST, _answer(2.5))) == ("result_changed",)


def test_the_tolerance_is_that_of_the_dtype() -> None:
    check = ResultCheck(_FIRST, _answer(4.0 * 1.01), None)

    assert judge_results(check, None, "float32") == ("result_changed",)
    assert judge_results(check, None, "bfloat16") == ()


def test_a_check_survives_json() -> None:
    check = ResultCheck(_FIRST, _FIRST, _VARIED, (1.0,), (2.0,), constant_inputs=True)

    assert ResultCheck.from_json(json.loads(json.dumps(asdict(check)))) == check
    assert ResultCheck.from_json(json.loads(json.dumps(asdict(ResultCheck(_FIRST, _FIRST))))) == (
        ResultCheck(_FIRST, _FIRST)
    )
