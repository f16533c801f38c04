"""A model as plain data: layers made of parts, each part a derived program at sizes. No torch.

A :class:`Part` names committed formulas and the sizes to put into them, so that parameters, FLOP,
saved and state bytes of a whole model are sums of derived formulas. What the planner needs beyond
the sizes is how a part is divided (``split``, ``place``) and which of its tensors and weights are
another part's too (``saves``, ``tied``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

Place = Literal["whole", "column", "row"]
Stream = Literal["target", "source"]
KvKind = Literal["none", "full", "grouped", "multi-query", "latent", "recurrent", "hybrid"]


@dataclass(frozen=True, slots=True)
class Part:
    """A derived program at sizes, within a layer.

    Attributes:
        entry: name of the committed formulas, such as ``linear`` or ``attention_core``.
        sizes: values of its symbols without ``b`` and ``n``, sorted by name.
        options: flags of the formulas, such as ``causal``.
        name: what it is in the layer, such as ``attention.q``.
        split: sizes that tensor parallelism divides; empty if every rank holds all of it.
        place: "whole" parts (norms, residuals) run on n/tp positions with sequence parallelism;
            the input of "column" parts is saved on n/tp positions; "row" parts are inside.
        copies: how many there are with weights of their own (experts).
        active: how many of the copies a token passes through.
        expert: a routed expert, so that expert parallelism divides the copies.
        saves: False where what it saves for backward is a tensor that an earlier part saved.
        tied: its weights are another part's and are not counted again.
        window: keys that a query sees at most, itself included; 0 for all.
        rows: positions of the part per token (the heads, for a norm of each head).
        least: smallest value that dividing leaves of the split size (a key/value head).
    """

    entry: str
    sizes: tuple[tuple[str, int], ...]
    options: tuple[str, ...] = ()
    name: str = ""
    split: tuple[str, ...] = ()
    place: Place = "whole"
    copies: int = 1
    active: int = 1
    expert: bool = False
    saves: bool = True
    tied: bool = False
    window: int = 0
    rows: int = 1
    least: int = 0

    @property
    def size(self) -> dict[str, int]:
        """Values by symbol."""
        return dict(self.sizes)

    def named(self, name: str) -> Part:
        """The same part under another name."""
        return replace(self, name=name)


def part(
    entry: str,
    name: str = "",
    *,
    options: tuple[str, ...] = (),
    split: tuple[str, ...] = (),
    place: Place = "whole",
    copies: int = 1,
    active: int = 1,
    expert: bool = False,
    saves: bool = True,
    tied: bool = False,
    window: int = 0,
    rows: int = 1,
    least: int = 0,
    **sizes: int,
) -> Part:
    """A :class:`Part` whose sizes are keywords: ``part("linear", "up", d=768, f=3072)``."""
    return Part(
        entry, tuple(sorted(sizes.items())), options, name or entry, split, place, copies, active,
        expert, saves, tied, window, rows, least,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layer:
    """``count`` equal layers in a row.

    ``stream`` says which tokens pass through: the target's n, or the source's m of an encoder.
    """

    name: str
    parts: tuple[Part, ...]
    count: int = 1
    stream: Stream = "target"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model: what comes before the layers, the layers in their order, what comes after.

    ``kv_heads`` is 0 and ``heads`` 0 where there is no attention; ``head_size`` is k, which is
    not always d/h. ``context`` is the longest sequence the model was made for, 0 if nothing
    limits it. ``unused`` are fields of the file that say something about cost and could not be
    used; ``notes`` what a reader of the numbers has to know. ``source`` and ``date`` say where
    the sizes were read and when.
    """

    name: str
    family: str
    width: int
    layers: tuple[Layer, ...]
    before: tuple[Part, ...] = ()
    after: tuple[Part, ...] = ()
    vocabulary: int = 0
    tied: bool = False
    heads: int = 0
    kv_heads: int = 0
    head_size: int = 0
    inner: int = 0
    experts: int = 0
    experts_per_token: int = 0
    kv_kind: KvKind = "full"
    positions: str = ""
    context: int = 0
    causal: bool = True
    source: str = ""
    date: str = ""
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """How many layers there are, encoder and decoder together."""
        return sum(layer.count for layer in self.layers)

    def parts(self) -> Iterator[tuple[Part, int, Stream]]:
        """Every part with how often it occurs and the tokens that pass through it."""
        source = any(layer.stream == "source" for layer in self.layers)
        for item in self.before:
            yield item, 1, "source" if source and item.name.startswith("source") else "target"
        for layer in self.layers:
            for item in layer.parts:
                yield item, layer.count, layer.stream
        for item in self.after:
            yield item, 1, "source" if source and item.name.startswith("source") else "target"


_LENGTH = 2048


def usual_length(model: ModelConfig) -> int:
    """2048 tokens, or as many as a model with learned positions has."""
    return min(_LENGTH, model.context) if model.positions == "learned" else _LENGTH
