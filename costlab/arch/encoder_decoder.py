"""L encoder and L decoder blocks, the decoder's reading the encoder's output: BART.

Lewis et al. 2019, "BART", section 2.1, https://arxiv.org/abs/1910.13461, with the blocks of Vaswani
et al. 2017, section 3.1: LayerNorm behind each part, biases, GELU.

Shapes: b batch, n positions written, m read, d width, h heads, k = d/h, f feed-forward width,
L blocks of each kind.
    x, y       [b, n, d]
    source     [b, m, d]
    state      of each decoder block its own keys and values [b, h, n, k], and the source's
               [b, h, m, k], which decoding does not change: 4 L tensors

L (12 d**2 + 4 d f + 24 d + 2 f) parameters. A model adds embeddings, norms of them and the head.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from costlab.arch import cross_attention, encoder_block, feed_forward, flash_attention, layer_norm
from costlab.arch._sizes import check_positive
from costlab.arch.spec import ArchitectureSpec, Claim

Config = encoder_block.Config
State = tuple[Tensor, ...]


class Block(nn.Module):
    """Causal attention, then attention to the source, then feed-forward, each norm(x + part)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, h = config.d, config.h
        norm = layer_norm.Config(d, config.eps)
        heads = flash_attention.Config(d, h, causal=True, bias=True)
        self.attention = flash_attention.FlashAttention(heads)
        self.norm_attention = layer_norm.LayerNorm(norm)
        self.cross = cross_attention.CrossAttention(cross_attention.Config(d, h, bias=True))
        self.norm_cross = layer_norm.LayerNorm(norm)
        self.feed_forward = feed_forward.FeedForward(feed_forward.Config(d, config.f, bias=True))
        self.norm_feed_forward = layer_norm.LayerNorm(norm)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        return self.finish(x, self.attention(x), self.cross.read(source))

    def finish(self, x: Tensor, mixed: Tensor, read: cross_attention.State) -> Tensor:
        """All that follows the block's own attention, which found ``mixed``."""
        x = self.norm_attention(x + mixed)
        x = self.norm_cross(x + self.cross.attend(x, read))
        y: Tensor = self.norm_feed_forward(x + self.feed_forward(x))
        return y

    def prefill(self, x: Tensor, source: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping both keys and values."""
        mixed, own = self.attention.prefill(x)
        read = self.cross.read(source)
        return self.finish(x, mixed, read), (*own, *read)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d]; the source is not projected again."""
        mixed, own = self.attention.step(x, (state[0], state[1]))
        read = (state[2], state[3])
        return self.finish(x, mixed, read), (*own, *read)


class EncoderDecoder(nn.Module):
    """The encoder over the source, then the decoder over what is written."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.encoder = encoder_block.EncoderStack(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.L))

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        source = self.encoder(source)
        for block in self.blocks:
            x = block(x, source)
        return x

    def prefill(self, x: Tensor, source: Tensor) -> tuple[Tensor, State]:
        """Like forward, keeping every decoder block's keys and values."""
        source = self.encoder(source)
        state: list[Tensor] = []
        for block in self.blocks:
            assert isinstance(block, Block)
            x, kept = block.prefill(x, source)
            state += kept
        return x, tuple(state)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One new token ``x`` [b, 1, d] through the decoder; the encoder does not run."""
        after: list[Tensor] = []
        for number, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            x, kept = block.step(x, state[4 * number : 4 * number + 4])
            after += kept
        return x, tuple(after)


def naive(module: EncoderDecoder, x: Tensor, source: Tensor) -> Tensor:
    """Compute the same from the naive parts."""
    source = encoder_block.naive(module.encoder, source)
    for block in module.blocks:
        assert isinstance(block, Block)
        x = layer_norm.naive(block.norm_attention, x + flash_attention.naive(block.attention, x))
        x = layer_norm.naive(block.norm_cross, x + cross_attention.naive(block.cross, x, source))
        inner = feed_forward.naive(block.feed_forward, x)
        x = layer_norm.naive(block.norm_feed_forward, x + inner)
    return x


def _stack(d: int, h: int, f: int | None, L: int) -> EncoderDecoder:
    return EncoderDecoder(Config(d, h, 4 * d if f is None else f, L, eps=1e-5))


def build(
    *, b: int, n: int, m: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the stacks and inputs ``[b, n, d]`` and ``[b, m, d]``; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n, m=m)
    return _stack(d, h, f, L), (torch.randn(b, n, d), torch.randn(b, m, d))


def build_prefill(
    *, b: int, n: int, m: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[Callable[[Tensor, Tensor], tuple[Tensor, State]], tuple[Tensor, ...]]:
    """Return the prefill of ``n`` tokens over a source of ``m``, encoded first, and its inputs."""
    check_positive(b=b, n=n, m=m)
    return _stack(d, h, f, L).prefill, (torch.randn(b, n, d), torch.randn(b, m, d))


def build_decode(
    *, b: int, n: int, m: int, d: int, h: int = 12, f: int | None = None, L: int = 1
) -> tuple[Callable[[Tensor, State], tuple[Tensor, State]], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one step after ``n`` tokens, the new token ``[b, 1, d]`` and the state."""
    check_positive(b=b, n=n, m=m)
    step = _stack(d, h, f, L).step
    state = tuple(torch.randn(b, h, length, d // h) for length in (n, n, m, m) * L)
    return step, (torch.randn(b, 1, d),), state


SPEC = ArchitectureSpec(
    name="encoder_decoder",
    title="BART encoder and decoder blocks",
    kind="block",
    family="transformer",
    paper="https://arxiv.org/abs/1910.13461",
    symbols=("b", "n", "m", "d", "h", "f", "L"),
    defaults={"b": 1, "n": 1024, "m": 1024, "d": 768, "h": 12, "f": 3072, "L": 1},
    modes=("forward", "train", "prefill", "decode"),
    claims=(
        Claim(
            "flop",
            "core",
            "b*n**2*d + b*m**2*d + b*m*n*d",
            "Vaswani et al. 2017, section 3.2.3",
            ("b", "n", "m", "d"),
            ("one layer",),
        ),
        Claim(
            "state_bytes", "layer", "L*b*n*d + L*b*m*d", "Shazeer 2019, section 3", mode="decode"
        ),
    ),
    gives_up="Two stacks of weights, of which a token written uses one and a half.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
)
