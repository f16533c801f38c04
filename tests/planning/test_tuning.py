"""Jobs beyond pretraining: measured LoRA runs, published counts, and what each role costs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.reference_rows import rows
from costlab.cli.__main__ import main
from costlab.errors import InputError, SizeError, UnknownNameError
from costlab.planning.adapters import ALL, Adapted
from costlab.planning.bundled import named
from costlab.planning.totals import flop, model_parameters
from costlab.planning.tuning import Asked, tune

TRAINED = {row.id: int(row.number) for row in rows("parameters") if row.id.startswith("lora-")}
MEASURED = {row.id: row.number for row in rows("training_memory") if row.id.startswith("litgpt")
            and not str(row.value).startswith("OOM")}  # fmt: skip
A100 = "A100-80G-SXM"


@pytest.mark.parametrize(
    ("row", "model", "rank", "targets"),
    [
        ("lora-llama3-8b-r16-all-linear", "llama-3-8b", 16, ALL),
        ("lora-llama7b-r64-qkvo", "llama-7b", 64, ("q", "k", "v", "o")),
    ],
)
def test_adapters_have_the_published_size(
    row: str, model: str, rank: int, targets: tuple[str, ...]
) -> None:
    assert Adapted(named(model), rank, targets).trained == TRAINED[row]


def test_gpt3_has_its_adapters_of_table_4() -> None:
    found = Adapted(named("gpt3-175b"), 8).trained
    assert found == pytest.approx(TRAINED["lora-gpt3-175b-r8-qv"], rel=2e-3)


@pytest.mark.parametrize(
    ("row", "model"),
    [
        ("litgpt-lora-7_B-Llama_2-None-mb1", "llama-2-7b"),
        ("litgpt-lora-13_B-Llama_2-None-mb1", "llama-2-13b"),
    ],
)
def test_measured_lora_runs_are_met(row: str, model: str) -> None:
    # Trained in bf16 throughout, rank 8 on q and v, sequences of up to 1304 tokens.
    found = tune("lora", model, A100, asked=Asked(length=1304, rank=8))
    tensors = found.peak_bytes - found.held["reserve"]
    assert tensors / 1e9 == pytest.approx(MEASURED[row], rel=0.02)


def test_a_frozen_product_costs_two_thirds_and_keeps_nothing() -> None:
    model = named("llama-2-7b")
    whole, frozen = flop(model, 1, 64, mode="train"), Adapted(model, 1, ("v",)).step_flop(1, 64)
    assert 2 / 3 < frozen / whole < 0.69
    few, all_ = Adapted(model, 1, ("v",)), Adapted(model, 1, ALL)
    per_token = 2 * 32 * (4096 + 11008)  # the inputs of up and gate, and of down
    ranks = 2 * 32 * 6  # six more adapters keep what A gives
    assert all_.saved_bytes(1, 64) - few.saved_bytes(1, 64) == 64 * (per_token + ranks)


def test_four_bit_products_keep_their_inputs() -> None:
    model = named("llama-2-7b")
    bare, kept = Adapted(model, 1), Adapted(model, 1, keeps_inputs=True)
    # Of up and gate together, and of down; what the others read is kept by q and v and the core.
    assert kept.saved_bytes(1, 64) - bare.saved_bytes(1, 64) == 64 * 2 * 32 * (4096 + 11008)


def test_a_measured_qlora_run_needs_little_more() -> None:
    found = tune("qlora", "llama-2-7b", A100, asked=Asked(length=1304, rank=8))
    tensors = found.peak_bytes - found.held["reserve"]
    measured = MEASURED["litgpt-lora-7_B-Llama_2-bnb.nf4-dq-mb1"]
    assert 0.92 < tensors / 1e9 / measured < 1


def test_full_training_is_sixteen_bytes_a_weight() -> None:
    found = tune("finetune", "llama-3.2-1b", A100, asked=Asked(length=512))
    number = model_parameters(named("llama-3.2-1b"))
    kinds = ("weights", "gradients", "optimizer")
    assert sum(found.held[kind] for kind in kinds) == 16 * number
    assert found.flop == flop(named("llama-3.2-1b"), 1, 512, mode="train")


def test_offloading_leaves_two_bytes_a_weight() -> None:
    # Ren et al. 2021, ZeRO-Offload, section 3: 2 M bytes on the device instead of 16 M, 14 M on
    # the host, 4 M over the link a step; shared among N devices each has a part (section 4.2).
    number = model_parameters(named("llama-3.2-1b"))
    asked = Asked(length=512, offload=True, host_bytes_per_s=1e9)
    one = tune("finetune", "llama-3.2-1b", A100, asked=asked)
    assert one.held["weights"] == 2 * number
    assert one.host == 14 * number
    assert one.phases[-1].transfer_s == pytest.approx(4 * number / 1e9)
    four = tune("finetune", "llama-3.2-1b", A100, 4, replace(asked, zero=2))
    assert four.host == pytest.approx(14 * number / 4)
    assert four.held["weights"] == 2 * number
    plain = tune("finetune", "llama-3.2-1b", A100, asked=replace(asked, offload=False))
    assert plain.peak_bytes - one.peak_bytes == one.host
    assert one.seconds - plain.seconds == pytest.approx(one.phases[-1].transfer_s)
    with pytest.raises(InputError, match="little to offload"):
        tune("lora", "llama-3.2-1b", A100, asked=asked)


def test_offloading_is_said_where_it_helps() -> None:
    with pytest.raises(InputError, match="does not fit") as caught:
        tune("finetune", "llama-2-7b", A100, asked=Asked(length=512, recompute=True))
    assert "--offload fits" in caught.value.advice
    assert tune("finetune", "llama-2-7b", A100,
                asked=Asked(length=512, recompute=True, offload=True)).fits  # fmt: skip


def test_qlora_of_65b_fits_48_gb() -> None:
    # Dettmers et al. 2023, abstract: 65 B on one device of 48 GiB, against 780 GB in full.
    found = tune(
        "qlora", "llama-65b", A100, memory_bytes=48 * 2**30,
        asked=Asked(length=512, rank=64, targets=ALL, recompute=True),
    )  # fmt: skip
    assert found.peak_bytes < 48 * 2**30
    with pytest.raises(InputError, match="does not fit") as caught:
        tune("finetune", "llama-65b", A100, asked=Asked(length=512))
    assert "such devices with ZeRO-3 fit" in caught.value.advice
    assert "optimizer" in str(caught.value)


def test_roles_of_preferences_and_distillation() -> None:
    small, weights = named("qwen2.5-0.5b"), 2 * model_parameters(named("qwen2.5-0.5b"))
    asked = Asked(length=256, zero=0)
    dpo = tune("dpo", small, A100, asked=asked)
    assert dpo.held["reference"] == weights
    assert dpo.flop == 2 * flop(small, 1, 256) + 2 * flop(small, 1, 256, mode="train")
    shared = tune("dpo", small, A100, asked=Asked(length=256, zero=0, rank=8))
    assert shared.held["reference"] == 0

    rlhf = tune("rlhf", small, A100, asked=asked)
    assert rlhf.held["critic"] == 8 * weights
    assert rlhf.held["reward"] == rlhf.held["reference"] == weights
    assert [phase.name for phase in rlhf.phases] == ["generation", "scoring", "update"]

    teacher = named("qwen2.5-7b")
    found = tune("distill", small, A100, asked=Asked(length=256, zero=0, other=teacher))
    assert found.held["teacher"] == 2 * model_parameters(teacher)
    assert found.flop == flop(teacher, 1, 256) + flop(small, 1, 256, mode="train")


def test_bad_jobs_are_said_to_be() -> None:
    with pytest.raises(UnknownNameError):
        tune("lorra", "llama-2-7b", A100)
    with pytest.raises(SizeError, match="rank=-1"):
        Adapted(named("llama-2-7b"), -1)
    with pytest.raises(InputError, match="queries") as caught:
        Adapted(named("llama-2-7b"), 8, ("queries",))
    assert "down" in str(caught.value)


def test_the_command_prints_phases(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "llama-2-7b", "--gpus", "1xA100-80", "--job", "qlora", "--length", "512"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "8 388 608 parameters learn" in text
    assert "peak of a device" in text
    assert main([*command, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["job"] == "qlora"
    assert data["fits"]
