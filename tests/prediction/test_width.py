"""The width at which the order turns, on hand-made numbers."""

from __future__ import annotations

import pytest

from costlab.prediction.width import Program, width_where_order_turns


def test_a_loop_wins_alone_and_loses_wide() -> None:
    # 6 times the work against 512 steps: 10/p + 5.12 = 60/p + 0.05 at p = 50 / 5.07.
    loop = Program("loop", work_s=10.0, chain_s=5.12)
    parallel = Program("parallel", work_s=60.0, chain_s=0.05)

    turn = width_where_order_turns(loop, parallel)

    assert (turn.cheaper_alone, turn.cheaper_wide) == ("loop", "parallel")
    assert turn.hands == pytest.approx(50 / 5.07)
    assert loop.time_s(1) == pytest.approx(15.12)
    assert loop.time_s(9.86) < parallel.time_s(9.86)
    assert loop.time_s(9.87) > parallel.time_s(9.87)


def test_less_work_and_a_shorter_chain_win_at_any_width() -> None:
    turn = width_where_order_turns(Program("a", 1.0, 0.1), Program("b", 2.0, 0.2))

    assert (turn.cheaper_alone, turn.cheaper_wide, turn.hands) == ("a", "a", None)


def test_a_loop_that_already_waits_alone_never_wins() -> None:
    turn = width_where_order_turns(Program("loop", 1.0, 9.0), Program("parallel", 6.0, 0.1))

    assert (turn.cheaper_alone, turn.hands) == ("parallel", None)
