"""The model of the distributed checks: GPT-2's blocks between an embedding and a head.

The same sizes make the module and the planner's :class:`ModelConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import gpt_block
from costlab.planning.decoder import Stack
from costlab.planning.decoder import model as stack_model
from costlab.planning.model import ModelConfig


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the model and of its sequences; with ``V`` 0 it has neither embedding nor head."""

    d: int = 64
    h: int = 4
    f: int = 256
    depth: int = 4
    V: int = 509
    n: int = 32
    causal: bool = True
    experts: int = 0
    per_token: int = 0


def planned(sizes: Sizes) -> ModelConfig:
    """The model as the planner knows it."""
    stack = Stack(
        d=sizes.d, depth=sizes.depth, h=sizes.h, g=sizes.h, k=sizes.d // sizes.h, f=sizes.f,
        V=sizes.V, activation="gate" if sizes.experts else "gelu", norm="layer_norm", bias=True,
        causal=sizes.causal, experts=sizes.experts, experts_per_token=sizes.per_token,
        expert_width=sizes.f,
        positions=sizes.n if sizes.V else 0, final_norm=sizes.V > 0,
    )  # fmt: skip
    return stack_model("checked", "gpt2", stack)


class Embedding(nn.Module):
    """Rows of tokens plus rows of positions."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.tokens = nn.Embedding(sizes.V, sizes.d)
        self.positions = nn.Embedding(sizes.n, sizes.d)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.tokens(x) + self.positions.weight
        return y


class Head(nn.Module):
    """The last norm and the logits."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(sizes.d)
        self.logits = nn.Linear(sizes.d, sizes.V, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.logits(self.norm(x))
        return y


class Model(nn.Module):
    """Embedding, blocks and head; a stage of a pipeline leaves out what it does not hold."""

    def __init__(self, sizes: Sizes, blocks: range | None = None) -> None:
        super().__init__()
        held = range(sizes.depth) if blocks is None else blocks
        self.embedding = Embedding(sizes) if sizes.V and held.start == 0 else None
        config = gpt_block.Config(sizes.d, sizes.h, sizes.f)
        self.blocks = nn.ModuleList(gpt_block.Block(config) for _ in held)
        self.head = Head(sizes) if sizes.V and held.stop == sizes.depth else None
        for block in self.blocks:
            assert isinstance(block, gpt_block.Block)
            block.attention.core.causal = sizes.causal

    def forward(self, x: Tensor) -> Tensor:
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(x)


def inputs(sizes: Sizes, b: int, length: int | None = None) -> Tensor:
    """Random tokens ``[b, n]``, or random vectors ``[b, n, d]`` where nothing embeds them."""
    n = length or sizes.n
    return torch.randint(0, sizes.V, (b, n)) if sizes.V else torch.randn(b, n, sizes.d)


def loss(result: Tensor, target: Tensor) -> Tensor:
    """Mean cross-entropy of logits, or the mean square where there are none."""
    if target.is_floating_point():
        return result.square().mean()
    return nn.functional.cross_entropy(result.flatten(0, 1), target.flatten())
