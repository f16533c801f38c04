"""Activation checkpointing: decoder blocks that keep their inputs and run again for backward.

Chen et al. 2016, "Training deep nets with sublinear memory cost", section 4,
https://arxiv.org/abs/1604.06174, with one block a segment, by ``torch.utils.checkpoint``.

Shapes: b batch, n positions, d width, h heads, k = d/h, f feed-forward width, L blocks.
    x, y       [b, n, d]

Between forward and backward lives one [b, n, d] for each block; the first is the caller's own, so
that ``saved_bytes`` counts L - 1. A block that runs again stops once it has what backward needs:
at its last product's operands. So a step does 4 passes' FLOP less one such product a block.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from costlab.arch import gpt_block
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

Config = gpt_block.Config


class CheckpointedStack(gpt_block.GPTStack):
    """``L`` blocks of GPT-2, one after another; of each only the input is kept."""

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            # Nothing in a block is random: no generator's state need be kept.
            x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
        return x


def naive(module: CheckpointedStack, x: Tensor) -> Tensor:
    """Compute the same keeping everything."""
    return gpt_block.naive(module, x)


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, L: int = 4
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stack and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    config = Config(d, h, 4 * d if f is None else f, L)
    return CheckpointedStack(config), (torch.randn(b, n, d),)


SPEC = ArchitectureSpec(
    name="activation_checkpointing",
    title="Activation checkpointing of decoder blocks",
    kind="technique",
    family="training",
    paper="https://arxiv.org/abs/1604.06174",
    symbols=("b", "n", "d", "h", "f", "L"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072, "L": 4},
    modes=("forward", "train"),
    claims=(
        Claim(
            "saved_bytes",
            "layer",
            "L*b*n*d",
            "Korthikanti et al. 2022, table 2",
            mode="train",
        ),
        Claim(
            "flop",
            "core",
            "b*n**2*d",
            "Vaswani et al. 2017, section 4, table 1",
            ("b", "n", "d"),
            ("one layer",),
        ),
    ),
    gives_up="Nearly one more forward pass for every step.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
)
