"""Published training runs as columns: what was run, and how long a step took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.reference_rows import Row, may_fit, rows
from costlab.hardware.catalogue import load_profile
from costlab.planning.bundled import values
from costlab.planning.decoder import Stack, model
from costlab.planning.huggingface import from_values
from costlab.planning.parallel import Plan, Plans
from costlab.planning.workload import Workload, workload


@dataclass(frozen=True, slots=True)
class Run:
    """A published run with its measured step.

    Attributes:
        family: the set it belongs to.
        network: bytes/s of a device to other nodes; 0 takes the profile's.
    """

    id: str
    family: str
    work: Workload
    plan: Plan
    device: str
    network: float
    step_s: float
    model: str

    @property
    def fitted(self) -> bool:
        """Whether constants may be fitted on it."""
        return may_fit(self.id)


@cache
def runs() -> tuple[Run, ...]:
    """Every run of the table whose sizes and division are stated."""
    found = []
    for row in rows("training_throughput"):
        for prefix, read in _READERS.items():
            if row.id.startswith(prefix):
                run = read(row, row.inputs)
                found += [run] if run else []
    return tuple(found)


def decoder(
    name: str,
    length: int,
    *,
    layers: int,
    width: int,
    heads: int,
    vocabulary: int,
    kv_heads: int = 0,
    inner: int = 0,
    gated: bool = False,
    tied: bool = True,
    positions: int = 0,
    biases: bool = True,
) -> Workload:
    """A dense decoder by its sizes, for published runs that give no more than these."""
    stack = Stack(
        d=width, depth=layers, h=heads, g=kv_heads or heads, k=width // heads,
        f=inner or 4 * width, V=vocabulary, activation="gate" if gated else "gelu",
        norm="rms_norm" if gated else "layer_norm", bias=biases, tied=tied, positions=positions,
    )  # fmt: skip
    return workload(model(name, "decoder", stack), length)


def _vtrain(row: Row, i: Mapping[str, Any]) -> Run:
    work = decoder(
        f"{i['layers']} x {i['d_model']}", i["seq"], layers=i["layers"], width=i["d_model"],
        heads=i["heads"], vocabulary=51200, positions=i["seq"],
    )  # fmt: skip
    plan = Plan(
        dp=i["dp"], tp=i["tp"], pp=i["pp"], micro=i["microbatch"],
        accumulation=i["global_batch"] // i["dp"] // i["microbatch"], recompute=2, sequence=0,
        zero=0,
    )  # fmt: skip
    family = "vTrain, many nodes" if row.id.startswith("vtrain-multi") else "vTrain, one node"
    # 800 Gb/s a node, as the runs' configurations say.
    return Run(row.id, family, work, plan, "A100-80G-SXM", 12.5e9, row.number / 1e3,
               work.name)  # fmt: skip


# The tables print neither micro-batch nor interleaving. Assumed: no interleaving; micro-batch 1
# with a pipeline and on H100, else the largest of 1, 2 and 4 that divides the batch.
def _megatron(row: Row, i: Mapping[str, Any]) -> Run:
    work = decoder(
        row.id.rsplit("-", 1)[1], i["seq"], layers=i["layers"], width=i["d_model"],
        heads=i["heads"], vocabulary=i["vocab"], positions=i["seq"],
    )  # fmt: skip
    dp = i["gpus"] // i["tp"] // i["pp"]
    per_replica = i["batch"] // dp
    micro = max(m for m in (1, 2, 4) if per_replica % m == 0 and (i["pp"] == 1 or m == 1))
    core = row.id.startswith("megatron-h100")
    plan = Plan(
        dp=dp, tp=i["tp"], pp=i["pp"], micro=1 if core else micro,
        accumulation=per_replica // (1 if core else micro), recompute=0 if core else 2,
        sequence=int(core), zero=1 if core else 0,
    )  # fmt: skip
    forward = work.layers * (work.product_flop + work.core_flop)
    times = 3 if core else 4
    flop = i["batch"] * (times * forward + 3 * work.head_flop)
    step = flop / (row.number * 1e12 * i["gpus"])
    family = "Megatron-Core 2024" if core else "Megatron 2021"
    return Run(row.id, family, work, plan, "H100-80G-SXM" if core else "A100-80G-SXM", 0.0,
               step, work.name)  # fmt: skip


def _korthikanti(row: Row, i: Mapping[str, Any]) -> Run | None:
    kind = row.id.split("-")[2]
    if kind not in ("full", "present"):
        return None
    work = decoder(
        i["model"], i["seq"], layers=i["layers"], width=i["d_model"], heads=i["heads"],
        vocabulary=i["vocab"], positions=i["seq"],
    )  # fmt: skip
    dp = i["gpus"] // i["tp"] // i["pp"]
    plan = Plan(
        dp=dp, tp=i["tp"], pp=i["pp"], micro=i["microbatch"],
        accumulation=i["global_batch"] // dp // i["microbatch"], interleave=i["interleave"],
        recompute=2 if kind == "full" else 1, sequence=int(kind == "present"), zero=0,
    )  # fmt: skip
    return Run(row.id, "Korthikanti 2022", work, plan, "A100-80G-SXM", 0.0,
               row.number, work.name)  # fmt: skip


_MPT_HEADS = {"125m": 12, "350m": 16, "760m": 12, "1b": 16, "3b": 20, "7b": 32, "13b": 40,
              "30b": 64, "70b": 64}  # fmt: skip
_DEVICES = {"a100_40gb": "A100-40G-SXM", "a100_80gb": "A100-80G-SXM", "h100_80gb": "H100-80G-SXM"}


def _mpt(row: Row, i: Mapping[str, Any]) -> Run:
    size = i["model"].removeprefix("mpt-")
    work = decoder(
        i["model"], i["seq"], layers=i["layers"], width=i["d_model"], heads=_MPT_HEADS[size],
        vocabulary=50432, positions=i["seq"], biases=False,
    )  # fmt: skip
    plan = Plan(
        dp=i["gpus"], micro=i["microbatch"], accumulation=i["grad_accum"],
        zero=3 if i["sharding"] == "FULL_SHARD" else 2, recompute=2 * (i["act_ckpt"] == "True"),
    )  # fmt: skip
    step = i["microbatch"] * i["grad_accum"] * i["seq"] / i["tokens_per_s_gpu"]
    family = f"MPT, {'H100' if i['gpu'].startswith('h100') else 'A100'}"
    return Run(row.id, family, work, plan, _DEVICES[i["gpu"]], 0.0, step, i["model"])


_SIMUMAX = {
    "llama3_70b": {"width": 8192, "heads": 64, "kv_heads": 8, "inner": 28672},
    "llama3_405b": {"width": 16384, "heads": 128, "kv_heads": 8, "inner": 53248},
}


_SIMUMAX_EXPERTS = {"deepseekv2": "deepseek-v2", "deepseekv3": "deepseek-v3"}


def _simumax(row: Row, i: Mapping[str, Any]) -> Run:
    name = i["model"]
    if name in _SIMUMAX:
        work = decoder(
            name, i["seq"], layers=i["layers"], vocabulary=128256, gated=True, tied=False,
            biases=False, **_SIMUMAX[name],
        )  # fmt: skip
    else:  # The run's script makes the first layer dense and all others of experts.
        config = {**values(_SIMUMAX_EXPERTS[name]), "num_hidden_layers": i["layers"],
                  "first_k_dense_replace": 1}  # fmt: skip
        work = workload(from_values(config, name), i["seq"])
    plan = Plan(
        dp=i["dp"], tp=i["tp"], pp=i["pp"], cp=i["cp"], ep=i["ep"], micro=i["microbatch_size"],
        accumulation=i["microbatches"], zero=1, sequence=1,
    )  # fmt: skip
    family = f"SimuMax B200, {'dense' if name in _SIMUMAX else 'experts'}"
    return Run(row.id, family, work, plan, "B200-180G-SXM", 0.0, row.number / 1e3, name)


_KWAI_AGAIN = {"none": 0, "mlp activation + norm": 3}


def _kwai(row: Row, i: Mapping[str, Any]) -> Run:
    work = decoder(
        i["model"], i["seq"], layers=i["layers"], width=i["d_model"], heads=i["heads"],
        kv_heads=i["kv_heads"], inner=i["d_ff"], gated=True, tied=False, biases=False,
        vocabulary=i["vocab"],
    )  # fmt: skip
    plan = Plan(
        dp=i["dp"], tp=i["tp"], pp=i["pp"], cp=i["cp"], micro=i["microbatch"],
        accumulation=i["global_batch"] // i["dp"] // i["microbatch"], interleave=i["interleave"],
        zero=1, sequence=1, recompute=_KWAI_AGAIN[i["recompute"]],
    )  # fmt: skip
    step = i["global_batch"] * i["seq"] / row.number
    # 8 x 100 Gb/s a node; NVLink of the H800 is 200 GB/s one way.
    return Run(row.id, "Kwai H800", work, plan, "H100-80G-SXM", 12.5e9, step, i["model"])


_READERS: dict[str, Callable[[Row, Mapping[str, Any]], Run | None]] = {
    "vtrain-multi": _vtrain,
    "vtrain-single": _vtrain,
    "megatron-sc21-tflops": _megatron,
    "megatron-h100-tflops": _megatron,
    "korth-t5": _korthikanti,
    "mpt-": _mpt,
    "simumax-b200-time": _simumax,
    "kwai-fig9": _kwai,
}
_NO_NUMBERS = ("name", "saved_bytes", "whole_saved_bytes", "copied_saved_bytes", "parts")
_LINKS = {"Kwai H800": 200e9}


@dataclass(frozen=True, slots=True)
class Columns:
    """Runs as columns, in the shape that :func:`costlab.planning.step_time.step_time` takes."""

    runs: Sequence[Run]
    work: Any
    plans: Plans
    cluster: Any
    step_s: np.ndarray
    fitted: np.ndarray


def columns(chosen: Sequence[Run]) -> Columns:
    """The runs side by side."""
    profiles = [load_profile(run.device) for run in chosen]

    def numbers(values: Sequence[float]) -> np.ndarray:
        return np.array(values, dtype=float)

    names = [f.name for f in fields(Workload) if f.name not in _NO_NUMBERS]
    work = SimpleNamespace(**{n: numbers([getattr(r.work, n) for r in chosen]) for n in names})
    rate = numbers([profile.matrix["bfloat16"].value for profile in profiles])
    bandwidth = numbers([profile.bandwidth.value for profile in profiles])
    cluster = SimpleNamespace(
        per_node=numbers([min(8, run.plan.devices) for run in chosen]),
        link_bytes_per_s=numbers([
            _LINKS.get(run.family, profile.link.value if profile.link else 0.0)
            for run, profile in zip(chosen, profiles, strict=True)
        ]),
        network_bytes_per_s=numbers([
            run.network or (profile.network.value if profile.network else 0.0)
            for run, profile in zip(chosen, profiles, strict=True)
        ]),
        flop_per_s=lambda _dtype: rate,
        profile=SimpleNamespace(bandwidth=SimpleNamespace(value=bandwidth)),
    )  # fmt: skip
    return Columns(
        chosen, work, Plans.of([run.plan for run in chosen]), cluster,
        numbers([run.step_s for run in chosen]), np.array([run.fitted for run in chosen]),
    )  # fmt: skip
