"""The explanation of the article's benchmark is computed: another machine gives another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from costlab.hardware.machine import Machine
from costlab.measurement.point import PointResult, ProcessTiming
from costlab.prediction.api import predict
from costlab.reporting.article import Contest, contest_section, explain
from costlab.reporting.document import Table, table_text
from tests.prediction.machines import flat_machine
from tests.prediction.programs import attention, recurrence, renamed

SIZES = {"b": 32, "n": 512, "d": 128}
# One slow core that starts calls at no cost, and one that spends 50 µs on each.
SLOW: dict[str, Any] = {"flop_per_s": 1e10, "bytes_per_s": 1e10, "launch_s": 1e-7}
BUSY: dict[str, Any] = {"flop_per_s": 1e12, "bytes_per_s": 1e12, "launch_s": 5e-5}


def contest(machine: Machine) -> Contest:
    """Both sides measured exactly as predicted, the first call three times as long."""
    sides = []
    for program, name in ((recurrence(), "rnn_cell_loop"), (attention(), "self_attention")):
        named = renamed(program, f"article.py:{name}", "forward")
        prediction = predict(named, SIZES, machine)
        process = ProcessTiming(
            median_s=prediction.time_s, samples_s=(prediction.time_s,),
            first_call_s=3 * prediction.time_s, warmup_calls=1, calls_per_sample=1, cpu_share=1.0,
            drift=0.0, relative_iqr=0.0,
        )  # fmt: skip
        point = PointResult(
            point="p", architecture=named.architecture, mode="forward", dtype="float32",
            device="cpu", sizes=SIZES, threads=1, status="ok", environment="e",
            time_s=prediction.time_s, peak_bytes=prediction.peak_bytes, processes=(process,),
        )  # fmt: skip
        sides.append((named, prediction, point))
    return explain(sides[0], sides[1], machine, SIZES)


def test_on_a_slow_core_less_arithmetic_wins_until_enough_hands_share_it() -> None:
    found = contest(flat_machine(**SLOW))

    assert found.turn.cheaper_alone == "rnn_cell_loop"
    assert found.turn.cheaper_wide == "self_attention"
    loop, parallel = (side[1] for side in found.sides)
    work = [p.shares["compute"] + p.shares["memory"] for p in (loop, parallel)]
    chain = [p.shares["launch"] + p.shares["latency"] for p in (loop, parallel)]
    assert found.turn.hands == pytest.approx((work[1] - work[0]) / (chain[0] - chain[1]))
    assert "rnn_cell_loop is" in found.headline and "had the order right" in found.headline
    assert any(f"{found.turn.hands:.3g} cores" in line for line in found.lines)


def test_where_launches_cost_most_the_loop_never_wins() -> None:
    found = contest(flat_machine(**BUSY))

    assert (found.turn.cheaper_alone, found.turn.hands) == ("self_attention", None)
    assert "self_attention is" in found.headline
    assert any("rnn_cell_loop is limited by launch" in line for line in found.lines)
    assert any("already on one core" in line for line in found.lines)


def test_the_turn_does_not_depend_on_how_many_hands_the_prediction_had() -> None:
    """Eight hands at a rate eight times as high are one machine, told twice."""
    one = contest(flat_machine(**SLOW))
    eight = contest(
        flat_machine(
            flop_per_s=8 * SLOW["flop_per_s"], bytes_per_s=8 * SLOW["bytes_per_s"],
            launch_s=SLOW["launch_s"], width=8,
        )
    )  # fmt: skip

    assert one.turn.hands is not None
    assert eight.turn.hands == pytest.approx(one.turn.hands)


def test_the_first_call_is_told_beside_the_steady_time() -> None:
    found = contest(flat_machine(**SLOW))

    tables = [block for block in contest_section(found).blocks if isinstance(block, Table)]
    assert "first call" in table_text(tables[0])
    assert any("first call of a fresh process" in line for line in found.lines)


def test_a_side_that_could_not_be_measured_is_said() -> None:
    found = contest(flat_machine(**SLOW))
    (loop, predicted, point), parallel = found.sides
    lost = replace(point, time_s=None, processes=(), status="oom")

    again = explain((loop, predicted, lost), parallel, flat_machine(**SLOW), SIZES)

    assert "could not be measured" in again.headline
    assert not any("first call" in line for line in again.lines)
