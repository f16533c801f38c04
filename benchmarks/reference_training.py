"""Published memory of training, each beside what the planner gives."""

from __future__ import annotations

from benchmarks.reference_rows import Row
from costlab.planning.decoder import Stack, model
from costlab.planning.memory import layer_saved, model_states, rank_memory
from costlab.planning.model import ModelConfig, Part
from costlab.planning.parallel import Plan
from costlab.planning.precision import named, precision

_GIB = 2**30
_MANY = 2**10  # micro-batches, as many as a pipeline takes
_STAGES = {"os": 1, "os+g": 2, "os+g+p": 3}


def megatron(width: int, heads: int, layers: int) -> ModelConfig:
    """GPT as Korthikanti et al. 2022 count it: scores written out, dropout, no embedding."""
    stack = Stack(
        d=width, depth=layers, h=heads, g=heads, k=width // heads, f=4 * width, V=0,
        activation="gelu", norm="layer_norm", bias=True, fused=False, dropout=True,
        final_norm=False,
    )  # fmt: skip
    return model("megatron", "gpt2", stack)


def training_memory(row: Row) -> float | None:
    """The planner's answer to a row; None where it is something else."""
    i = row.inputs
    if row.id.startswith("korth-fig1"):
        less = int("seqsel" in row.id)
        plan = Plan(
            tp=i["tp"], pp=i["pp"], interleave=i["interleave"], micro=i["microbatch"],
            accumulation=_MANY, sequence=less, recompute=less,
        )  # fmt: skip
        found = rank_memory(
            megatron(i["d_model"], i["heads"], i["layers"]), plan, i["seq"],
            precision("mixed-fp32-grads"),
        )  # fmt: skip
        return float(found.states if "state" in row.id else found.activations) / _GIB
    if row.id.startswith("korth-fig7"):
        parts = megatron(i["d_model"], i["heads"], 1).layers[0].parts
        return 100 * _kept(parts, row) / layer_saved(parts, 1, i["seq"], tp=i["tp"])
    if row.id.startswith("zero-t1") or row.id.startswith("zero-fig1"):
        stage = _STAGES[i.get("stage", "os+g+p")]
        number = round(i["psi_billion"] * 1e9)
        return float(model_states(number, precision("mixed"), dp=i["dp"], zero=stage).states) / 1e9
    if row.id.startswith("ultrascale"):
        number = round(i["params_billion"] * 1e9)
        return _states(number, "mixed" if "no-fp32" in row.id else "mixed-both-grads") / 1e9
    if row.id.startswith("qlora-") and "overhead" in row.id:
        return float(named("nf4" if "no-dq" in row.id else "nf4-dq").overhead_bits)
    return None


def _states(number: int, kind: str) -> float:
    return float(model_states(number, precision(kind)).states)


def _kept(parts: tuple[Part, ...], row: Row) -> int:
    i, variant = row.inputs, row.inputs["variant"]
    return layer_saved(
        parts, 1, i["seq"], tp=i["tp"], sequence=variant.startswith("seq"),
        recompute="full" if variant == "full" else "selective" if "sel" in variant else "none",
        width=i["d_model"],
    )  # fmt: skip
