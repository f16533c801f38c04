"""The planner's bytes and memory against a real step on two ranks, and how failures show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.distributed_check import checks, compare, traffic_lines, wire_rows
from benchmarks.distributed_runs import RankError, run
from costlab.planning.parallel import Plan


def test_two_ranks_move_and_hold_what_the_formulas_say() -> None:
    wanted = [check for check in checks(2) if check.title in ("FSDP2", "1F1B")]

    traffic, memory, _wire = compare(wanted, 2, timeout_s=100)

    assert [line.cells() for line in (*traffic, *memory) if not line.met] == []
    moved = {line.names: line.counted for line in traffic if line.check.title == "FSDP2"}
    assert set(moved) == {
        ("dp", "all-gather", "forward"),
        ("dp", "all-gather", "backward"),
        ("dp", "reduce-scatter", "backward"),
    }
    assert min(moved.values()) > 0
    assert {line.names[1] for line in traffic if line.check.title == "1F1B"} == {"send"}


def test_a_rank_that_fails_is_shown_and_none_is_left() -> None:
    case = replace(checks(2)[0].case, name="no such program")

    with pytest.raises(RankError, match="no such program"):
        run([case], 2)


def test_bytes_that_nobody_planned_differ() -> None:
    check = checks(2)[0]
    row = {"group": "dp", "kind": "all_gather", "phase": "step", "bytes": 8}

    found = list(traffic_lines(check, [{"traffic": [row]}]))

    assert [(line.names[1], line.met) for line in found] == [
        ("all-gather", False),
        ("all-reduce", False),
    ]


def test_only_a_reduce_scatter_may_be_an_all_reduce() -> None:
    names = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send")
    ring = dict(zip(names, (1.5, 0.75, 1.5, 0.75, 0.75, 1.0), strict=True))
    rows, good = wire_rows([ring] * 4)
    assert good
    assert rows[2][-1] == "gloo runs an all-reduce"
    assert not wire_rows([ring | {"all_gather": 1.5}] * 4)[1]
    assert wire_rows([dict.fromkeys(names)] * 4)[1]  # nobody told


def test_every_kind_of_parallelism_is_checked() -> None:
    plans = [check.case.plan for check in checks(2)]
    degrees = {
        name for plan in plans for name in ("dp", "tp", "pp", "ep") if getattr(plan, name) > 1
    }
    assert degrees == {"dp", "tp", "pp", "cp"}
    assert {plan.zero for plan in plans} == {0, 1, 3}
    assert any(plan.gpipe for plan in plans)
    assert Plan(pp=2, accumulation=4, interleave=2, zero=0) in plans
