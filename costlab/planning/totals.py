"""Parameters, FLOP, saved and state bytes of a model: sums of derived formulas over its parts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from costlab.formulas.evaluate import evaluate
from costlab.planning.formulas import expression
from costlab.planning.model import ModelConfig, Part
from costlab.planning.precision import FORMATS, Format

DERIVED_BITS = 16
"""Bits of an activation in the committed formulas."""

_STATES = {
    "attention_core": ("attention_core", ("g", "j", "k")),
    "cross_attention_core": ("attention_core", ("g", "j", "k")),
    "written_attention_core": ("attention_core", ("g", "j", "k")),
    "latent_core": ("latent_core", ("h", "c", "r")),
    "short_convolution": ("short_convolution", ("f", "w")),
    "state_space": ("state_space", ("f", "s")),
    "lstm": ("lstm", ("d",)),
}


def parameters(item: Part) -> int:
    """Weights of a part, all copies; 0 if they are another part's."""
    if item.tied:
        return 0
    formula = expression(item.entry, "parameters", "train", item.options)
    return item.copies * int(evaluate(formula, item.size))


def model_parameters(model: ModelConfig) -> int:
    """Weights of the whole model, shared ones once."""
    return sum(count * parameters(item) for item, count, _stream in model.parts())


def active_parameters(model: ModelConfig) -> int:
    """Weights that one token passes through: of the routed experts only the chosen ones."""
    return sum(
        count * parameters(item) * item.active // item.copies
        for item, count, _stream in model.parts()
    )


@lru_cache(maxsize=65536)
def value(item: Part, quantity: str, mode: str, b: int, n: int, m: int = 0) -> int:
    """A quantity of one part at b sequences of n positions (m keys where it has a source).

    Every copy that a token passes is counted; what is windowed sees at most the window's keys.
    """
    keys = min(item.window, n) if item.window else m
    sizes = {"m": keys or n, "b": b, "n": n * item.rows, **item.size}
    found = int(evaluate(expression(item.entry, quantity, mode, item.options), sizes))
    if item.window and quantity == "flop_useful":
        found = found * kept_pairs(n, keys) // (n * keys)
    return item.active * found


def kept_pairs(n: int, window: int) -> int:
    """Pairs of a causal window: query i sees itself and at most ``window`` - 1 before it.

    >>> kept_pairs(4, 2), kept_pairs(4, 4)
    (7, 10)
    """
    return n * window - window * (window - 1) // 2


def flop(
    model: ModelConfig,
    b: int,
    n: int,
    *,
    m: int = 0,
    mode: str = "forward",
    quantity: str = "flop_matmul",
) -> int:
    """FLOP of a pass over b sequences of n tokens (and m of the source).

    ``mode`` "train" is forward and backward. ``quantity`` "flop_matmul" counts the products as
    called, "flop_useful" only what a causal mask keeps, "flop" elementwise work too.
    """
    return sum(
        count * value(item, quantity, mode, b, *_lengths(stream, n, m))
        for item, count, stream in model.parts()
    )


def saved_bytes(model: ModelConfig, b: int, n: int, *, m: int = 0) -> int:
    """Bytes kept for backward in bfloat16, of all layers, on one device."""
    return sum(
        count * value(item, "saved_bytes", "train", b, *_lengths(stream, n, m))
        for item, count, stream in model.parts()
        if item.saves
    )


def _lengths(stream: str, n: int, m: int) -> tuple[int, int]:
    return (m or n, 0) if stream == "source" else (n, m)


def states(model: ModelConfig) -> Iterator[tuple[Part, int]]:
    """Parts that carry a state from token to token, with how often each occurs.

    None in an encoder alone: it sees all tokens at once and generates none.
    """
    if not model.causal:
        return
    for item, count, stream in model.parts():
        if stream == "target" and item.entry in _STATES:
            yield item, count


def state_elements(model: ModelConfig, context: int, *, m: int = 0) -> int:
    """Numbers that one sequence of ``context`` tokens leaves behind: keys, values, states."""
    return sum(count * _state(item, context, m) for item, count in states(model))


def kv_elements(model: ModelConfig, context: int, *, m: int = 0) -> int:
    """Those of :func:`state_elements` that grow with the context, keys and values."""
    return state_elements(model, context, m=m) - sum(
        count * _state(item, 0, m) for item, count in states(model)
    )


def _state(item: Part, context: int, m: int) -> int:
    entry, names = _STATES[item.entry]
    kept = min(context, item.window) if item.window else context
    if item.entry == "cross_attention_core" and not item.window:
        kept = m
    sizes = {"b": 1, "n": kept, **{name: item.size[name] for name in names if name in item.size}}
    return int(evaluate(expression(entry, "state_bytes", "decode"), sizes)) * 8 // DERIVED_BITS


def state_bytes(
    model: ModelConfig, b: int, context: int, *, m: int = 0, kept_in: Format = FORMATS["bf16"]
) -> Fraction:
    """Bytes of KV cache and recurrent state of ``b`` sequences, as numbers of a format."""
    return kept_in.bytes(b * state_elements(model, context, m=m))
