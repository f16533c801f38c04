"""FSDP2's padding in the budget of plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from costlab.hardware.catalogue import load_profile
from costlab.planning.budget import budget
from costlab.planning.bundled import named, names
from costlab.planning.cluster import cluster
from costlab.planning.decoder import Stack, model
from costlab.planning.memory import rank_memory
from costlab.planning.padding import padding
from costlab.planning.parallel import Plan, Plans
from costlab.planning.precision import precision
from costlab.planning.software import software
from costlab.planning.step_time import step_time
from costlab.planning.workload import workload


def test_every_bundled_model_has_known_shapes() -> None:
    plans = Plans.of([Plan(dp=64, zero=3)])
    found = {name: padding(workload(named(name), 128), plans) for name in names()}
    assert min(float(dense[0]) for dense, _expert in found.values()) >= 1


def test_few_rows_over_many_ranks_are_one_row_each() -> None:
    # 4096 rows over 16384 ranks: one row a rank, four times the matrix; 16384 rows: no padding.
    d, f, ranks = 4096, 16384, 16384
    stack = Stack(d=d, depth=2, h=32, g=32, k=128, f=f, V=0, activation="gelu", norm="layer_norm",
                  bias=True, final_norm=False)  # fmt: skip
    work = workload(model("two blocks", "gpt2", stack), 128)
    whole = 4 * (d * d + d) + f * d + f + d * f + d + 4 * d
    padded = 4 * (d + 1) * ranks + f * d + f + (f + 1) * ranks + 4 * ranks

    dense, expert = padding(work, Plans.of([Plan(dp=ranks, zero=3), Plan(dp=ranks, zero=1)]))

    assert dense.tolist() == [padded / whole, 1]
    assert np.all(expert == 1)


@pytest.mark.parametrize("plan", [Plan(dp=96, zero=3), Plan(dp=64, tp=2, zero=3),
                                  Plan(dp=8192, zero=3)])  # fmt: skip
def test_the_budget_is_that_of_the_rank(plan: Plan) -> None:
    gpt, kinds = named("gpt2-xl"), precision("mixed")
    exact = rank_memory(gpt, plan, 1024, kinds, cut="rows")
    found = budget(workload(gpt, 1024), Plans.of([plan]), kinds)
    for name in ("weights", "gradients", "optimizer"):
        assert float(getattr(found, name)[0]) == pytest.approx(float(getattr(exact, name)), 2e-3)


def test_gathers_move_the_padding_too() -> None:
    """Of 4096 rows over 8192 ranks each rank sends one row: twice the matrix travels."""
    d, ranks = 4096, 8192
    stack = Stack(d=d, depth=2, h=32, g=32, k=128, f=d, V=0, activation="gelu", norm="rms_norm",
                  bias=False, final_norm=False)  # fmt: skip
    work = workload(model("square", "gpt2", stack), 128)
    plans = Plans.of([Plan(dp=ranks, zero=3)])
    machines = cluster(load_profile("H100-SXM"), ranks)
    soft = replace(software("fsdp"), weights_exposed=1.0)
    soft = replace(soft, links=replace(soft.links, inside_s=0.0, network_s=0.0))

    flat, padded = (
        float(step_time(work, plans, machines, soft, padded=factors).data[0])
        for factors in (None, padding(work, plans))
    )

    assert padded == pytest.approx(2 * flat, rel=1e-9)
