"""One line per entry of the catalogue: what it must come to, from elsewhere than its code.

``flop`` is the matrix FLOP of ``forward`` and ``parameters`` their number, from the paper, another
implementation or by counting by hand; both take the sizes and options that they name. What else
is tested of an entry is generic, in ``test_catalogue.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from costlab.arch import registry

Count = Callable[..., int]
# fmt: off
SIZES: tuple[Mapping[str, int], ...] = (
    {"b": 2, "n": 7, "m": 5, "d": 6, "h": 3, "g": 1, "k": 3, "f": 5, "L": 2, "V": 11, "w": 3,
     "c": 2, "R": 2, "r": 2, "s": 3, "e": 4, "t": 2, "G": 1, "p": 3, "q": 4, "E": 17},
    {"b": 3, "n": 11, "m": 4, "d": 10, "h": 2, "g": 2, "k": 4, "f": 13, "L": 1, "V": 7, "w": 4,
     "c": 3, "R": 3, "r": 1, "s": 2, "e": 3, "t": 1, "G": 2, "p": 2, "q": 5, "E": 9},
    {"b": 1, "n": 12, "m": 9, "d": 12, "h": 3, "g": 3, "k": 5, "f": 7, "L": 3, "V": 19, "w": 4,
     "c": 4, "R": 1, "r": 3, "s": 1, "e": 5, "t": 3, "G": 3, "p": 1, "q": 7, "E": 30},
    {"b": 2, "n": 1, "m": 3, "d": 5, "h": 1, "g": 1, "k": 2, "f": 3, "L": 1, "V": 5, "w": 2,
     "c": 3, "R": 1, "r": 1, "s": 2, "e": 2, "t": 1, "G": 1, "p": 5, "q": 2, "E": 3},
    {"b": 2, "n": 4, "m": 7, "d": 8, "h": 4, "g": 2, "k": 2, "f": 3, "L": 1, "V": 6, "w": 6,
     "c": 5, "R": 2, "r": 2, "s": 4, "e": 4, "t": 4, "G": 1, "p": 4, "q": 3, "E": 13},
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Entry:
    """``sizes`` replace some of the generic ones; ``square`` if a tensor holds n x n scores.

    ``device`` is where torch counts the FLOP: "cpu" for modules that cannot run on "meta".
    """

    name: str
    flop: Count
    parameters: Count
    sizes: Mapping[str, int] = field(default_factory=dict)
    square: bool = False
    device: str = "meta"


def sizes_of(entry: Entry, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that the entry's factories take, its own before the given ones."""
    return {s: {**sizes, **entry.sizes}[s] for s in registry.spec(entry.name).symbols}


