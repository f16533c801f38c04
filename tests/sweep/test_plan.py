"""Which points a plan has, and in which order it measures them."""

from __future__ import annotations

import json

import pytest

from costlab.errors import InputError
from costlab.sweep import SweepPlan, expand


def test_expand_makes_every_combination_once() -> None:
    points = expand(
        ["a", "b"], {"n": [2, 4], "d": [8]}, modes=["forward", "train"], threads=[1, 2],
        dtypes=["float32", "bfloat16"], devices=["cpu", "cuda:1"],
    )  # fmt: skip

    assert len(points) == len({json.dumps(point.to_json()) for point in points}) == 64
    assert all(point.sizes["d"] == 8 for point in points)


def test_the_seed_fixes_the_blocks() -> None:
    points = expand(["a"], {"n": list(range(1, 30))})
    blocks = SweepPlan(points, seed=3, block=12).blocks()

    assert blocks == SweepPlan(points, seed=3, block=12).blocks()
    assert blocks != SweepPlan(points, seed=4, block=12).blocks()
    assert [len(block) for block in blocks] == [10, 10, 9]
    assert sorted(point.sizes["n"] for block in blocks for point in block) == list(range(1, 30))
    assert [point.sizes["n"] for point in blocks[0]] != sorted(
        point.sizes["n"] for point in blocks[0]
    )


def test_rounds_mirror_each_other_in_pairs() -> None:
    plan = SweepPlan((), seed=5)
    rounds = [plan.turns(0, 8, number) for number in range(4)]

    assert rounds[1] == rounds[0][::-1]
    assert rounds[3] == rounds[2][::-1]
    assert rounds[2] not in (rounds[0], rounds[1])
    assert plan.turns(1, 8, 0) != rounds[0]
    assert all(sorted(order) == list(range(8)) for order in rounds)


def test_a_plan_survives_json() -> None:
    plan = SweepPlan(expand(["a"], {"n": [2]}, options={"causal": True}), seed=1, budget_s=2.5)

    assert SweepPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize("change", [{"colour": "red"}, {"points": [{"goal": "a"}]}])
def test_a_plan_of_another_version_is_refused(change: dict[str, object]) -> None:
    data = {**SweepPlan((), seed=1).to_json(), **change}

    with pytest.raises(InputError, match="another version"):
        SweepPlan.from_json(data)


def test_a_plan_from_before_blocks_can_be_read() -> None:
    data = SweepPlan((), seed=1).to_json()
    del data["block"]

    assert SweepPlan.from_json(data).seed == 1
