"""A stack of attention and feed-forward layers as a :class:`ModelConfig`, from its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from costlab.errors import SizeError
from costlab.i18n import _
from costlab.planning import blocks
from costlab.planning.model import KvKind, Layer, ModelConfig, Part, part


@dataclass(frozen=True, slots=True)
class Stack:
    """Sizes of a decoder (or of an encoder alone) whose layers differ in little.

    ``norms`` is how many norms of the width a layer has; ``windows`` the window of each layer (0:
    all keys), repeated over the depth; ``dense_layers`` the first layers that have no experts and
    ``expert_every``/``expert_offset`` which of the others have them. ``positions`` are the rows of
    a learned table, ``segments`` those of token types.
    """

    d: int
    depth: int
    h: int
    g: int
    k: int
    f: int
    V: int
    activation: str = "gate"
    norm: str = "rms_norm"
    norms: int = 2
    bias: bool = False
    attention_bias: bool | None = None
    out_bias: bool | None = None
    head_norm: str = ""
    head_bias: bool = False
    tied: bool = False
    causal: bool = True
    positions: int = 0
    segments: int = 0
    embedding_norm: bool = False
    final_norm: bool = True
    pooler: bool = False
    with_head: bool = True
    windows: tuple[int, ...] = (0,)
    experts: int = 0
    experts_per_token: int = 0
    expert_width: int = 0
    shared_width: int = 0
    dense_layers: int = 0
    expert_every: int = 1
    expert_offset: int = 0
    fused: bool = True
    dropout: bool = False
    extra: tuple[Part, ...] = ()
    latent: tuple[tuple[str, int], ...] = field(default=())

    def __post_init__(self) -> None:
        sizes = {"d": self.d, "layers": self.depth, "heads": self.h, "f": self.f}
        for name, number in sizes.items():
            if number < 1:
                raise SizeError(_("a size of the model is not positive"), given=f"{name}={number}")
        if self.g < 1 or self.h % self.g:
            raise SizeError(
                _("key/value heads do not divide the heads"),
                given=f"heads={self.h}, kv_heads={self.g}",
                allowed=_("a divisor of the heads"),
            )
        if self.experts and not 0 < self.experts_per_token <= self.experts:
            raise SizeError(
                _("more experts per token than there are"),
                given=f"experts={self.experts}, experts_per_token={self.experts_per_token}",
                allowed=f"1 to {self.experts}",
            )


def layers(stack: Stack) -> tuple[Layer, ...]:
    """Layers of a stack; equal ones are counted together, in the order of their first."""
    found: dict[tuple[Part, ...], tuple[str, int]] = {}
    for index in range(stack.depth):
        routed = (
            stack.experts > 0
            and index >= stack.dense_layers
            and index % stack.expert_every == stack.expert_offset
        )
        parts = layer(stack, stack.windows[index % len(stack.windows)], routed)
        name, count = found.get(parts, (_name(stack, index, routed), 0))
        found[parts] = (name, count + 1)
    return tuple(Layer(name, parts, count) for parts, (name, count) in found.items())


def _name(stack: Stack, index: int, routed: bool) -> str:
    window = stack.windows[index % len(stack.windows)]
    kind = "experts" if routed else "dense"
    return f"{kind}, window {window}" if window else kind


def layer(stack: Stack, window: int, routed: bool) -> tuple[Part, ...]:
    """One layer's parts: norms, attention, feed-forward or experts, two residual sums."""
    d = stack.d
    bias = stack.bias if stack.attention_bias is None else stack.attention_bias
    if stack.latent:
        latent: dict[str, Any] = dict(stack.latent)
        mixing = blocks.latent_attention(d, stack.h, **latent)
    else:
        mixing = blocks.attention(
            d, stack.h, stack.g, stack.k, causal=stack.causal, bias=bias, window=window,
            out_bias=stack.out_bias, head_norm=stack.head_norm, fused=stack.fused,
        )  # fmt: skip
    if routed:
        inner = blocks.experts(
            d, stack.expert_width, stack.experts, stack.experts_per_token, stack.activation,
            shared=stack.shared_width,
        )  # fmt: skip
    else:
        inner = blocks.feed_forward(d, stack.f, stack.activation, bias=stack.bias)
    norms = [blocks.norm(stack.norm, f"norm_{i + 1}", d) for i in range(stack.norms)]
    drops = [part("dropout", f"dropout_{i + 1}", d=d) for i in range(2 if stack.dropout else 0)]
    sums = [part("residual", f"residual_{i + 1}", d=d) for i in range(2)]
    return (*norms, *mixing, *stack.extra, *inner, *drops, *sums)


def before(stack: Stack) -> tuple[Part, ...]:
    """Token rows, positions, segments, and a norm of their sum."""
    found = [blocks.embedding("embedding", stack.V, stack.d)] if stack.V else []
    if stack.positions:
        found.append(blocks.table("positions", stack.positions, stack.d))
    if stack.segments:
        found.append(blocks.table("segments", stack.segments, stack.d))
    if stack.embedding_norm:
        found.append(blocks.norm(stack.norm, "embedding_norm", stack.d))
    return tuple(found)


def after(stack: Stack) -> tuple[Part, ...]:
    """The last norm, and the head or the pooler."""
    found = []
    if stack.final_norm:
        found.append(blocks.norm(stack.norm, "final_norm", stack.d))
    if stack.pooler:
        found.append(blocks.whole_linear("pooler", stack.d, stack.d, bias=True))
    elif stack.with_head and stack.V:
        found.append(blocks.head(stack.V, stack.d, tied=stack.tied, bias=stack.head_bias))
    return tuple(found)


def kv_kind(h: int, g: int, latent: Sequence[object] = ()) -> KvKind:
    """What a token leaves behind."""
    if latent:
        return "latent"
    if g == h:
        return "full"
    return "multi-query" if g == 1 else "grouped"


def model(name: str, family: str, stack: Stack, **about: Any) -> ModelConfig:
    """The whole model of a stack; ``about`` are further fields of :class:`ModelConfig`."""
    fields: dict[str, Any] = {
        "kv_kind": kv_kind(stack.h, stack.g, stack.latent),
        "positions": "learned" if stack.positions else "rotary",
        "context": stack.positions,
        **about,
    }
    return ModelConfig(
        name=name, family=family, width=stack.d, layers=layers(stack), before=before(stack),
        after=after(stack), vocabulary=stack.V, tied=stack.tied, heads=stack.h,
        kv_heads=stack.g, head_size=stack.k, inner=stack.f, experts=stack.experts,
        experts_per_token=stack.experts_per_token, causal=stack.causal,
        **fields,
    )  # fmt: skip
