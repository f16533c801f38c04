"""Memory and FLOP of training beyond pretraining: LoRA, QLoRA, distillation, DPO, RLHF.

A job holds a few models in roles. Those that learn have gradients, optimizer and activations;
those that only judge have weights. Generation holds keys and values beside them. The phases of a
job follow one another, so its peak is that of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from costlab.errors import InputError, UnknownNameError
from costlab.hardware.catalogue import load_profile
from costlab.i18n import _
from costlab.planning.adapters import Adapted
from costlab.planning.bundled import named
from costlab.planning.cluster import Cluster, Rates, cluster
from costlab.planning.memory import model_states, share_of
from costlab.planning.model import ModelConfig
from costlab.planning.precision import FORMATS, Format, Precision, precision
from costlab.planning.totals import (
    flop,
    model_parameters,
    parameters,
    saved_bytes,
    state_bytes,
)
from costlab.units import format_value

JOBS = ("finetune", "lora", "qlora", "distill", "dpo", "rlhf")
_RESERVE = 1.5 * 2**30  # context, library and allocator
_MOST_DEVICES = 4097
_LOGIT = 10  # bytes of a logit: the product's two, the loss's four and its gradient's four
_SCHEMA = "costlab.plan/1"


HOST_BYTES_PER_S = 31.5e9
"""Of a device to its host, each way: PCIe 4.0 with 16 lanes."""


@dataclass(frozen=True, slots=True)
class Phase:
    """What one phase of a step needs: FLOP of all devices, bytes of one beside what stays.

    ``read_bytes`` are weights that a device reads token after token while it generates;
    ``transfer_s`` is the time of what goes to the host's memory and back.
    """

    name: str
    flop: float
    moment_bytes: float
    read_bytes: float = 0.0
    transfer_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """A job's memory of one device and its FLOP per step.

    Attributes:
        held: bytes of one device that stay, by kind.
        trained: parameters that learn.
        sequences: of one step and device (pairs of them for DPO).
        host: bytes per device that lie in the host's memory.
    """

    job: str
    model: ModelConfig
    cluster: Cluster
    held: dict[str, float]
    phases: tuple[Phase, ...]
    trained: int
    sequences: int
    length: int
    capacity: float
    advice: str = ""
    assumed: tuple[str, ...] = field(default=())
    host: float = 0.0

    @property
    def peak_bytes(self) -> float:
        """Most bytes of one device."""
        return sum(self.held.values()) + max(phase.moment_bytes for phase in self.phases)

    @property
    def flop(self) -> float:
        """FLOP of a step, all devices."""
        return sum(phase.flop for phase in self.phases)

    @property
    def fits(self) -> bool:
        """Whether the peak is within the capacity."""
        return self.peak_bytes <= self.capacity

    @property
    def binds(self) -> str:
        """The kind that weighs most."""
        kinds = self.held | {phase.name: phase.moment_bytes for phase in self.phases}
        return max(kinds, key=lambda name: kinds[name])

    @property
    def seconds(self) -> float:
        """Least time of a step at the makers' rates."""
        return sum(self.phase_s(phase) for phase in self.phases)

    def phase_s(self, phase: Phase) -> float:
        """Least time of a phase: its arithmetic, or the weights that generation reads."""
        rate = self.cluster.flop_per_s("bfloat16") * self.cluster.devices
        reading = phase.read_bytes / self.cluster.profile.bandwidth.value
        return max(phase.flop / rate, reading, phase.transfer_s)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data with the schema."""
        return {
            "schema": _SCHEMA,
            "job": self.job,
            "model": self.model.name,
            "parameters": model_parameters(self.model),
            "trained_parameters": self.trained,
            "device": self.cluster.profile.name,
            "gpus": self.cluster.devices,
            "sequences": self.sequences,
            "length": self.length,
            "held_bytes": self.held,
            "host_bytes": self.host,
            "phases": [
                {
                    "name": p.name,
                    "flop": p.flop,
                    "moment_bytes": p.moment_bytes,
                    "seconds_at_least": self.phase_s(p),
                }
                for p in self.phases
            ],
            "peak_bytes": self.peak_bytes,
            "capacity_bytes": self.capacity,
            "fits": self.fits,
            "binds": self.binds,
            "advice": self.advice,
            "step_flop": self.flop,
            "step_s_at_least": self.seconds,
            "assumptions": list(self.assumed),
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """Sizes of a tuning job.

    Attributes:
        length: tokens of a sequence; for RLHF prompt and answer together.
        micro: sequences of a device and step (pairs for DPO).
        rank, targets: of adapters; rank 0 trains every weight, where the job allows both.
        other: the second model: teacher, reward model and critic; by default the model itself.
        zero: what devices share: 0 nothing, 1 optimizer, 2 gradients too, 3 weights too.
        recompute: whether layers are computed again in backward, all of each.
        output: tokens that RLHF generates of each sequence.
        epochs: passes of RLHF's update over what was generated.
        offload: whether gradients and optimizer lie in the host's memory, where the update is
            computed (Ren et al. 2021, ZeRO-Offload, section 3); not with adapters.
        host_bytes_per_s: of a device to its host and back; PCIe 4.0 with 16 lanes by default.
    """

    length: int = 2048
    micro: int = 1
    rank: int = 0
    targets: tuple[str, ...] = ("q", "v")
    other: ModelConfig | None = None
    zero: int = 3
    recompute: bool = False
    output: int = 512
    epochs: int = 1
    offload: bool = False
    host_bytes_per_s: float = HOST_BYTES_PER_S
    formats: Precision = field(default_factory=lambda: precision("mixed"))


def tune(
    job: str,
    model: str | ModelConfig,
    device: str,
    gpus: int = 1,
    asked: Asked | None = None,
    *,
    memory_bytes: float | None = None,
    rates: Rates | None = None,
) -> Tuning:
    """What a job needs on each of ``gpus`` devices.

    Raises:
        UnknownNameError: if there is no such job.
        InputError: if it does not fit; says what binds and the smallest change that helps.
    """
    if job not in JOBS:
        raise UnknownNameError(_("job"), job, JOBS)
    config = named(model) if isinstance(model, str) else model
    machines = cluster(load_profile(device), gpus, network_bytes_per_s=1.0, link_bytes_per_s=1.0,
                       rates=rates)  # fmt: skip
    wanted = asked or Asked()
    capacity = memory_bytes or machines.capacity_bytes
    found = _priced(job, config, machines, wanted, capacity)
    if not found.fits:
        raise InputError(
            _("the job does not fit"),
            given=_("{job} of {model}: {need} of {size} a device, most of it {binds}").format(
                job=job, model=config.name, need=format_value(int(found.peak_bytes), "B"),
                size=format_value(int(capacity), "B"), binds=found.binds,
            ),
            advice=_what_helps(job, config, machines, wanted, capacity),
        )  # fmt: skip
    return found


def _what_helps(
    job: str, model: ModelConfig, machines: Cluster, asked: Asked, capacity: float
) -> str:
    """The smallest single change that makes a job fit, of those tried."""

    def fits(other: str = job, devices: Cluster = machines, **change: Any) -> bool:
        return _priced(other, model, devices, replace(asked, **change), capacity).fits

    if asked.micro > 1 and fits(micro=1):
        return _("--micro 1 fits")
    if not asked.recompute and fits(recompute=True):
        return _("--recompute fits")
    if (
        not asked.offload
        and not asked.rank
        and job in ("finetune", "distill")
        and fits(offload=True)
    ):
        return _("--offload fits")
    for count in range(machines.devices + 1, _MOST_DEVICES):
        if fits(devices=replace(machines, devices=count), zero=3):
            return _("{n} such devices with ZeRO-3 fit").format(n=count)
    for other in ("lora", "qlora"):
        if job in ("finetune", "lora") and other != job and fits(other, rank=asked.rank or 16):
            return _("--job {name} fits").format(name=other)
    length = asked.length // 2
    while length >= 1:
        if fits(length=length, output=min(asked.output, length)):
            return _("--length {n} fits").format(n=length)
        length //= 2
    for count in range(machines.devices + 1, _MOST_DEVICES):
        if fits(devices=replace(machines, devices=count), zero=3, recompute=True, micro=1):
            return _("{n} such devices with ZeRO-3, --recompute and --micro 1 fit").format(n=count)
    return _("no single change found: take a smaller model")


@dataclass(frozen=True, slots=True)
class _Learner:
    """A model that learns: states of a device, FLOP and saved bytes of b sequences."""

    states: dict[str, float]
    trained: int
    model: ModelConfig
    adapted: Adapted | None
    recompute: bool
    host: float = 0.0
    moved: float = 0.0  # bytes of gradients that go to the host, and of weights that come back

    def moment(self, b: int, n: int) -> float:
        """Activations and logits of b sequences."""
        logits = _LOGIT * b * n * self.model.vocabulary
        whole = self.adapted.saved_bytes(b, n) if self.adapted else saved_bytes(self.model, b, n)
        if self.recompute:
            # The inputs of all layers, and one layer at a time.
            return 2.0 * b * n * self.model.width * self.model.depth + max(
                whole / self.model.depth, logits
            )
        return float(whole + logits)

    def flop(self, b: int, n: int) -> float:
        """FLOP of a training step."""
        again = flop(self.model, b, n) if self.recompute else 0
        step = (
            self.adapted.step_flop(b, n) if self.adapted else flop(self.model, b, n, mode="train")
        )
        return float(step + again)


def _learner(
    model: ModelConfig, asked: Asked, devices: int, stored: Format | None, rank: int
) -> _Learner:
    number = model_parameters(model)
    if not rank:
        states = model_states(number, asked.formats, dp=devices, zero=asked.zero)
        kinds = {"weights": states.weights, "gradients": states.gradients,
                 "optimizer": states.optimizer}  # fmt: skip
        held = {name: float(size) for name, size in kinds.items()}
        if not asked.offload:
            return _Learner(held, number, model, None, asked.recompute)
        mine = share_of(number, devices) if asked.zero >= 2 else number
        moved = float(2 * asked.formats.weights.bytes(mine))  # gradients go in the weights' format
        host = held["gradients"] + held["optimizer"]
        return _Learner({"weights": held["weights"]}, number, model, None, asked.recompute, host,
                        moved)  # fmt: skip
    if asked.offload:
        raise InputError(
            _("adapters have too little to offload"),
            given=_("rank {r}").format(r=rank),
            advice=_("leave out --offload"),
        )
    adapted = Adapted(model, rank, asked.targets, keeps_inputs=stored is not None)
    states = model_states(adapted.trained, asked.formats, dp=devices, zero=asked.zero)
    base = _weights(model, stored or asked.formats.weights)
    held = {
        "weights": base / (devices if asked.zero >= 3 else 1),
        "adapters": float(states.total),
    }
    return _Learner(held, adapted.trained, model, adapted, asked.recompute)


def _frozen(model: ModelConfig, asked: Asked, devices: int) -> float:
    """Bytes on one device of a model in 16 bits that learns nothing."""
    return share_of(model_parameters(model), devices if asked.zero >= 3 else 1) * 2.0


def _weights(model: ModelConfig, stored: Format) -> float:
    """Bytes of frozen weights: the layers' products in a format, the rest in 16 bits."""
    products = sum(
        layer.count * parameters(item)
        for layer in model.layers
        for item in layer.parts
        if item.entry in ("linear", "lstm")
    )
    rest = model_parameters(model) - products
    return float(stored.bytes(products) + FORMATS["bf16"].bytes(rest))


