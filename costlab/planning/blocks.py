"""Sublayers as lists of parts: attention, feed-forward, experts, state space, norms.

How a part is divided among ranks is said here, once: a column product by its outputs, a row
product by its inputs, the core by its heads. A tensor that two parts save is counted where it is
first saved (the inputs of q, k and v are one tensor, and a fused core keeps what ``o`` reads).
"""

from __future__ import annotations

from typing import Any

from costlab.planning.model import Part, part


def linear(
    name: str, d: int, f: int, *, bias: bool = False, saves: bool = True, least: int = 0
) -> Part:
    """A product whose outputs tensor parallelism divides."""
    return part(
        "linear", name, options=("bias",) if bias else (), split=("f",), place="column",
        saves=saves, least=least, d=d, f=f,
    )  # fmt: skip


def row_linear(name: str, d: int, f: int, *, bias: bool = False, saves: bool = True) -> Part:
    """A product whose inputs tensor parallelism divides; its results are summed over the ranks."""
    return part(
        "linear", name, options=("bias",) if bias else (), split=("d",), place="row", saves=saves,
        d=d, f=f,
    )  # fmt: skip


def whole_linear(name: str, d: int, f: int, *, bias: bool = False, saves: bool = True) -> Part:
    """A product that every rank holds, such as a router or a down-projection to a latent."""
    return part("linear", name, options=("bias",) if bias else (), saves=saves, d=d, f=f)


def norm(kind: str, name: str, d: int, *, rows: int = 1, saves: bool = True) -> Part:
    """A norm over d: "rms_norm", "layer_norm", or "layer_scale" (a LayerNorm without bias)."""
    if rows > 1:  # of each head: divided with the heads, on all positions
        return part(kind, name, d=d, rows=rows, split=("rows",), place="row", saves=saves)
    return part(kind, name, d=d, saves=saves)


