"""A plan as a starting configuration of a training program: Megatron-LM's arguments, DeepSpeed's
JSON.

Names are those of NVIDIA/Megatron-LM, ``megatron/training/arguments.py`` and the dataclasses it
makes arguments of, at commit d98e8a64 of 2026-08-22; and of microsoft/DeepSpeed,
``docs/_pages/config-json.md``, at commit 38327e07 of 2025-02-21. What a plan does not say (data,
learning rate, checkpoints) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning.model import ModelConfig, Part
from costlab.planning.parallel import Plan

FILES = {"megatron": "megatron.txt", "deepspeed": "deepspeed.json"}
"""Per program the name of its file."""
PROGRAMS = tuple(FILES)

_POSITIONS = {"learned": "learned_absolute", "rotary": "rope", "none": "none"}
_SHARDING = {3: "optim_grads_params", 2: "optim_grads"}


@dataclass(frozen=True, slots=True)
class Starting:
    """The file's text, and what of the plan the file cannot say."""

    text: str
    notes: tuple[str, ...] = ()


def starting(program: str, model: ModelConfig, plan: Plan, n: int, tokens: float) -> Starting:
    """The configuration of ``plan`` for a program.

    Raises:
        InputError: if there is no such program, or it has no arguments for this model or plan.
    """
    if program == "megatron":
        return megatron(model, plan, n, tokens)
    if program == "deepspeed":
        return deepspeed(plan)
    raise InputError(
        _("no starting configurations for this program"), given=program, allowed=", ".join(PROGRAMS)
    )


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a program's configuration: its file, or why there is none."""

    program: str
    file: Path | None
    notes: tuple[str, ...]

    def text(self) -> str:
        """The same in one line."""
        where = _("not written") if self.file is None else str(self.file)
        return f"{self.program}: {where}; {'; '.join(self.notes)}"

    def to_json(self) -> dict[str, object]:
        """The same as plain data."""
        return {"program": self.program, "file": self.file and str(self.file),
                "notes": list(self.notes)}  # fmt: skip


def write(
    folder: str | Path, model: ModelConfig, plan: Plan, n: int, tokens: float
) -> list[Written]:
    """Put the configuration of each program that has one for this model and plan into a folder.

    Raises:
        InputError: if the folder cannot be made or written to.
    """
    place, found = Path(folder).expanduser(), []
    for program, name in FILES.items():
        try:
            config = starting(program, model, plan, n, tokens)
        except InputError as error:
            found.append(Written(program, None, (str(error),)))
            continue
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(config.text, encoding="utf-8")
        except OSError as error:
            raise InputError(
                _("the configurations cannot be written"), given=f"{place / name}: {error.strerror}"
            ) from error
        found.append(Written(program, place / name, config.notes))
    return found


def megatron(model: ModelConfig, plan: Plan, n: int, tokens: float) -> Starting:
    """Arguments of ``pretrain_gpt.py``, one a line.

    Raises:
        InputError: if the model is no stack of attention and feed-forward layers, or the schedule
            is one that Megatron-LM does not have.
    """
    if plan.gpipe:
        raise InputError(
            _("Megatron-LM has no GPipe schedule"),
            given=plan.text(),
            allowed=_("1F1B, interleaved"),
        )
    flags = _network(model, n) | {
        "tensor-model-parallel-size": plan.tp,
        "pipeline-model-parallel-size": plan.pp,
        "context-parallel-size": plan.cp,
    }
    if plan.interleave > 1:
        flags["num-virtual-stages-per-pipeline-rank"] = plan.interleave
    if plan.sequence and plan.tp > 1:
        flags["sequence-parallel"] = True
    if plan.ep > 1:
        flags["expert-model-parallel-size"] = plan.ep
    if plan.zero == 1:
        flags["use-distributed-optimizer"] = True
    elif plan.zero > 1:
        flags |= {
            "use-distributed-optimizer": True,
            "use-megatron-fsdp": True,
            "data-parallel-sharding-strategy": _SHARDING[plan.zero],
            "ckpt-format": "fsdp_dtensor",
        }
    flags |= {
        "micro-batch-size": plan.micro,
        "global-batch-size": plan.batch,
        "train-samples": round(tokens / n),
        "bf16": True,
    }
    if plan.recompute == 1:
        flags["recompute-granularity"] = "selective"
    elif plan.recompute == 2:
        flags |= {
            "recompute-granularity": "full",
            "recompute-method": "uniform",
            "recompute-num-layers": 1,
        }
    elif plan.recompute == 3:
        flags |= {"recompute-granularity": "selective", "recompute-modules": "layernorm moe_act"}
    lines = [f"--{name}" if value is True else f"--{name} {value}" for name, value in flags.items()]
    notes = [
        _("{n} ranks in all; --lr, data and tokenizer are yours to add").format(n=plan.devices)
    ]
    return Starting("\n".join(lines) + "\n", tuple(notes))


