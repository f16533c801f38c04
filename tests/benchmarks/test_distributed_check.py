"""The planner's bytes and memory against a real step on two ranks, and how failures show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.distributed_check import checks, compare, traffic_lines, wire_rows
from benchmarks.distributed_model import Sizes
from benchmarks.distributed_runs import RankError, run
from costlab.planning.parallel import Plan


def test_two_ranks_move_and_hold_what_the_formulas_say() -> None:
    wanted = next(check for check in checks(2) if check.title == "FSDP2")
    small = replace(wanted, case=replace(wanted.case, sizes=Sizes(depth=2)))

    traffic, memory, _wire = compare([small], 2, timeout_s=100)

    assert [line.cells() for line in (*traffic, *memory) if not line.met] == []
    moved = {line.names: line.counted for line in traffic}
    assert set(moved) == {
        ("dp", "all-gather", "forward"),
        ("dp", "all-gather", "backward"),
        ("dp", "reduce-scatter", "backward"),
    }
    assert min(moved.values()) > 0


def test_ranks_that_fail_say_why() -> None:
    with pytest.raises(RankError, match="No module named no_such_module"):
        run([checks(2)[0].case], 2, module="no_such_module")


def test_ranks_that_hang_are_ended() -> None:
    with pytest.raises(RankError, match="was not done"):
        run([checks(2)[0].case], 2, module="code", timeout_s=0.5)  # waits for more input


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
    assert degrees == {"dp", "tp", "pp", "ep"}
    assert {plan.zero for plan in plans} == {0, 1, 3}
    assert any(plan.gpipe for plan in plans)
    assert Plan(pp=2, accumulation=4, interleave=2, zero=0) in plans
