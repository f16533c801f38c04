"""Readers of encoders, and of encoders with a decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from costlab.planning import blocks
from costlab.planning.decoder import Stack, kv_kind, model
from costlab.planning.decoders import activation
from costlab.planning.fields import Fields
from costlab.planning.model import Layer, ModelConfig, Part, part


def bert(
    f: Fields, name: str, *, family: str = "bert", segments: int = 2, extra: bool = False
) -> ModelConfig:
    """Devlin et al. 2019: an encoder with a pooler; norms after each sublayer."""
    d, h = f.size("hidden_size"), f.size("num_attention_heads")
    more: tuple[Part, ...] = ()
    if extra:  # Longformer: projections of their own for global tokens
        more = tuple(
            blocks.linear(f"attention.global_{key}", d, d, bias=True, saves=False) for key in "qkv"
        )
        f.items("attention_window")
    for unread in ("block_size", "num_random_blocks"):
        f.size(unread, default=0)
    positions = f.size("max_position_embeddings", default=512)
    stack = Stack(
        d=d, depth=f.size("num_hidden_layers"), h=h, g=h, k=d // h,
        f=f.size("intermediate_size"), V=f.size("vocab_size"),
        activation=activation(f, "hidden_act", gated=False, default="gelu"), norm="layer_norm",
        bias=True, causal=False, positions=positions,
        segments=f.size("type_vocab_size", default=segments), embedding_norm=True,
        final_norm=False, pooler=True, tied=True, extra=more,
    )  # fmt: skip
    return model(name, family, stack)


def roberta(f: Fields, name: str) -> ModelConfig:
    """Liu et al. 2019."""
    return bert(f, name, family="roberta", segments=1)


def longformer(f: Fields, name: str) -> ModelConfig:
    """Beltagy et al. 2020."""
    return bert(f, name, family="longformer", segments=1, extra=True)


def big_bird(f: Fields, name: str) -> ModelConfig:
    """Zaheer et al. 2020."""
    return bert(f, name, family="big_bird")


def _cross(d: int, h: int, k: int, bias: bool) -> tuple[Part, ...]:
    return blocks.attention(d, h, h, k, name="cross_attention", bias=bias, cross=True)


def t5(f: Fields, name: str) -> ModelConfig:
    """Raffel et al. 2020: two stacks without biases, one table of relative positions each."""
    d, h, k = f.size("d_model"), f.size("num_heads"), f.size("d_kv")
    width, depth = f.size("d_ff"), f.size("num_layers")
    buckets = f.size("relative_attention_num_buckets", default=32)
    kind = f.text("feed_forward_proj", default="relu")
    act = {"relu": "relu", "gated-gelu": "gate-gelu", "gated-silu": "gate"}.get(kind, "relu")
    vocabulary = f.size("vocab_size")

    def layer(causal: bool) -> tuple[Part, ...]:
        norms = 3 if causal else 2
        return (
            *(blocks.norm("rms_norm", f"norm_{i + 1}", d) for i in range(norms)),
            *blocks.attention(d, h, h, k, causal=causal),
            *(_cross(d, h, k, False) if causal else ()),
            *blocks.feed_forward(d, width, act),
            *(part("residual", f"residual_{i + 1}", d=d) for i in range(norms)),
        )

    relative = part("table", "relative_positions", split=("d",), place="row", V=buckets, d=h)
    return ModelConfig(
        name=name, family="t5", width=d, vocabulary=vocabulary, heads=h, kv_heads=h, head_size=k,
        inner=width, tied=f.flag("tie_word_embeddings", default=True), kv_kind="full",
        positions="relative",
        layers=(
            Layer("encoder", layer(False), depth, "source"),
            Layer("decoder", layer(True), f.size("num_decoder_layers", default=depth)),
        ),
        before=(blocks.embedding("embedding", vocabulary, d), relative.named("source.positions"),
                relative),
        after=(
            blocks.norm("rms_norm", "source.final_norm", d),
            blocks.norm("rms_norm", "final_norm", d),
            blocks.head(vocabulary, d, tied=f.flag("tie_word_embeddings", default=True)),
        ),
    )  # fmt: skip


def bart(f: Fields, name: str) -> ModelConfig:
    """Lewis et al. 2020: two stacks with biases and learned positions."""
    d = f.size("d_model")
    vocabulary, context = f.size("vocab_size"), f.size("max_position_embeddings", default=1024)
    act = activation(f, "activation_function", gated=False, default="gelu")

    def stack(side: str) -> tuple[int, int, int]:
        return (
            f.size(f"{side}_layers", "num_hidden_layers"),
            f.size(f"{side}_attention_heads"),
            f.size(f"{side}_ffn_dim", default=4 * d),
        )

    def layer(h: int, width: int, causal: bool) -> tuple[Part, ...]:
        norms = 3 if causal else 2
        return (
            *(blocks.norm("layer_norm", f"norm_{i + 1}", d) for i in range(norms)),
            *blocks.attention(d, h, h, d // h, causal=causal, bias=True),
            *(_cross(d, h, d // h, True) if causal else ()),
            *blocks.feed_forward(d, width, act, bias=True),
            *(part("residual", f"residual_{i + 1}", d=d) for i in range(norms)),
        )

    encoder, heads, inner = stack("encoder")
    decoder, decoder_heads, decoder_inner = stack("decoder")
    positions = blocks.table("positions", context + 2, d)
    norm = blocks.norm("layer_norm", "embedding_norm", d)
    return ModelConfig(
        name=name, family="bart", width=d, vocabulary=vocabulary, heads=decoder_heads,
        kv_heads=decoder_heads, head_size=d // decoder_heads, inner=decoder_inner, tied=True,
        kv_kind=kv_kind(decoder_heads, decoder_heads), positions="learned", context=context,
        layers=(
            Layer("encoder", layer(heads, inner, False), encoder, "source"),
            Layer("decoder", layer(decoder_heads, decoder_inner, True), decoder),
        ),
        before=(blocks.embedding("embedding", vocabulary, d), positions.named("source.positions"),
                norm.named("source.embedding_norm"), positions, norm),
        after=(replace(blocks.head(vocabulary, d, tied=True)),),
    )  # fmt: skip


READERS: Mapping[str, Callable[[Fields, str], ModelConfig]] = {
    "bert": bert, "roberta": roberta, "longformer": longformer, "big_bird": big_bird, "t5": t5,
    "bart": bart,
}  # fmt: skip
