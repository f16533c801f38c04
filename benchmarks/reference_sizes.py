"""Published parameter counts and states, each beside what the planner's sums give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.reference_models import model_of, printed
from benchmarks.reference_rates import communication, flop, throughput
from benchmarks.reference_rows import Row, rows
from benchmarks.reference_training import training_memory
from costlab.planning.blocks import attention
from costlab.planning.huggingface import from_values
from costlab.planning.model import Layer, ModelConfig, part
from costlab.planning.totals import active_parameters, model_parameters, state_elements

_GIB = 2**30


def parameters(row: Row) -> float | None:
    """Parameters of a row; None where it names no model that a reader knows."""
    i = row.inputs
    if "family" in i:
        model = model_of(i, row.id)
        return None if model is None else model_parameters(model)
    for start, kind in (
        ("gpt3-", "gpt2"), ("mpt-", "gpt2"), ("megatron-sc21", "gpt2"), ("palm-", "palm"),
        ("chinchilla-", "gopher"), ("gopher-", "gopher"),
    ):  # fmt: skip
        if row.id.startswith(start):
            return model_parameters(printed(i, kind))
    if row.id.startswith("megatron-core"):
        both = [model_parameters(printed(i, "gpt2", tied=tied)) for tied in (True, False)]
        return min(both, key=lambda number: abs(number - row.number))
    if "config" in i or row.id in _ACTIVE:
        return _of_named(row)
    return None


_ACTIVE = {"mixtral-8x7b-active": "par-mixtral-8x7b"}


def _of_named(row: Row) -> float | None:
    name = _ACTIVE.get(row.id, row.inputs.get("config", ""))
    found = {r.id: r for r in rows("parameters")}.get(name)
    model = None if found is None else model_of(found.inputs, name)
    if model is None:
        return None
    count = active_parameters if row.id.endswith("active") else model_parameters
    return count(model)


def cached(layers: int, g: int, k: int) -> ModelConfig:
    """A model of attention alone with g key/value heads of k."""
    parts = tuple(p for p in attention(g * k, g, g, k) if p.name.endswith("core"))
    return ModelConfig("", "", g * k, (Layer("attention", parts, layers),), kv_heads=g)


def latent(layers: int, c: int, r: int) -> ModelConfig:
    """A model of latent attention alone."""
    core = part("latent_core", options=("causal",), h=1, k=c, c=c, r=r)
    return ModelConfig("", "", c, (Layer("attention", (core,), layers),), kv_kind="latent")


def states(row: Row) -> float | None:
    """KV cache or recurrent state of a row; None where it is something else."""
    i = row.inputs
    heads: Any = i.get("kv_heads") or i.get("heads")
    depth: Any = i.get("layers") or i.get("attention_layers")
    if row.id.startswith("kv-mla"):
        return state_elements(latent(depth, i["kv_lora_rank"], i["qk_rope"]), 1)
    if row.id.startswith("kv-mha"):
        return state_elements(cached(depth, heads, i["head_dim"]), 1)
    if row.id.startswith("state-mamba"):
        return _mamba_state(i)
    if row.id.startswith("qwen3-mem"):
        kept = state_elements(cached(depth, heads, i["head_dim"]),
                              i["input_tokens"] + i["output_tokens"])  # fmt: skip
        return float(2 * (i["params"] + kept)) / 2**20
    if not (depth and heads and "head_dim" in i and "bytes" in i):
        return None
    tokens = i.get("tokens", 1) * i.get("batch", 1)
    found = int(i["bytes"]) * state_elements(cached(depth, heads, i["head_dim"]), tokens)
    return found / _GIB if row.unit.startswith("GB") else found


def _mamba_state(i: Mapping[str, Any]) -> int:
    d = i["d_model"]
    values = {
        "model_type": "mamba2" if "n_groups" in i else "mamba", "hidden_size": d,
        "num_hidden_layers": i["layers"], "vocab_size": 1, "expand": i["expand"],
        "state_size": i["d_state"], "conv_kernel": i["d_conv"],
        "num_heads": i["expand"] * d // i.get("head_dim", d), "head_dim": i.get("head_dim"),
        "n_groups": i.get("n_groups"),
    }  # fmt: skip
    return state_elements(from_values(values, "state"), 1)


FILES: Mapping[str, Callable[[Row], float | None]] = {
    "parameters": parameters,
    "kv_state_memory": states,
    "training_memory": training_memory,
    "training_throughput": throughput,
    "flops": flop,
    "communication": communication,
}
"""What answers the rows of each file."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How the rows of one file came out; ``apart`` do not follow from their own inputs."""

    file: str
    rows: int
    exact: int
    within: int
    missed: tuple[str, ...]
    unanswered: int
    apart: tuple[str, ...]

    def cells(self) -> list[str]:
        """One line of the table."""
        answered = self.exact + self.within + len(self.missed)
        return [
            self.file, str(self.rows), str(answered), str(self.exact), str(self.within),
            ", ".join(self.missed) or "0", str(self.unanswered), ", ".join(self.apart) or "0",
        ]  # fmt: skip


def tally(name: str) -> Tally:
    """Answer every row of a file and compare."""
    found = rows(name)
    apart = tuple(row.id for row in found if row.recomputes == "NO")
    exact = within = unanswered = 0
    missed = []
    for row in found:
        if row.recomputes == "NO":
            continue
        value = FILES[name](row) if row.tolerance is not None else None
        if value is None:
            unanswered += 1
        elif value == row.number:
            exact += 1
        elif row.is_met(value):
            within += 1
        else:
            missed.append(row.id)
    return Tally(name, len(found), exact, within, tuple(missed), unanswered, apart)
