"""Cases that other calculators got wrong, by the report of their users, with the right value."""

from __future__ import annotations

from math import ceil

import pytest

from benchmarks.plan_speed import measured
from costlab.planning.adapters import Adapted
from costlab.planning.bundled import named
from costlab.planning.memory import divided
from costlab.planning.parallel import Plan, Plans
from costlab.planning.precision import FORMATS
from costlab.planning.step_time import rank_parameters
from costlab.planning.totals import (
    active_parameters,
    flop,
    model_parameters,
    parameters,
    state_bytes,
    state_elements,
    value,
)
from costlab.planning.workload import workload


def test_sliding_layers_are_neither_dropped_nor_counted_in_full() -> None:
    # hf-mem issue 60 dropped them; ollama 17201 counted them in full. Gemma 3 4B: 29 of 34
    # layers see 1024 tokens, 5 see all.
    per_layer = 2 * 4 * 256 * 2
    expected = per_layer * (29 * 1024 + 5 * 32768)
    assert state_bytes(named("gemma-3-4b"), 1, 32768) == expected


def test_hybrid_models_cache_their_attention_layers_alone() -> None:
    # gguf-parser-go issue 28: 4 times too high; hf-mem issue 70: 49 % too low. Jamba attends in
    # 4 of 32 layers: 4 GB at 256K, Lieber et al. 2024, table 1.
    model = named("jamba-v0.1")
    grown = state_bytes(model, 1, 262144) - state_bytes(model, 1, 0)
    assert grown == 4 * 2 * 8 * 128 * 2 * 262144 == 4 * 2**30
    assert state_bytes(model, 1, 0) == 28 * 8192 * (16 + 4) * 2


def test_latent_attention_caches_latents() -> None:
    # gpustack issue 2101: 139 GB for about 32. DeepSeek-V3: 576 numbers of a layer, not 2 x 128
    # heads of them.
    assert state_elements(named("deepseek-v3"), 1) == 61 * 576


def test_weights_are_all_of_them() -> None:
    # accelerate issue 3379 said 64.7 GB for Llama 3.1 70B.
    assert 2 * model_parameters(named("llama-3.1-70b")) == 141_107_412_992


def test_adapters_do_not_bring_an_optimizer_for_frozen_weights() -> None:
    # gpu_poor issue 1: 177 GB for a LoRA of 7 B that took 16.
    adapted = Adapted(named("llama-2-7b"), 8)
    weights = FORMATS["bf16"].bytes(model_parameters(adapted.model))
    assert float(weights) + 16 * adapted.trained + adapted.saved_bytes(1, 512) < 17e9


def test_shared_weights_count_once() -> None:
    # DeepSpeed issue 7256 counted them three times.
    tied, untied = named("llama-3.2-1b"), named("llama-3-8b")
    assert [parameters(part) for part in tied.after if part.name == "head"] == [0]
    assert [parameters(part) for part in untied.after if part.name == "head"] == [128256 * 4096]


def test_a_window_bounds_the_arithmetic() -> None:
    # Megatron-LM pull request 3280: 4 times too high; vLLM 55624: 8 to 30 times.
    short, long = (flop(named("mistral-7b"), 1, n, quantity="flop_useful") for n in (8192, 16384))
    products = 2 * (model_parameters(named("mistral-7b")) - 32000 * 4096 - 65 * 4096)
    core = 32 * 4 * 4096
    assert short == 8192 * products + core * (8192 * 4096 - 4096 * 4095 // 2)
    assert long == 16384 * products + core * (16384 * 4096 - 4096 * 4095 // 2)


def test_a_causal_mask_keeps_half_and_both_counts_are_given() -> None:
    # verl issue 4929 was off by 2; torchtitan 4300 showed an MFU above 100 %.
    work = workload(named("gpt3-175b"), 2048)
    assert work.core_flop == 4 * 2048**2 * 12288
    assert work.useful_core_flop == 4 * (2048 * 2049 // 2) * 12288


def test_the_core_saves_no_scores() -> None:
    # LLM-Viewer issue 26 sized flash attention's output as n x n.
    (core,) = [p for p in named("llama-3-8b").layers[0].parts if p.name == "attention.core"]
    once, twice = (value(core, "saved_bytes", "train", 1, n) for n in (4096, 8192))
    assert twice == pytest.approx(2 * once, rel=1e-6)


def test_norms_and_their_states_are_not_divided_by_tensor_parallelism() -> None:
    # llm-analysis issue 27 divided them.
    layer = named("llama-3-70b").layers[0]
    norms = [part for part in layer.parts if part.entry == "rms_norm"]
    assert [parameters(divided(part, 8)) for part in norms] == [8192, 8192]


def test_experts_are_divided_by_tensor_and_expert_ranks_together() -> None:
    # Megatron-Bridge issue 3744 divided by tensor parallelism alone.
    work = workload(named("mixtral-8x7b"), 4096)
    held = rank_parameters(work, Plans.of([Plan(tp=2, dp=4), Plan(tp=2, dp=4, ep=4)]))
    experts = 32 * 8 * 3 * 4096 * 14336
    assert held[1].tolist() == [experts / 2, experts / 8]
    assert held[0][0] == held[0][1]


def test_active_weights_are_those_of_the_chosen_experts() -> None:
    # inference-sim issues 559 and 764 over-counted; Mixtral has 12.9 B, Jiang et al. 2024.
    assert active_parameters(named("mixtral-8x7b")) == 12_879_925_248


def test_the_fullest_stage_of_an_uneven_pipeline_counts() -> None:
    # Megatron-Bridge issue 5077: 31.8 % too low. 61 layers on 8 stages: 8 on the fullest.
    work = workload(named("deepseek-v3"), 4096)
    plans = Plans.of([Plan(pp=8)])
    dense, experts = rank_parameters(work, plans)
    layers = float(dense[0] + experts[0]) - work.end_parameters / 2
    assert layers == pytest.approx(ceil(61 / 8) * work.layer_parameters)


def test_a_hundred_thousand_plans_are_laid_out_and_the_quickest_that_fits_comes_first() -> None:
    found = measured().found
    assert len(found.plans) >= 100_000
    assert found.order
