"""Published FLOP, utilisations, days and bytes moved, each beside what the planner gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.published_runs import decoder
from benchmarks.reference_rows import Row, rows
from costlab.planning.bundled import named
from costlab.planning.communication import all_reduce_bytes, bubble, gather_bytes
from costlab.planning.totals import value
from costlab.planning.workload import Workload, workload

_DAY = 86400.0
_PEAKS = {"a100_40gb": 312e12, "a100_80gb": 312e12, "h100_80gb": 989e12}
_PALM = 2048  # tokens of a sequence
_PERCENT = 100.0


def throughput(row: Row) -> float | None:
    """Utilisation, or days of a training; None where a row is a measurement or another thing."""
    i = row.inputs
    if row.id.startswith("mpt-") and row.quantity.startswith("MFU"):
        work = _stack(i, i["seq"], heads=i["d_model"] // 64, vocabulary=50432)
        # Its 6 N has norms and positions too, which multiply nothing.
        token = 6 * work.parameters + 3 * work.layers * work.core_flop / work.length
        peak = _PEAKS.get(str(i["gpu"]), _PEAKS["h100_80gb"])
        return float(_PERCENT * i["tokens_per_s_gpu"] * token / peak)
    if row.id.startswith(("korth-t5-mfu", "korth-t5-hfu")):
        return _korthikanti(row)
    if row.id.startswith("kwai-mfu"):
        work = _stack(i, i["seq"], heads=i["heads"], vocabulary=i["vocab"], inner=i["d_ff"],
                      kv_heads=i["kv_heads"], gated=True, tied=False, biases=False)  # fmt: skip
        useful = work.layers * (work.product_flop + work.core_flop / 2) + work.head_flop
        return float(_PERCENT * 3 * useful / work.length * i["tokens_per_s_per_gpu"] / i["peak"])
    if row.id.startswith("palm-540b-mfu"):
        work = workload(named("palm-540b"), _PALM)
        forward = work.layers * work.product_flop + work.head_flop
        whole = 3 * (forward + (0 if "no-attn" in row.id else work.layers * work.core_flop))
        return float(_PERCENT * whole / _PALM * i["tokens_per_s"] / i["chips"] / i["peak"])
    if row.id.startswith("vtrain-params"):
        return _stack(i, i["positions"], heads=i["heads"], vocabulary=i["vocab"]).parameters / 1e9
    return None


def _stack(i: Mapping[str, Any], length: int, **sizes: Any) -> Workload:
    return decoder("row", length, layers=i["layers"], width=i["d_model"],
                   positions=0 if sizes.get("gated") else length, **sizes)  # fmt: skip


def _per_token(work: Workload) -> float:
    return work.model_flop / work.length


def _korthikanti(row: Row) -> float | None:
    """Of the time of a step; the hardware's has what recomputes attention (appendix A).

    That formula, 72 B L s h^2 (1 + s / 3h + V / 12hL), counts three times the core's forward.
    """
    i = row.inputs
    seconds = next(r.number for r in rows("training_throughput")
                   if r.id == f"korth-t5-present-{i['model']}")  # fmt: skip
    work = _stack(i, i["seq"], heads=i["heads"], vocabulary=i["vocab"])
    again = 3 * work.layers * work.core_flop if "hfu" in row.id else 0.0
    return float(_PERCENT * i["global_batch"] * (work.model_flop + again)
                 / seconds / i["gpus"] / 312e12)  # fmt: skip


def flop(row: Row) -> float | None:
    """FLOP of a row of models that are bundled, or of the rule 6 N D."""
    i = row.inputs
    if row.id.startswith("gpt3-D1"):
        total = (i["flops_per_param_token"] * i["params_million"] * 1e6
                 * i["tokens_billion"] * 1e9)  # fmt: skip
        return float(total if "flops" in row.id else total / (1e15 * _DAY))
    if row.id == "palm-flops-per-token":
        return _per_token(workload(named("palm-540b"), _PALM))
    if row.id.startswith("nanogpt-flops"):
        part = _NANOGPT.get(i["part"])
        return None if part is None else part(workload(named("gpt2"), i["seq"]), i["seq"])
    if row.id == "calflops-macs-llama-7b":
        work = workload(named("llama-7b"), 128)
        return (work.layers * (work.product_flop + work.core_flop) + work.head_flop) / 2e9
    if row.id.startswith("deepseek-isca-t2-DeepSeek-V"):
        work = workload(named(f"deepseek-v{row.id[-1]}"), i["seq"])
        kept = work.layers * (work.product_flop + work.useful_core_flop) + work.head_flop
        return 3 * kept / work.length / 1e9
    return None


def _products(n: int, *names: str) -> float:
    layer = named("gpt2").layers[0]
    return float(layer.count * sum(value(p, "flop_matmul", "forward", 1, n) for p in layer.parts
                                   if p.name.rpartition(".")[2] in names))  # fmt: skip


# Its script writes the FLOP of one layer's attention, and of all layers where it says so.
_NANOGPT: Mapping[str, Callable[[Workload, int], float]] = {
    "kqv": lambda _w, n: _products(n, "q", "k", "v") / 12,
    "scores": lambda w, _n: w.core_flop / 2,
    "reduce": lambda w, _n: w.core_flop / 2,
    "proj": lambda _w, n: _products(n, "o") / 12,
    "attention": lambda w, n: _products(n, "q", "k", "v", "o") / 12 + w.core_flop,
    "dense": lambda w, _n: w.head_flop,
    "transformer": lambda w, _n: w.layers * (w.product_flop + w.core_flop),
}


def communication(row: Row) -> float | None:
    """Bytes that a rank sends, a pipeline's bubble, bus bandwidth of a measured all-reduce."""
    i = row.inputs
    if row.id.startswith("ring-allreduce-p"):
        return float(all_reduce_bytes(np.array(1.0), np.array(float(i["ranks"]))))
    if row.id.startswith("zero-volume-P_os"):
        ranks = np.array(1e12)  # many: (N - 1) / N is 1
        scatter, gather = (float(gather_bytes(np.array(1.0), ranks)) for _times in range(2))
        gathers = 2 if row.id.endswith("+p") else 1
        return round(scatter + gathers * gather, 9)
    if row.id.startswith("bubble-p"):
        one = np.array(1.0)
        idle = float(bubble(i["p"] * one, i["m"] * one, one))
        return _PERCENT * (idle / (1 + idle) if row.id.endswith("total") else idle)
    if row.id.startswith("vtrain-allreduce") and "time_us" in i:
        sent = all_reduce_bytes(np.array(float(i["bytes"])), np.array(float(i["gpus"])))
        return float(sent / i["time_us"] / 1e3)
    return None