def attention(
    d: int,
    h: int,
    g: int,
    k: int,
    *,
    name: str = "attention",
    causal: bool = True,
    bias: bool = False,
    out_bias: bool | None = None,
    head_norm: str = "",
    window: int = 0,
    cross: bool = False,
    fused: bool = True,
) -> tuple[Part, ...]:
    """Projections and core; ``head_norm`` is a norm of each head of q and k before the core.

    ``fused`` False writes every score out, with dropout (h = g and no causal kernel then).
    """
    first = linear(f"{name}.q", d, h * k, bias=bias)
    others = [
        linear(f"{name}.{key}", d, g * k, bias=bias, saves=cross and key == "k", least=k)
        for key in "kv"
    ]
    norms = []
    if head_norm:
        norms = [
            norm(head_norm, f"{name}.q_norm", k, rows=h),
            norm(head_norm, f"{name}.k_norm", k, rows=g),
        ]
    sizes: dict[str, Any] = {"g": g, "j": h // g, "k": k}
    if not fused:
        core = part("written_attention_core", f"{name}.core", split=("h",), place="row", h=h, k=k)
    elif cross or window:
        core = part(
            "cross_attention_core", f"{name}.core", split=("g", "j"), place="row", window=window,
            **sizes,
        )  # fmt: skip
    else:
        core = part(
            "attention_core", f"{name}.core", options=("causal",) if causal else (),
            split=("g", "j"), place="row", **sizes,
        )  # fmt: skip
    biased = bias if out_bias is None else out_bias
    out = row_linear(f"{name}.o", h * k, d, bias=biased, saves=not fused)
    return (first, *others, *norms, core, out)


def latent_attention(
    d: int, h: int, *, q_rank: int, c: int, nope: int, r: int, v: int, head_norm: str = "rms_norm"
) -> tuple[Part, ...]:
    """Attention over a latent of c (DeepSeek-V2, section 2.1); ``q_rank`` 0: q from x itself."""
    if q_rank:
        queries = [
            whole_linear("attention.q_down", d, q_rank),
            norm(head_norm, "attention.q_norm", q_rank),
            linear("attention.q_up", q_rank, h * (nope + r)),
        ]
    else:
        queries = [linear("attention.q", d, h * (nope + r))]
    return (
        *queries,
        whole_linear("attention.kv_down", d, c + r, saves=False),
        norm(head_norm, "attention.kv_norm", c),
        linear("attention.kv_up", c, h * (nope + v)),
        part("latent_core", "attention.core", options=("causal",), split=("h",), place="row",
             h=h, k=v, r=r, c=c),
        row_linear("attention.o", h * v, d, saves=False),
    )  # fmt: skip


def feed_forward(
    d: int,
    f: int,
    activation: str,
    *,
    name: str = "feed_forward",
    bias: bool = False,
    out_bias: bool | None = None,
    copies: int = 1,
    active: int = 1,
    expert: bool = False,
) -> tuple[Part, ...]:
    """Two products and an activation, or three where the activation is a gate.

    ``activation`` is a part: gelu, relu, silu, squared_relu, gate, gate-gelu or fused_gate.
    """
    kind, _dash, flag = activation.partition("-")
    gated = kind in ("gate", "fused_gate")
    options = ("bias",) if bias else ()
    common: dict[str, Any] = {"copies": copies, "active": active, "expert": expert}
    parts = [
        part("linear", f"{name}.{key}", options=options, split=("f",), place="column",
             saves=key == "up", d=d, f=f, **common)
        for key in (("up", "gate") if gated else ("up",))
    ]  # fmt: skip
    parts.append(
        part(kind, f"{name}.activation", options=(flag,) if flag else (), split=("f",),
             place="row", f=f, **common)
    )  # fmt: skip
    biased = bias if out_bias is None else out_bias
    parts.append(
        part("linear", f"{name}.down", options=("bias",) if biased else (), split=("d",),
             place="row", saves=kind != "relu", d=f, f=d, **common)
    )  # fmt: skip
    return tuple(parts)


def experts(
    d: int, f: int, e: int, t: int, activation: str, *, shared: int = 0, bias: bool = False
) -> tuple[Part, ...]:
    """A router over e experts of width f of which a token takes t, and ``shared`` width for all."""
    routed = feed_forward(
        d, f, activation, name="experts", bias=bias, copies=e, active=t, expert=True
    )
    always = feed_forward(d, shared, activation, name="shared_experts") if shared else ()
    return (whole_linear("router", d, e), *routed, *always)


def mamba(
    d: int, inner: int, s: int, w: int, rank: int, *, inner_norm: str = "", bias: bool = False
) -> tuple[Part, ...]:
    """A selective state space (Gu and Dao 2023); ``inner_norm`` is Jamba's of step, B and C."""
    norms = [norm(inner_norm, f"mixer.{n}_norm", v) for n, v in
             (("dt", rank), ("b", s), ("c", s)) if inner_norm]  # fmt: skip
    return (
        linear("mixer.in", d, 2 * inner, bias=bias),
        part("short_convolution", "mixer.convolution", split=("f",), place="row", f=inner, w=w),
        part("silu", "mixer.activation", split=("f",), place="row", f=inner),
        row_linear("mixer.x", inner, rank + 2 * s),
        *norms,
        linear("mixer.dt", rank, inner, bias=True),
        part("table", "mixer.decay", split=("d",), place="row", saves=False, d=inner, V=s),
        part("scale", "mixer.skip", split=("d",), place="row", saves=False, d=inner),
        part("state_space", "mixer.core", split=("f",), place="row", f=inner, s=s),
        part("gate", "mixer.gate", split=("f",), place="row", f=inner),
        row_linear("mixer.out", inner, d, bias=bias),
    )


def mamba2(d: int, inner: int, s: int, w: int, heads: int, groups: int) -> tuple[Part, ...]:
    """The same with one decay per head (Dao and Gu 2024)."""
    mixed = inner + 2 * groups * s
    return (
        linear("mixer.in", d, inner + mixed + heads),
        part("short_convolution", "mixer.convolution", split=("f",), place="row", f=mixed, w=w),
        part("silu", "mixer.activation", split=("f",), place="row", f=mixed),
        part("table", "mixer.decay", saves=False, split=("d",), place="row", d=heads, V=2),
        part("scale", "mixer.skip", saves=False, split=("d",), place="row", d=heads),
        part("state_space", "mixer.core", split=("f",), place="row", f=inner, s=s),
        part("gate", "mixer.gate", split=("f",), place="row", f=inner),
        norm("rms_norm", "mixer.norm", inner),
        row_linear("mixer.out", inner, d),
    )


def rwkv4(d: int, f: int) -> tuple[Part, ...]:
    """Time mixing and channel mixing of RWKV-4 (Peng et al. 2023, section 3)."""
    return (
        part("table", "mixer.shift", saves=False, d=d, V=3),
        *(linear(f"mixer.{key}", d, d) for key in ("key", "value", "receptance")),
        part("table", "mixer.decay", saves=False, split=("d",), place="row", d=d, V=2),
        part("state_space", "mixer.core", split=("f",), place="row", f=d, s=5),
        row_linear("mixer.out", d, d),
        part("table", "channel.shift", saves=False, d=d, V=2),
        linear("channel.key", d, f),
        part("squared_relu", "channel.activation", split=("f",), place="row", f=f),
        whole_linear("channel.receptance", d, d),
        row_linear("channel.value", f, d),
    )


def lstm(d: int) -> tuple[Part, ...]:
    """One recurrent layer of the catalogue."""
    return (part("lstm", "lstm", d=d),)


def embedding(name: str, V: int, d: int) -> Part:
    """A row per token of a vocabulary, which tensor parallelism divides."""
    return part("embedding", name, split=("V",), place="row", V=V, d=d)


def table(name: str, rows: int, d: int) -> Part:
    """Learned rows that are added, such as positions."""
    return part("table", name, V=rows, d=d)


def head(V: int, d: int, *, tied: bool, bias: bool = False, name: str = "head") -> Part:
    """Logits of every token of the vocabulary."""
    return part(
        "linear", name, options=("bias",) if bias else (), split=("f",), place="column",
        tied=tied, d=d, f=V,
    )  # fmt: skip
