"""Step times against runs that nothing was fitted on, and what must hold of every plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.published_runs import columns, decoder, runs
from benchmarks.reference_rows import may_fit
from benchmarks.step_times import SETS, errors
from costlab.hardware.catalogue import load_profile
from costlab.planning.bundled import named
from costlab.planning.cluster import cluster
from costlab.planning.parallel import Plan, Plans
from costlab.planning.software import software, software_names
from costlab.planning.step_time import step_time
from costlab.planning.workload import workload

WORK = decoder("22B", 2048, layers=48, width=6144, heads=64, vocabulary=51200)


def test_which_rows_are_fitted_on_is_in_their_names() -> None:
    # sha256("a") = ...48bb and sha256("abc") = ...15ad, FIPS 180-2; sha256("") = ...b855.
    assert may_fit("a")
    assert may_fit("abc")
    assert may_fit("")
    assert 0.5 < sum(run.fitted for run in runs()) / len(runs()) < 0.85


@pytest.mark.parametrize("name", sorted(SETS))
def test_stated_errors_are_those_of_the_rows_that_were_not_fitted_on(name: str) -> None:
    soft = software(name)
    table = columns([run for run in runs() if run.family in SETS[name]])

    for error in errors(table, soft):
        stated = f"{100 * error.mean:.1f} % and {100 * error.worst:.1f} % ({error.rows})"
        assert error.fitted or stated in soft.errors


def test_every_software_has_runs_behind_it() -> None:
    assert set(software_names()) == set(SETS)


def test_causes_add_up_and_a_pipeline_idles_by_its_bubble() -> None:
    machines = cluster(load_profile("A100-80"), 64)
    plans = Plans.of([
        Plan(tp=8, pp=8, accumulation=16, recompute=2),
        Plan(tp=8, pp=8, accumulation=16, recompute=2, interleave=2),
        Plan(dp=8, tp=8, accumulation=2, recompute=0),
    ])  # fmt: skip

    time = step_time(WORK, plans, machines, software("megatron"))

    for index in range(len(plans)):
        assert sum(time.causes(index).values()) == pytest.approx(time.total[index], rel=1e-12)
    stage = (time.recompute + time.tensor + time.pipeline)[0] / 16
    assert time.bubble[0] > 7 * stage
    assert time.bubble[2] == 0
    assert time.recompute[2] == 0
    assert time.data[2] > time.data[0] == 0


def test_a_layer_of_alike_kernels_takes_the_longer_and_others_a_little_more() -> None:
    machines, plans = cluster(load_profile("A100-80"), 1), Plans.of([Plan(recompute=0)])
    soft = replace(software("megatron"), loss=0.0, products=1.0, core=1.0, elementwise=0.0,
                   stored_scores=0.0)  # fmt: skip
    products = float(step_time(WORK, plans, machines, replace(soft, launch_s=1e-12)).total[0])
    layer = products / (3 * 48)  # forward and backward of 48 layers, and a head and update besides

    times = {
        evenness: float(
            step_time(WORK, plans, machines, replace(soft, launch_s=layer, evenness=evenness))
            .total[0]
        )
        for evenness in (1.0, 2.0, 1e3)
    }  # fmt: skip

    assert times[1.0] > times[2.0] > times[1e3] >= products
    added = {evenness: times[evenness] - products for evenness in times}
    # Launches in full where kernels add up; a share of 2**0.5 - 1 where they add as squares do.
    assert added[1.0] == pytest.approx(3 * 48 * layer, rel=1e-6)
    assert 0.25 < added[2.0] / added[1.0] < 2**0.5 - 1 + 0.1


def test_the_loss_reads_and_writes_32_bit_logits() -> None:
    machines, plans = cluster(load_profile("A100-80"), 8), Plans.of([Plan(tp=8, accumulation=4)])
    soft = software("megatron")
    times = [
        float(step_time(WORK, plans, machines, replace(soft, loss=passes)).total[0])
        for passes in (0.0, 1.0)
    ]
    # Four passes of 2048 tokens over 51200 words, an eighth of them here, 4 bytes, 2.039 TB/s.
    assert times[1] - times[0] == pytest.approx(4 * 2048 * 51200 / 8 * 4 / 2.039e12, rel=1e-3)


def test_experts_of_few_tokens_multiply_slower() -> None:
    """At ``grouped_rows`` tokens an expert, its products take twice as long."""
    work = workload(named("mixtral-8x7b"), 2048)
    machines, plans = cluster(load_profile("H100-SXM"), 8), Plans.of([Plan(dp=8, ep=8)])
    soft = replace(software("megatron-flash"), products=1.0, launch_s=0.0, weights_exposed=0.0)
    rows = 8 * 2048 * 2 / 8  # of 8 ranks, two experts a token, eight experts
    times = [
        float(step_time(work, plans, machines, replace(soft, grouped_rows=grouped)).total[0])
        for grouped in (0.0, rows)
    ]
    # Up, gate and down, two experts a token, 32 layers, three times in forward and backward.
    flop = 3 * 32 * 2 * 2048 * 2 * 3 * 4096 * 14336
    assert times[1] - times[0] == pytest.approx(flop / machines.flop_per_s("bfloat16"), rel=1e-6)


def test_recomputed_norms_and_activations_move_their_bytes_again() -> None:
    # Norms 2 + 2 and GELU 8 of the 18 numbers a token and width that a layer of GPT moves.
    assert WORK.pointwise_share == pytest.approx(12 / 18, rel=1e-3)
    machines = cluster(load_profile("A100-80"), 8)
    plans = Plans.of([Plan(tp=8, recompute=level) for level in (0, 3, 2)])
    time = step_time(WORK, plans, machines, software("megatron-flash"))
    assert time.recompute[0] == 0 < time.recompute[1] < time.recompute[2]
    soft = software("megatron-flash")
    moved = 12 / 18 * soft.elementwise * 2 * 2048 * 6144 * (1 / 8 + 2 / 8) / 3 / 2.039e12
    assert time.recompute[1] == pytest.approx(48 * moved, rel=1e-3)
