"""A stack of L decoder blocks of GPT-2: LayerNorm in front, causal attention, GELU, biases.

Radford et al. 2019, "Language models are unsupervised multitask learners", section 2.3,
https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf

Shapes: b batch, n positions, d width, h heads, k = d/h, f feed-forward width, L blocks.
    x, y       [b, n, d]
    state      keys and values of each block, 2 L tensors [b, h, n, k]

L (4 d**2 + 2 d f + 9 d + f) parameters. A model adds the embeddings, a last norm and the head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import feed_forward, flash_attention, layer_norm
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

State = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """``L`` blocks of width ``d`` with ``h`` heads and inner width ``f``."""

    d: int
    h: int
    f: int
    L: int = 1

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f, L=self.L)


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        attention = flash_attention.Config(config.d, config.h, causal=True, bias=True)
        self.norm_attention = layer_norm.LayerNorm(layer_norm.Config(config.d))
        self.attention = flash_attention.FlashAttention(attention)
        self.norm_feed_forward = layer_norm.LayerNorm(layer_norm.Config(config.d))
        inner = feed_forward.Config(config.d, config.f, bias=True)
        self.feed_forward = feed_forward.FeedForward(inner)

    def forward(self, x: Tensor) -> Tensor:
        return self.finish(x + self.attention(self.norm_attention(x)))

    def finish(self, x: Tensor) -> Tensor:
        """The half after the attention."""
        y: Tensor = x + self.feed_forward(self.norm_feed_forward(x))
        return y

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping the keys and values."""
        mixed, state = self.attention.prefill(self.norm_attention(x))
        return self.finish(x + mixed), state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d]."""
        mixed, state = self.attention.step(self.norm_attention(x), (state[0], state[1]))
        return self.finish(x + mixed), state


class GPTStack(nn.Module):
    """``L`` blocks, one after another."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.L))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def prefill(self, x: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping every block's keys and values."""
        state: list[Tensor] = []
        for block in self.blocks:
            assert isinstance(block, Block)
            x, kept = block.prefill(x)
            state += kept
        return x, tuple(state)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d] through all blocks."""
        after: list[Tensor] = []
        for number, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            x, kept = block.step(x, state[2 * number : 2 * number + 2])
            after += kept
        return x, tuple(after)


def naive(module: GPTStack, x: Tensor) -> Tensor:
    """Compute the same from the naive parts."""
    for block in module.blocks:
        assert isinstance(block, Block)
        x = x + flash_attention.naive(block.attention, layer_norm.naive(block.norm_attention, x))
        x = x + feed_forward.naive(block.feed_forward, layer_norm.naive(block.norm_feed_forward, x))
    return x


def _stack(d: int, h: int, f: int | None, L: int) -> GPTStack:
    return GPTStack(Config(d, h, 4 * d if f is None else f, L))


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stack and an input ``[b, n, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    return _stack(d, h, f, L), (torch.randn(b, n, d),)


def build_prefill(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[Callable[[Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens and its input."""
    check_positive(b=b, n=n)
    return _stack(d, h, f, L).prefill, (torch.randn(b, n, d),)


def build_decode(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n)
    step = _stack(d, h, f, L).step
    state = tuple(torch.randn(b, h, n, d // h) for _ in range(2 * L))
    return step, (torch.randn(b, 1, d),), state


SPEC = ArchitectureSpec(
    name="gpt_block",
    title="GPT-2 decoder blocks",
    kind="block",
    family="transformer",
    paper="https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf",
    symbols=("b", "n", "d", "h", "f", "L"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072, "L": 1},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim(
            "flop",
            "core",
            "b*n**2*d",
            "Vaswani et al. 2017, section 4, table 1",
            ("b", "n", "d"),
            ("one layer",),
        ),
        Claim("parameters", "layer", "d**2", "Kaplan et al. 2020, table 1", ("d",), ("f = 4 d",)),
        Claim("state_bytes", "layer", "L*b*n*d", "Shazeer 2019, section 3", mode="decode"),
    ),
    gives_up="Attention is quadratic in the length, and its state grows with it.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
)
