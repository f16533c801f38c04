"""The public way to a plan: a model, a cluster and a job to the best division found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlab.errors import SizeError
from costlab.hardware.catalogue import load_profile
from costlab.i18n import _
from costlab.planning.bundled import named
from costlab.planning.cluster import Cluster, Rates, cluster
from costlab.planning.jobs import Bill, bill
from costlab.planning.model import ModelConfig, usual_length
from costlab.planning.parallel import Plan
from costlab.planning.reasons import Loss, TooLarge, loss, too_large, why
from costlab.planning.search import Found, Space, search
from costlab.planning.software import Software, software
from costlab.planning.totals import active_parameters, model_parameters
from costlab.planning.workload import workload
from costlab.units import format_value

SCHEMA = "costlab.plan/1"
_SOFTWARE = {"A100": "megatron", "V100": "megatron", "B200": "megatron-b200"}
_ELSE = "megatron-flash"
_TOKENS_A_STEP = 4e6  # of the largest published runs, GPT-3's among them


@dataclass(frozen=True, slots=True)
class Training:
    """The best plans of a training job, the fastest first."""

    model: ModelConfig
    tokens: float
    found: Found
    software: Software
    shown: tuple[int, ...]
    capacity: float
    host_bytes_per_s: float = 0.0

    @property
    def best(self) -> Plan:
        """The fastest plan that fits."""
        return self.found.plans[self.shown[0]]

    def assumptions(self) -> tuple[str, ...]:
        """What the figures rest on that was not given."""
        soft, model, work = self.software, self.model, self.found.work
        found = [*self.found.cluster.assumptions, *model.notes]
        if model.unused:
            found.append(
                _("fields of the config that could not be used: {names}").format(
                    names=", ".join(model.unused)
                )
            )
        if 0 < model.context < work.length:
            found.append(_("the model was made for {n} tokens").format(n=model.context))
        if work.sequential_steps:
            found.append(
                _("a pipeline passes on whole sequences; each step of a recurrent layer reads "
                  "its weights from memory")
            )  # fmt: skip
        if self.host_bytes_per_s:
            found.append(
                _("gradients go to the host and weights come back at {rate}, after the arithmetic; "
                  "the host's own update is not timed").format(
                    rate=format_value(self.host_bytes_per_s, "B/s"))
            )  # fmt: skip
        found.append(
            _("time as of {title}, constants fitted on {fitted}").format(
                title=soft.title, fitted=soft.fitted
            )
        )
        return (*found, soft.errors)

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
            "why": why(found, index),
            "lost": None if index == self.shown[0] else self.loss(index).text(),
            "time_s": found.time.causes(index),
            "memory_bytes": memory,
            "memory_total_bytes": sum(memory.values()),
        }  # fmt: skip

    def loss(self, index: int) -> Loss:
        """Why a plan lost to the best."""
        return loss(self.found, index, self.shown[0])

    def too_large(self) -> TooLarge | None:
        """The plan that a little more memory would allow, where it would be faster."""
        return too_large(self.found, self.capacity)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data with the schema."""
        found, large = self.found, self.too_large()
        return {
            "schema": SCHEMA,
            "job": "train",
            "model": found.work.name,
            "parameters": model_parameters(self.model),
            "active_parameters": active_parameters(self.model),
            "length": found.work.length,
            "tokens": self.tokens,
            "device": found.cluster.profile.name,
            "gpus": found.cluster.devices,
            "capacity_bytes": self.capacity,
            "software": self.software.name,
            "tried": len(found.plans),
            "fit": len(found.order),
            "plans": [self.row(index) for index in self.shown],
            "faster_if_it_fit": large
            and {"plan": found.plans[large.index].text()} | large.to_json(),
            "assumptions": list(self.assumptions()),
        }


def plan(
    model: str | ModelConfig,
    device: str,
    gpus: int,
    *,
    tokens: float = 300e9,
    length: int | None = None,
    batch: int | None = None,
    per_node: int | None = None,
    network_bytes_per_s: float | None = None,
    link_bytes_per_s: float | None = None,
    rates: Rates | None = None,
    memory_bytes: float | None = None,
    program: str | None = None,
    host_bytes_per_s: float = 0.0,
    show: int = 5,
) -> Training:
    """The best ways to train ``model`` on ``gpus`` devices.

    Args:
        model: name of a bundled model, path of a Hugging Face config, or a model.
        device: name or path of a device profile.
        tokens: how many the training sees.
        length: sequence length n; by default 2048, or as many as the model has positions.
        batch: sequences a step; by default those of about 4 million tokens.
        memory_bytes: what a device may use; all of it by default.
        program: whose measured constants (:func:`costlab.planning.software.software`); by default
            those fitted on runs of this kind of device.
        host_bytes_per_s: rate of a device to its host, where gradients and optimizer lie in the
            host's memory; 0 keeps them on the device.
        show: how many plans to keep beside the best.

    Raises:
        InputError: if a name is unknown, or no plan is valid or fits; says what binds.
    """
    config = named(model) if isinstance(model, str) else model
    length = usual_length(config) if length is None else length
    if config.positions == "learned" and length > config.context:
        raise SizeError(
            _("the model has no positions for sequences of this length"),
            given=f"length={length}",
            allowed=_("up to {n} of {model}").format(n=config.context, model=config.name),
        )
    work = workload(config, length)
    machines: Cluster = cluster(
        load_profile(device), gpus, per_node=per_node, network_bytes_per_s=network_bytes_per_s,
        link_bytes_per_s=link_bytes_per_s, rates=rates,
    )  # fmt: skip
    soft = software(program or _SOFTWARE.get(machines.profile.name.split("-")[0], _ELSE))
    space = Space(batch or usual_batch(gpus, length), context=soft.stored_scores == 0,
                  host_bytes_per_s=host_bytes_per_s)  # fmt: skip
    if work.sequential_steps:  # sequences that are read together share the weights of each step
        space = replace(space, micro=space.batch)
    found = search(
        work, machines, soft, space, limit=memory_bytes, at=lambda n: workload(config, n)
    )
    shown = tuple(found.order[:show])
    return Training(config, tokens, found, soft, shown, memory_bytes or machines.capacity_bytes,
                    host_bytes_per_s)  # fmt: skip


def usual_batch(gpus: int, length: int) -> int:
    """Sequences of about four million tokens, a multiple of the devices' power of two."""
    sequences = max(int(_TOKENS_A_STEP // length), 1)
    base = max(gpus & -gpus, gpus if gpus <= sequences else 1)
    return max(sequences // base, 1) * base