def _priced(
    job: str, model: ModelConfig, machines: Cluster, asked: Asked, capacity: float
) -> Tuning:
    devices, b, n = machines.devices, asked.micro, asked.length
    rank = asked.rank or (16 if job in ("lora", "qlora") else 0)
    if job == "finetune":
        rank = 0
    stored = FORMATS["nf4-dq"] if job == "qlora" else None
    learner = _learner(model, asked, devices, stored, rank)
    other = asked.other or model
    judge = _frozen(other, asked, devices)
    held = dict(learner.states)
    phases = [Phase("update", devices * learner.flop(b, n), learner.moment(b, n))]
    assumed = [
        _("no fused loss: {n} bytes a logit").format(n=_LOGIT),
        _("ZeRO-{zero} over {n} devices").format(zero=asked.zero, n=devices),
    ]
    if job == "qlora":
        assumed.append(
            _("4-bit products keep their inputs, as bitsandbytes' do; measured QLoRA runs (litgpt, "
              "Llama 2 7B and 13B) need about 8 % more than this, LoRA runs 1 % more")
        )  # fmt: skip
    if job == "distill":
        held["teacher"] = judge
        logits = 2.0 * b * n * other.vocabulary
        phases.insert(0, Phase("teacher", devices * float(flop(other, b, n)), logits))
    if job == "dpo":
        # A pair is a chosen and a rejected sequence; adapters share the frozen reference.
        held["reference"] = 0.0 if rank else _frozen(model, asked, devices)
        phases = [
            Phase("reference", 2.0 * devices * flop(model, b, n), 2.0 * 2 * b * n
                  * model.vocabulary),
            Phase("update", 2 * devices * learner.flop(b, n), learner.moment(2 * b, n)),
        ]  # fmt: skip
    if job == "rlhf":
        critic = _learner(other, asked, devices, None, rank)
        held |= {
            "reference": 0.0 if rank else _frozen(model, asked, devices),
            "reward": judge,
            "critic": sum(critic.states.values()),
        }
        forward = float(flop(model, b, n))
        score = forward * 2 + 2.0 * flop(other, b, n)
        kept = float(state_bytes(model, b, n))
        gathered = _weights(model, FORMATS["bf16"]) if asked.zero >= 3 and devices > 1 else 0.0
        phases = [
            Phase("generation", devices * forward, kept + gathered,
                  asked.output * _weights(model, FORMATS["bf16"])),
            Phase("scoring", devices * score, 2.0 * b * n * model.vocabulary),
            Phase("update", asked.epochs * devices * (learner.flop(b, n) + critic.flop(b, n)),
                  learner.moment(b, n)),
        ]  # fmt: skip
        assumed.append(
            _("PPO: policy, reference, reward model and critic; scoring is a forward pass of each; "
              "policy and critic are updated one after the other")
        )  # fmt: skip
        policy = learner
        learner = _Learner(
            learner.states, learner.trained + critic.trained, model, None, asked.recompute
        )
    held["reserve"] = _RESERVE
    learners = [learner] if job != "rlhf" else [policy, critic]
    host = sum(one.host for one in learners)
    if host:
        moved = sum(one.moved for one in learners)
        phases.append(Phase("offload", 0.0, 0.0, transfer_s=moved / asked.host_bytes_per_s))
        assumed.append(
            _("gradients go to the host and weights come back at {rate}, after the arithmetic; "
              "the host's own update is not timed").format(
                rate=format_value(asked.host_bytes_per_s, "B/s"))
        )  # fmt: skip
    return Tuning(job, model, machines, held, tuple(phases), learner.trained, b, n, capacity,
                  assumed=tuple(assumed), host=host)  # fmt: skip
