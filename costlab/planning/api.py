"""The public way to a plan: a model, a cluster and a job to the best division found."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from costlab.errors import UnknownNameError
from costlab.hardware.catalogue import load_profile
from costlab.i18n import _
from costlab.planning.cluster import Cluster, Rates, cluster
from costlab.planning.jobs import Bill, bill
from costlab.planning.parallel import Plan
from costlab.planning.search import Found, Space, search
from costlab.planning.software import Software, software
from costlab.planning.workload import Workload, transformer_workload

SCHEMA = "costlab.plan/1"
_SOFTWARE = {"A100": "megatron", "V100": "megatron", "B200": "megatron-b200"}
_ELSE = "megatron-flash"
_TOKENS_A_STEP = 4e6  # of the largest published runs, GPT-3's among them


@dataclass(frozen=True, slots=True)
class Training:
    """The best plans of a training job, the fastest first."""

    tokens: float
    found: Found
    software: Software
    shown: tuple[int, ...]

    @property
    def best(self) -> Plan:
        """The fastest plan that fits."""
        return self.found.plans[self.shown[0]]

    def assumptions(self) -> tuple[str, ...]:
        """What the figures rest on that was not given."""
        soft = self.software
        return (
            *self.found.cluster.assumptions,
            _("time as of {title}, constants fitted on {fitted}").format(
                title=soft.title, fitted=soft.fitted
            ),
            soft.errors,
        )

    def bill(self, index: int) -> Bill:
        """Days, hours, cost and energy of a plan."""
        seconds = self.tokens / self.found.tokens_per_s(index)
        return bill(self.found.cluster, seconds)

    def row(self, index: int) -> dict[str, Any]:
        """A plan with all figures as plain data."""
        found, cost = self.found, self.bill(index)
        limiter, share = found.time.limiter(index)
        memory = found.memory.kinds(index)
        return {
            "plan": found.plans[index].to_json(),
            "text": found.plans[index].text(),
            "step_s": float(found.time.total[index]),
            "tokens_per_s": found.tokens_per_s(index),
            "mfu": found.mfu(index),
            "days": cost.days,
            "gpu_hours": cost.device_hours,
            "cost": cost.cost,
            "currency": cost.currency,
            "energy_j": cost.energy_j,
            "carbon_kg": cost.carbon_kg,
            "limiter": limiter,
            "limiter_share": share,
            "time_s": {
                name: float(getattr(found.time, name)[index])
                for name in ("arithmetic", "recompute", "tensor", "expert", "pipeline", "bubble",
                             "data", "optimizer")
            },
            "memory_bytes": memory,
            "memory_total_bytes": sum(memory.values()),
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data with the schema."""
        found = self.found
        return {
            "schema": SCHEMA,
            "job": "train",
            "model": found.work.name,
            "parameters": found.work.parameters,
            "length": found.work.length,
            "tokens": self.tokens,
            "device": found.cluster.profile.name,
            "gpus": found.cluster.devices,
            "capacity_bytes": found.cluster.capacity_bytes,
            "software": self.software.name,
            "tried": len(found.plans),
            "fit": len(found.order),
            "plans": [self.row(index) for index in self.shown],
            "assumptions": list(self.assumptions()),
        }


@cache
def _decoders() -> dict[str, dict[str, Any]]:
    path = files("costlab_profiles") / "planning" / "decoders.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: table for name, table in tables.items() if isinstance(table, dict)}


def workload(model: str, length: int) -> Workload:
    """The training work of a model by name at a sequence length.

    Raises:
        UnknownNameError: if the model is not known.
    """
    if model.lower() not in _decoders():
        raise UnknownNameError(_("model"), model, _decoders())
    sizes = _decoders()[model.lower()]
    return transformer_workload(model.lower(), length, vocabulary=50257, positions=length, **sizes)


def plan(
    model: str,
    device: str,
    gpus: int,
    *,
    tokens: float = 300e9,
    length: int = 2048,
    batch: int | None = None,
    per_node: int | None = None,
    network_bytes_per_s: float | None = None,
    link_bytes_per_s: float | None = None,
    rates: Rates | None = None,
    memory_bytes: float | None = None,
    program: str | None = None,
    show: int = 5,
) -> Training:
    """The best ways to train ``model`` on ``gpus`` devices.

    Args:
        model: name of a model.
        device: name or path of a device profile.
        tokens: how many the training sees.
        length: sequence length n.
        batch: sequences a step; by default those of about 4 million tokens.
        memory_bytes: what a device may use; all of it by default.
        program: whose measured constants (:func:`costlab.planning.software.software`); by default
            those fitted on runs of this kind of device.
        show: how many plans to keep beside the best.

    Raises:
        InputError: if a name is unknown, or no plan is valid or fits; says what binds.
    """
    work = workload(model, length)
    machines: Cluster = cluster(
        load_profile(device), gpus, per_node=per_node, network_bytes_per_s=network_bytes_per_s,
        link_bytes_per_s=link_bytes_per_s, rates=rates,
    )  # fmt: skip
    soft = software(program or _SOFTWARE.get(machines.profile.name.split("-")[0], _ELSE))
    space = Space(batch or _usual_batch(gpus, length), context=soft.stored_scores == 0)
    found = search(work, machines, soft, space, limit=memory_bytes)
    return Training(tokens, found, soft, tuple(found.order[:show]))


def _usual_batch(gpus: int, length: int) -> int:
    """Sequences of about four million tokens, a multiple of the devices' power of two."""
    sequences = max(int(_TOKENS_A_STEP // length), 1)
    base = max(gpus & -gpus, gpus if gpus <= sequences else 1)
    return max(sequences // base, 1) * base
