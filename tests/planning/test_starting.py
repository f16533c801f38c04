"""Starting configurations: names that the programs document, and values that are the plan's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.reference_training import megatron as korthikanti
from costlab.cli.__main__ import main
from costlab.errors import InputError
from costlab.planning.huggingface import from_values
from costlab.planning.parallel import Plan
from costlab.planning.starting import starting, write

# NVIDIA/Megatron-LM at d98e8a64: arguments.py, and fields of TransformerConfig,
# ModelParallelConfig, TrainingConfig, DistributedInitConfig and CheckpointConfig, which it reads.
MEGATRON = {
    "num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "group-query-attention",
    "num-query-groups", "kv-channels", "num-experts", "moe-router-topk", "moe-ffn-hidden-size",
    "seq-length", "max-position-embeddings", "position-embedding-type", "swiglu", "squared-relu",
    "normalization", "disable-bias-linear", "untie-embeddings-and-output-weights",
    "tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size",
    "num-virtual-stages-per-pipeline-rank", "sequence-parallel", "expert-model-parallel-size",
    "use-distributed-optimizer", "use-megatron-fsdp", "data-parallel-sharding-strategy",
    "ckpt-format", "micro-batch-size", "global-batch-size", "train-samples", "bf16",
    "recompute-granularity", "recompute-modules", "recompute-method", "recompute-num-layers",
}  # fmt: skip
# microsoft/DeepSpeed at 38327e07: docs/_pages/config-json.md and runtime/tensor_parallel/config.py.
DEEPSPEED = {
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "bf16",
    "enabled", "zero_optimization", "stage", "overlap_comm", "contiguous_gradients",
    "reduce_scatter", "tensor_parallel", "autotp_size",
}  # fmt: skip

MIXTRAL = from_values({
    "model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "vocab_size": 32000,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
    "num_local_experts": 8, "num_experts_per_tok": 2, "tie_word_embeddings": False,
}, "mixtral")  # fmt: skip


def arguments(text: str) -> dict[str, str]:
    lines = [line.removeprefix("--").partition(" ") for line in text.splitlines()]
    return {name: value for name, _space, value in lines}


@pytest.mark.parametrize(
    "plan",
    [
        Plan(dp=2, tp=4, pp=4, ep=2, micro=2, accumulation=16, interleave=2, recompute=2),
        Plan(dp=8, zero=3, recompute=1),
        Plan(dp=4, cp=2, zero=0),
        Plan(recompute=3),
    ],
)
def test_megatron_documents_every_argument(plan: Plan) -> None:
    found = arguments(starting("megatron", MIXTRAL, plan, 4096, 1e9).text)

    assert found.keys() - MEGATRON == set()
    ranks = [found[f"{kind}-parallel-size"] for kind in
             ("tensor-model", "pipeline-model", "context")]  # fmt: skip
    assert ranks == [str(plan.tp), str(plan.pp), str(plan.cp)]
    assert found["global-batch-size"] == str(plan.batch)
    assert (found["num-experts"], found["num-query-groups"]) == ("8", "8")
    assert found["train-samples"] == "244141"  # 1e9 / 4096
    assert ("recompute-modules" in found) == (plan.recompute == 3)
    assert ("use-megatron-fsdp" in found) == (plan.zero == 3)


def test_megatron_gets_the_model_as_it_is() -> None:
    found = arguments(starting("megatron", MIXTRAL, Plan(), 4096, 1e9).text)
    assert found["normalization"] == "RMSNorm"
    assert {"swiglu", "disable-bias-linear", "untie-embeddings-and-output-weights"} <= found.keys()
    gpt = replace(korthikanti(64, 4, 2), tied=True)
    other = arguments(starting("megatron", gpt, Plan(), 64, 1e6).text)
    assert not {"swiglu", "disable-bias-linear", "num-experts"} & other.keys()
    assert other["normalization"] == "LayerNorm"


@pytest.mark.parametrize("plan", [Plan(dp=8, tp=2, zero=3, micro=2, accumulation=4, recompute=2),
                                  Plan(dp=2, pp=4, zero=1, accumulation=8)])  # fmt: skip
def test_deepspeed_documents_every_field(plan: Plan) -> None:
    found = starting("deepspeed", MIXTRAL, plan, 4096, 1e9)
    config = json.loads(found.text)

    nested = {key for value in config.values() if isinstance(value, dict) for key in value}
    assert (config.keys() | nested) - DEEPSPEED == set()
    # config-json.md: the batch is that of a device times the passes times the devices.
    product = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    assert config["train_batch_size"] == product * plan.dp
    assert config["zero_optimization"]["stage"] == plan.zero
    assert any("PipelineModule" in note for note in found.notes) == (plan.pp > 1)


@pytest.mark.parametrize(
    ("program", "plan", "says"),
    [
        ("megatron", Plan(pp=2, gpipe=1), "GPipe"),
        ("deepspeed", Plan(pp=2, dp=2, zero=3), "stages 0 and 1"),
        ("deepspeed", Plan(cp=2), "by heads"),
        ("slurm", Plan(), "megatron, deepspeed"),
    ],
)
def test_what_a_program_cannot_do_is_said(program: str, plan: Plan, says: str) -> None:
    with pytest.raises(InputError, match=says):
        starting(program, MIXTRAL, plan, 4096, 1e9)


def test_a_model_without_attention_is_refused() -> None:
    mamba = from_values(
        {"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280,
         "state_size": 16, "conv_kernel": 4, "expand": 2, "time_step_rank": 48},
        "mamba",
    )  # fmt: skip
    with pytest.raises(InputError, match="attention and feed-forward"):
        starting("megatron", mamba, Plan(), 2048, 1e9)


def test_the_command_writes_what_the_programs_can_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "new"
    words = ["plan", "gpt3-13b", "--gpus", "64xA100-80", "--json", "--write-config", str(place)]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)

    best = answer["plans"][0]["plan"]
    written = {file["program"]: file["file"] for file in answer["files"]}
    assert Path(written["megatron"]) == place / "megatron.txt"
    given = arguments((place / "megatron.txt").read_text(encoding="utf-8"))
    assert given["tensor-model-parallel-size"] == str(best["tp"])
    assert given["global-batch-size"] == str(best["batch"])
    settings = json.loads((place / "deepspeed.json").read_text(encoding="utf-8"))
    assert settings["train_batch_size"] == best["batch"]


def test_what_is_not_written_says_why(tmp_path: Path) -> None:
    plan = Plan(dp=2, pp=2, zero=3, accumulation=4)
    found = {one.program: one for one in write(tmp_path, MIXTRAL, plan, 4096, 1e9)}
    assert found["megatron"].file == tmp_path / "megatron.txt"
    assert found["deepspeed"].file is None
    assert "stages 0 and 1" in found["deepspeed"].text()
    assert not (tmp_path / "deepspeed.json").exists()
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "megatron.txt", MIXTRAL, plan, 4096, 1e9)


def test_configurations_are_for_one_training(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "gpt2-xl", "--gpus", "1xA100-80", "--job", "serve", "--write-config", "x"]
    assert main(words) == 2
    assert "--write-config is for training" in capsys.readouterr().err
