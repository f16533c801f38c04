"""How the fields of a plan are asked for, and the command that asks the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from costlab.i18n import _
from costlab.planning.precision import FORMATS
from costlab.planning.software import software_names
from costlab_gui.model.to_plan import SERVE, TRAIN, ToPlan

SHOWN = 12
"""Plans of a training job that are listed."""

TEXT, SIZE, CHOICE, FLAG = "text", "size", "choice", "flag"


@dataclass(frozen=True, slots=True)
class Field:
    """How one field is asked for.

    Attributes:
        name: of :class:`ToPlan`.
        title: beside the control.
        hint: its tool tip.
        kind: "text", "size" (a slider), "choice" or "flag".
        usual: what stands in where the text is empty; "" where the answer tells.
        choices: of a choice; the first is the default.
        low, high: ends of a slider.
    """

    name: str
    title: str
    hint: str = ""
    kind: str = TEXT
    usual: str = ""
    choices: tuple[str, ...] = ()
    low: int = 1
    high: int = 1

    @property
    def option(self) -> str:
        """The option of the command."""
        return "--" + self.name.replace("_", "-")


_OPTIONAL = ("", *FORMATS)
_ALL = (
    Field("gpus", _("GPUs"), _("devices of the cluster"), SIZE, "8", low=1, high=16_384),
    Field("per_node", _("per node"), _("devices that share a node")),
    Field("link", _("link"), _("between devices of a node, one way: 300GB/s")),
    Field("network", _("network"), _("of a device to other nodes: 400Gb/s")),
    Field("memory", _("memory"), _("that a device may use: 70GiB")),
    Field("length", "n", _("tokens of a sequence"), SIZE, low=64, high=1_048_576),
    Field("batch", "b", _("sequences of a step"), SIZE, low=1, high=65_536),
    Field("tokens", _("tokens"), _("of the training: 300B"), usual="300B"),
    Field("software", _("software"), _("whose measured constants are taken"), CHOICE,
          choices=("", *software_names())),
    Field("prompt", _("prompt"), _("tokens of a prompt"), SIZE, "1024", low=1, high=1_048_576),
    Field("output", _("output"), _("tokens of an answer"), SIZE, "256", low=1, high=65_536),
    Field("weights", _("weights"), _("format of the layers' matrices"), CHOICE, choices=_OPTIONAL),
    Field("kv", _("KV cache"), _("format of keys, values and states"), CHOICE, choices=_OPTIONAL),
    Field("tpot", "TPOT ≤", _("longest time of a token: 100ms"), usual=_("no limit")),
    Field("ttft", "TTFT ≤", _("longest time to the first token: 1s"), usual=_("no limit")),
    Field("chunk", _("chunk"), _("tokens of a prompt that go through with each decode step"),
          usual=_("whole prompt")),
    Field("micro", "b", _("sequences of a device and pass"), SIZE, "1", low=1, high=1024),
    Field("rank", _("rank"), _("of the adapters; none: every weight learns")),
    Field("targets", _("targets"), _("matrices that get adapters"), CHOICE, "q,v", ("", "q,v",
          "all")),
    Field("answer", _("answer"), _("tokens that RLHF generates"), SIZE, "512", low=1,
          high=65_536),
    Field("other", _("second model"), _("teacher; reward model and critic"),
          usual=_("the same model")),
    Field("zero", "ZeRO", _("what devices share: 1 optimizer, 2 gradients too, 3 weights too"),
          CHOICE, "3", ("", "0", "1", "2", "3")),
    Field("recompute", _("recompute layers"), _("compute layers again in backward"), FLAG),
    Field("offload", _("offload"), _("gradients and optimizer in the host's memory"), FLAG),
    Field("price", _("price"), _("of a device hour, in EUR: 2.50"), usual=_("not given")),
    Field("carbon", _("carbon"), _("grams of CO2 of a kWh: 300"), usual=_("not given")),
)  # fmt: skip
FIELDS: Mapping[str, Field] = MappingProxyType({field.name: field for field in _ALL})
"""Every field but model, job and device."""

_TRAINING = ("length", "batch", "tokens", "software")
_SERVING = ("prompt", "output", "weights", "kv", "tpot", "ttft", "chunk")
_TUNING = ("length", "micro", "zero", "recompute")
_WORK: Mapping[str, tuple[str, ...]] = MappingProxyType({
    TRAIN: _TRAINING,
    SERVE: _SERVING,
    "finetune": (*_TUNING, "offload"),
    "lora": (*_TUNING, "rank", "targets"),
    "qlora": (*_TUNING, "rank", "targets"),
    "distill": (*_TUNING, "other", "offload"),
    "dpo": (*_TUNING, "rank"),
    "rlhf": (*_TUNING, "answer", "other", "rank"),
})  # fmt: skip
_CLUSTER: Mapping[str, tuple[str, ...]] = MappingProxyType({
    TRAIN: ("gpus", "per_node", "link", "network", "memory"),
    SERVE: ("gpus", "per_node", "link", "memory"),
})  # fmt: skip


def work_fields(job: str) -> tuple[str, ...]:
    """What is asked about the job itself."""
    return _WORK[job]


def cluster_fields(job: str) -> tuple[str, ...]:
    """What is asked about the machines."""
    return _CLUSTER.get(job, ("gpus", "memory"))


def price_fields(job: str) -> tuple[str, ...]:
    """What is asked about money and carbon."""
    return {TRAIN: ("price", "carbon"), SERVE: ("price",)}.get(job, ())


def job_title(job: str) -> str:
    """What people call a job."""
    return {
        TRAIN: _("Pretrain"), SERVE: _("Serve"), "finetune": _("Fine-tune"), "lora": "LoRA",
        "qlora": "QLoRA", "distill": _("Distill"), "dpo": "DPO", "rlhf": "RLHF",
    }[job]  # fmt: skip


def command_line(wish: ToPlan, clusters: str = "") -> str:
    """The ``costlab plan`` command that computes the same, as one line for a shell.

    Args:
        clusters: machines that are compared instead of those of the wish, as ``--gpus`` has them.
    """
    words = ["costlab", "plan", wish.model, "--gpus", clusters or f"{wish.gpus}x{wish.device}"]
    if wish.job != TRAIN:
        words += ["--job", wish.job]
    elif not clusters:
        words += ["--show", str(SHOWN)]
    asked = (*work_fields(wish.job), *cluster_fields(wish.job), *price_fields(wish.job))
    for name in asked:
        value = getattr(wish, name)
        if name == "gpus" or not value:
            continue
        words += [FIELDS[name].option] + ([] if value is True else [value.strip()])
    return shlex.join(words)