def _network(model: ModelConfig, n: int) -> dict[str, object]:
    """Arguments of the model's shape."""
    parts = [item for layer in model.layers for item in layer.parts]
    entries = {item.entry for item in parts}
    kinds = {layer.stream for layer in model.layers}
    fits = model.causal and model.heads and kinds == {"target"} and model.positions in _POSITIONS
    if not fits or any(_foreign(item) for item in parts):
        raise InputError(
            _("Megatron-LM's pretrain_gpt.py has no arguments for this model"),
            given=f"{model.name} ({model.family})",
            allowed=_("a decoder of attention and feed-forward layers"),
        )
    flags: dict[str, object] = {
        "num-layers": model.depth,
        "hidden-size": model.width,
        "ffn-hidden-size": model.inner,
        "num-attention-heads": model.heads,
    }
    if model.kv_heads != model.heads:
        flags |= {"group-query-attention": True, "num-query-groups": model.kv_heads}
    if model.head_size * model.heads != model.width:
        flags["kv-channels"] = model.head_size
    if model.experts:
        flags |= {
            "num-experts": model.experts,
            "moe-router-topk": model.experts_per_token,
            "moe-ffn-hidden-size": _expert_width(parts),
        }
    flags |= {"seq-length": n, "max-position-embeddings": max(n, model.context)}
    flags["position-embedding-type"] = _POSITIONS[model.positions]
    if entries & {"gate", "fused_gate"}:
        flags["swiglu"] = True
    if "squared_relu" in entries:
        flags["squared-relu"] = True
    flags["normalization"] = "RMSNorm" if "rms_norm" in entries else "LayerNorm"
    if not any(item.entry == "linear" and "bias" in item.options for item in parts):
        flags["disable-bias-linear"] = True
    if not model.tied:
        flags["untie-embeddings-and-output-weights"] = True
    return flags


def _foreign(item: Part) -> bool:
    """Whether Megatron-LM's GPT has no such part."""
    without = {"latent_core", "cross_attention_core", "state_space", "short_convolution", "lstm"}
    return item.entry in without | {"relu"} or (item.entry == "gate" and "gelu" in item.options)


def _expert_width(parts: list[Part]) -> int:
    return max(item.size["f"] for item in parts if item.expert and item.place == "column")


def deepspeed(plan: Plan) -> Starting:
    """The JSON of ``deepspeed --deepspeed_config``.

    Raises:
        InputError: if DeepSpeed has no such plan.
    """
    if plan.pp > 1 and plan.zero > 1:
        raise InputError(
            _("DeepSpeed's pipelines go with ZeRO stages 0 and 1 only"),
            given=plan.text(),
            allowed="--zero 0, --zero 1",
        )
    if plan.cp > 1:
        raise InputError(
            _("DeepSpeed shares a sequence by heads and not block by block"),
            given=plan.text(),
            allowed="cp 1",
        )
    config: dict[str, object] = {
        "train_batch_size": plan.batch,
        "train_micro_batch_size_per_gpu": plan.micro,
        "gradient_accumulation_steps": plan.accumulation,
        "bf16": {"enabled": True},
        "zero_optimization": _zero(plan),
    }
    notes = []
    if plan.tp > 1:
        config["tensor_parallel"] = {"autotp_size": plan.tp}
    if plan.pp > 1:
        notes.append(_("in code: deepspeed.pipe.PipelineModule(num_stages={p})").format(p=plan.pp))
    if plan.interleave > 1:
        notes.append(_("DeepSpeed's pipeline does not interleave: v is left out"))
    if plan.ep > 1:
        notes.append(_("in code: deepspeed.moe.layer.MoE(ep_size={e})").format(e=plan.ep))
    if plan.recompute:
        notes.append(
            _("in code: deepspeed.checkpointing.checkpoint around {what}").format(
                what=_AGAIN[plan.recompute]
            )
        )
    notes.append(_("{n} ranks in all; the optimizer is yours to add").format(n=plan.devices))
    return Starting(json.dumps(config, indent=2) + "\n", tuple(notes))


_AGAIN = ("", _("attention's core"), _("each layer"), _("norms and activation functions"))


def _zero(plan: Plan) -> Mapping[str, object]:
    if plan.zero == 0:
        return {"stage": 0}
    return {
        "stage": plan.zero,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_scatter": True,
    }