def _blocks(n: int, size: int) -> int:
    return -(-n // size) * size


def _attention(b: int, n: int, d: int) -> int:
    return 8 * b * n * d**2 + 4 * b * n**2 * d


def _grouped(b: int, n: int, d: int, h: int, g: int, k: int) -> int:
    return 4 * b * n * d * k * (h + g) + 4 * b * n**2 * h * k


def _latent(b: int, n: int, d: int, h: int, k: int, p: int, q: int, r: int) -> int:
    """The paper's, and the p channels of zeros beside the values."""
    maps = d * q + q * h * (k + p) + d * (r + p) + r * h * 2 * k + h * k * d
    return 2 * b * n * maps + 2 * b * h * n**2 * (k + p + k) + 2 * b * h * n**2 * p


def _latent_maps(d: int, h: int, k: int, p: int, q: int, r: int) -> int:
    return d * (q + r + p) + q + r + q * h * (k + p) + r * h * 2 * k + h * k * d


def _global(b: int, n: int, d: int, w: int, G: int) -> int:
    core = 4 * b * d * (_blocks(n, w) * (3 * w + G) + n * G)
    return 12 * b * n * d**2 + 2 * b * G * d**2 + core


def _ring(b: int, n: int, d: int, c: int, r: int, G: int) -> int:
    return 8 * b * n * d**2 + 4 * b * d * (_blocks(n, c) * (3 * c + r * c + G) + n * G)


def _selective(b: int, n: int, d: int, s: int, r: int) -> int:
    return 2 * b * n * 2 * d * (3 * d + r + 2 * s + r + s + 4)


def _delta(b: int, n: int, d: int, h: int, k: int, c: int) -> int:
    """The paper's, without what solving the systems takes, which torch does not count."""
    maps = 2 * b * n * (d * (5 * h * k + 2 * h) + 12 * h * k)
    return maps + b * h * _blocks(n, c) * k * (6 * c + 6 * k)


def _dual(b: int, n: int, d: int, h: int, s: int, c: int) -> int:
    mixer = 2 * b * n * (d * (6 * d + 2 * s + h) + 4 * (2 * d + 2 * s))
    return mixer + 2 * b * _blocks(n, c) * (c * s + c * 2 * d + 2 * 2 * d * s)


def _taps(w: int, causal: bool) -> int:
    return w if causal else 2 * w + 1


def _window(b: int, n: int, d: int, w: int, causal: bool) -> int:
    return 8 * b * n * d**2 + 4 * b * d * _blocks(n, w) * (2 if causal else 3) * w


def _sinks(b: int, n: int, d: int, w: int, G: int) -> int:
    return 8 * b * n * d**2 + 4 * b * d * _blocks(n, w) * (2 * w + min(G, n))


def _retention(b: int, n: int, d: int, h: int, k: int, c: int) -> int:
    return 16 * b * n * d * h * k + b * h * _blocks(n, c) * (6 * c * k + 8 * k**2)


def _dilated(b: int, n: int, d: int, w: int, c: int, causal: bool) -> int:
    return 8 * b * n * d**2 + 4 * b * d * _blocks(n, c) * (2 if causal else 3) * w


def _linear(b: int, n: int, d: int, h: int, c: int, causal: bool) -> int:
    core = _blocks(n, c) * (c + d // h) if causal else n * (d // h)
    return 8 * b * n * d**2 + 4 * b * d * core


def _features(b: int, n: int, d: int, h: int, r: int, c: int, causal: bool) -> int:
    """Features of queries and keys, then sums over keys, of chunks and within them."""
    pairs = _blocks(n, c) * (4 * d * r + 2 * c * (h * r + d)) if causal else 4 * n * d * r
    return 8 * b * n * d**2 + 4 * b * n * d * r + b * pairs


def _hashed(b: int, n: int, d: int, c: int, R: int, r: int) -> int:
    return 6 * b * n * d**2 + 2 * b * n * d * R * r + 8 * b * _blocks(n, c) * d * R * c


def _block(b: int, n: int, d: int, f: int, L: int) -> int:
    return L * (_attention(b, n, d) + 4 * b * n * d * f)


def _two_stacks(b: int, n: int, m: int, d: int, f: int, L: int) -> int:
    across = 4 * b * (n + m) * d**2 + 4 * b * n * m * d
    return _block(b, m, d, f, L) + _block(b, n, d, f, L) + L * across


def _adapted(b: int, n: int, d: int, f: int, r: int) -> int:
    return 2 * b * n * (d * f + r * (d + f))


def _gpt_weights(d: int, f: int, L: int) -> int:
    return L * (4 * d**2 + 2 * d * f + 9 * d + f)


def _pruned_weights(d: int, h: int, k: int, f: int) -> int:
    """A whole block's of d wide heads, less what the heads and units had that are gone."""
    heads_gone, units_gone = d - h * k, 4 * d - f
    return _gpt_weights(d, 4 * d, 1) - heads_gone * (4 * d + 3) - units_gone * (2 * d + 1)


def _llama(b: int, n: int, d: int, h: int, g: int, k: int, f: int, L: int) -> int:
    return L * (_grouped(b, n, d, h, g, k) + 6 * b * n * d * f)


def _llama_weights(d: int, h: int, g: int, k: int, f: int, L: int) -> int:
    return L * (2 * d * k * (h + g) + 3 * d * f + 2 * d)


def _affine(maps: int) -> Count:
    """Parameters of ``maps`` maps of input and state, each with a bias, as torch's layers have."""
    return lambda d: maps * (2 * d**2 + 2 * d)


# fmt: off
ENTRIES = (
    Entry("activation_checkpointing", _block, _gpt_weights),
    Entry("alibi", lambda: 0, lambda: 0, square=True),
    Entry("attention_sinks", _sinks, lambda d: 4 * d**2, sizes={"G": 2}),
    Entry("bidirectional_gru", lambda b, n, d: 24 * b * n * d**2, lambda d: 2 * _affine(3)(d)),
    Entry("bidirectional_lstm", lambda b, n, d: 32 * b * n * d**2, lambda d: 2 * _affine(4)(d)),
    Entry("bigbird", _ring, lambda d: 4 * d**2),
    Entry("convolution", lambda b, n, d, w, causal: 2 * b * n * d**2 * _taps(w, causal),
          lambda d, w, causal: d**2 * _taps(w, causal)),
    Entry("cross_attention", lambda b, n, m, d: 4 * b * (n + m) * d**2 + 4 * b * n * m * d,
          lambda d: 4 * d**2),
    Entry("cross_entropy", lambda: 0, lambda: 0),
    Entry("dilated_window", _dilated, lambda d: 4 * d**2, sizes={"w": 2, "c": 6}),
    Entry("distillation", lambda b, n, d, f, V, L: (
        _block(b, n, d, f, L + 1) + 2 * 2 * b * n * d * V),
        lambda d, f, V, L: _gpt_weights(d, f, L + 1) + 2 * d * V),
    Entry("embedding", lambda: 0, lambda d, V: V * d),
    Entry("encoder_block", _block, _gpt_weights),
    Entry("encoder_decoder", _two_stacks, lambda d, f, L: (
        2 * _gpt_weights(d, f, L) + L * (4 * d**2 + 6 * d))),
    Entry("feed_forward", lambda b, n, d, f: 4 * b * n * d * f, lambda d, f: 2 * d * f),
    Entry("flash_attention", _attention, lambda d: 4 * d**2),
    Entry("full_attention", _attention, lambda d: 4 * d**2, square=True),
    Entry("gated_deltanet", _delta, lambda d, h, k: (
        d * (5 * h * k + 2 * h) + 12 * h * k + 2 * h + k)),
    Entry("gated_feed_forward", lambda b, n, d, f: 6 * b * n * d * f, lambda d, f: 3 * d * f),
    Entry("gpt_block", _block, _gpt_weights),
    Entry("gqa_attention", _grouped, lambda d, h, g, k: 2 * d * k * (h + g)),
    Entry("gradient_accumulation", lambda b, n, d, f, V, a: (
        a * (_block(b, n, d, f, 1) + 2 * b * n * d * V)),
        lambda d, f, V: _gpt_weights(d, f, 1) + d * V, sizes={"a": 3}),
    Entry("graph_transformer", lambda b, n, d, f, r: (
        8 * b * n * d**2 + 4 * b * n * d * f + 2 * n * r * d),
        lambda d, f, r: 4 * d**2 + 2 * d * f + r * d + 6 * d + f),
    Entry("gru", lambda b, n, d: 12 * b * n * d**2, _affine(3)),
    Entry("gru_2014", lambda b, n, d: 12 * b * n * d**2, lambda d: 6 * d**2 + 3 * d),
    Entry("gru_cell_loop", lambda b, n, d: 12 * b * n * d**2, _affine(3)),
    Entry("hybrid_block", lambda b, n, d, h, g, k, f, s, r: (
        _selective(b, n, d, s, r) + _grouped(b, n, d, h, g, k) + 12 * b * n * d * f),
        lambda d, h, g, k, f, s, r: (
            6 * d**2 + 2 * d * (7 + 2 * r + 3 * s) + 2 * d * k * (h + g) + 6 * d * f + 4 * d)),
    Entry("hyena", lambda b, n, d, f, r: (
        8 * b * n * d**2 + 18 * b * n * d + 2 * n * f * (2 * r + 1 + f + d)),
        lambda d, f, r: 4 * d**2 + 14 * d + f * (2 * r + 1 + f + d + 3)),
    Entry("int8_cache_attention", _grouped, lambda d, h, g, k: 2 * d * k * (h + g),
          sizes={"k": 4, "c": 2}),
    Entry("latent_attention", _latent, _latent_maps),
    Entry("layer_norm", lambda: 0, lambda d: 2 * d),
    Entry("learned_positions", lambda: 0, lambda n, d: n * d),
    Entry("linear_attention", _linear, lambda d: 4 * d**2),
    Entry("linformer", lambda b, n, d, r: 8 * b * n * d**2 + 8 * b * n * r * d,
          lambda n, d, r: 4 * d**2 + 2 * n * r),
    Entry("llama_block", _llama, _llama_weights, sizes={"k": 4}),
    Entry("longformer", _global, lambda d: 7 * d**2),
    Entry("lora", _adapted, lambda d, f, r: d * f + r * (d + f)),
    Entry("low_rank_linear", lambda b, n, d, f, r: 2 * b * n * r * (d + f),
          lambda d, f, r: r * (d + f)),
    Entry("lsh_attention", _hashed, lambda d: 3 * d**2),
    Entry("lstm", lambda b, n, d: 16 * b * n * d**2, _affine(4)),
    Entry("lstm_1997", lambda b, n, d: 12 * b * n * d**2, lambda d: 6 * d**2 + 3 * d),
    Entry("lstm_cell_loop", lambda b, n, d: 16 * b * n * d**2, _affine(4)),
    Entry("mamba", _selective, lambda d, s, r: 6 * d**2 + 2 * d * (5 + 2 * r + 3 * s + 2)),
    Entry("mamba2", _dual, lambda d, h, s: (
        d * (4 * d + 2 * s + h) + 5 * (2 * d + 2 * s) + 3 * h + 2 * d + 2 * d**2)),
    Entry("mixed_precision", lambda b, n, d, f: _block(b, n, d, f, 1),
          lambda d, f: _gpt_weights(d, f, 1)),
    Entry("mixture_of_experts", lambda b, n, d, f, e, t, shared: (
        2 * b * n * d * e + 6 * b * n * d * f * (t + shared)),
        lambda d, f, e, shared: d * e + 3 * d * f * (e + shared)),
    Entry("output_head", lambda b, n, d, V: 2 * b * n * d * V,
          lambda d, V, tied: 0 if tied else V * d),
    Entry("parallel_block", lambda b, n, d, h, k, f: _llama(b, n, d, h, 1, k, f, 1),
          lambda d, h, k, f: 2 * d * k * (h + 1) + 3 * d * f + d, sizes={"k": 4}),
    Entry("performer", _features, lambda d: 4 * d**2),
    Entry("qlora", _adapted, lambda d, f, r: r * (d + f), sizes={"u": 2}),
    Entry("quantised_linear", lambda b, n, d, f: 2 * b * n * d * f, lambda: 0, sizes={"u": 2}),
    Entry("retnet", _retention, lambda d, h, k: 8 * d * h * k, sizes={"k": 4}),
    Entry("reversible", _block, _gpt_weights),
    Entry("rms_norm", lambda: 0, lambda d: d),
    Entry("rnn", lambda b, n, d: 4 * b * n * d**2, _affine(1)),
    Entry("rnn_cell_loop", lambda b, n, d: 4 * b * n * d**2, _affine(1)),
    Entry("rope", lambda: 0, lambda: 0, sizes={"k": 4}),
    Entry("selective_checkpointing", lambda b, n, d, f: _block(b, n, d, f, 1),
          lambda d, f: _gpt_weights(d, f, 1), square=True),
    Entry("sinusoidal_positions", lambda: 0, lambda: 0),
    Entry("sliding_window", _window, lambda d: 4 * d**2),
    Entry("sparse_linear", lambda b, n, d, f: 2 * b * n * d * f, lambda d, f: d * f // 2,
          sizes={"d": 16}),
    Entry("stacked_gru", lambda b, n, d, L: 12 * L * b * n * d**2, lambda d, L: L * _affine(3)(d)),
    Entry("stacked_lstm", lambda b, n, d, L: 16 * L * b * n * d**2, lambda d, L: L * _affine(4)(d)),
    Entry("structured_pruning", lambda b, n, d, h, k, f: (
        _grouped(b, n, d, h, h, k) + 4 * b * n * d * f), _pruned_weights),
    Entry("t5_attention", lambda b, n, d, h, k: 8 * b * n * d * h * k + 4 * b * n**2 * h * k,
          lambda d, h, k: 4 * d * h * k + 32 * h, square=True),
    Entry("transformer_block", _block, lambda d, f, L: L * (4 * d**2 + 2 * d * f + 4 * d)),
)
# fmt: on
