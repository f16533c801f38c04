"""What the Plan page asks for, as it was typed."""

from __future__ import annotations

from dataclasses import dataclass

TRAIN, SERVE = "train", "serve"
JOBS = (TRAIN, SERVE, "finetune", "lora", "qlora", "distill", "dpo", "rlhf")

VIEWS = ("memory", "time", "pareto", "gpus", "n", "b")
"""Pictures of a plan."""


@dataclass(frozen=True, slots=True)
class ToPlan:
    """The fields are the options of ``costlab plan``, with their texts; "" takes its default."""

    model: str = "gpt3-175b"
    job: str = TRAIN
    device: str = "A100-80G-SXM"
    gpus: str = "1024"
    length: str = ""
    batch: str = ""
    tokens: str = ""
    software: str = ""
    prompt: str = ""
    output: str = ""
    weights: str = ""
    kv: str = ""
    tpot: str = ""
    ttft: str = ""
    chunk: str = ""
    micro: str = ""
    rank: str = ""
    targets: str = ""
    answer: str = ""
    other: str = ""
    zero: str = ""
    recompute: bool = False
    offload: bool = False
    per_node: str = ""
    link: str = ""
    network: str = ""
    memory: str = ""
    price: str = ""
    carbon: str = ""
