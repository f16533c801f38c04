"""A config of a ``model_type`` that no reader knows, read from the module transformers builds.

Products, norms and tables are those of the module; attention's core comes from the config's heads.
What the module's parts do not account for is refused, so that a model is never half read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning import blocks
from costlab.planning.decoder import kv_kind
from costlab.planning.model import Layer, ModelConfig, Part, part
from costlab.planning.totals import model_parameters
from costlab.sources.modules import Built, Module, built

_NORMS = ("rms_norm", "layer_norm", "layer_scale")
_SHOWN = 4


def read(values: Mapping[str, Any], name: str) -> ModelConfig:
    """The model that a config describes, by its real module.

    Raises:
        InputError: if transformers is missing or refuses the config, the model is no plain
            decoder or encoder, or has parameters that the parts do not account for.
    """
    module = built(values, name)
    fields = module.fields
    width, heads = fields["hidden_size"], fields["num_attention_heads"]
    depth = fields["num_hidden_layers"]
    if fields["is_encoder_decoder"] or not (width and heads and depth):
        raise _refused(name, module, ())
    groups = fields["num_key_value_heads"] or heads
    size = fields["head_dim"] or width // heads
    window = fields["sliding_window"] or 0
    odd = [m.path for m in module.modules if m.kind not in (*_NORMS, "linear", "embedding")]
    if odd:
        raise _refused(name, module, odd)
    groups = _groups(module.modules, heads, groups, size, width)
    if not groups:
        raise _refused(name, module, ())
    mixing = (heads, groups, size, window)
    rows = [_layer([m for m in module.modules if m.layer == index], width, mixing)
            for index in range(depth)]  # fmt: skip
    outside = [m for m in module.modules if m.layer is None]
    tied = not any(m.kind == "linear" and m.sizes[1] == fields["vocab_size"] for m in outside)
    tied = tied or bool(fields["tie_word_embeddings"])
    found = ModelConfig(
        name=name, family=str(values["model_type"]), width=width,
        layers=tuple(Layer("traced", parts, len(list(same))) for parts, same in groupby(rows)),
        before=_before(outside), after=_after(outside, width, fields["vocab_size"], tied),
        vocabulary=fields["vocab_size"], tied=tied, heads=heads, kv_heads=groups, head_size=size,
        inner=max((m.sizes[1] for m in module.modules if m.kind == "linear" and m.layer == 0),
                  default=0),
        kv_kind=kv_kind(heads, groups), positions="rotary",
        context=fields["max_position_embeddings"] or 0,
        notes=(_("read from the module that transformers builds for this model_type: products and "
                 "norms are its own, attention is taken to be causal over all heads"),),
    )  # fmt: skip
    if model_parameters(found) != module.parameters:
        raise _refused(name, module, ())
    return found


_Mixing = tuple[int, int, int, int]
"""Heads, key/value heads, their size, and how many keys a query sees (0: all)."""


def _groups(modules: Sequence[Module], heads: int, groups: int, size: int, width: int) -> int:
    """Heads of keys and values: the config's if the products have them, else every head; or 0."""
    made = [m.sizes[1] for m in modules
            if m.layer == 0 and m.kind == "linear" and _attends(_parent(m))]  # fmt: skip
    if width not in made:
        return 0
    total = sum(made) - width  # one goes back to the width
    if total == (heads + 2 * groups) * size:
        return groups
    return heads if total == 3 * heads * size else 0


def _attends(parent: str) -> bool:
    return "att" in parent.rpartition(".")[2].lower()


def _parent(module: Module) -> str:
    return module.path.rpartition(".")[0]


def _layer(modules: Sequence[Module], width: int, mixing: _Mixing) -> tuple[Part, ...]:
    """Parts of one layer: its norms, each group of products, two residual sums."""
    norms = [_norm(m, width, mixing) for m in modules if m.kind in _NORMS]
    found: list[Part] = []
    groups: dict[str, list[Module]] = {}
    for module in modules:
        if module.kind == "linear":
            groups.setdefault(_parent(module), []).append(module)
    for parent, products in groups.items():
        found += _products(products, width, _attends(parent), mixing)
    return (*norms, *found, *(part("residual", f"residual_{i + 1}", d=width) for i in range(2)))


def _norm(module: Module, width: int, mixing: _Mixing) -> Part:
    heads, groups, size, _window = mixing
    (d,) = module.sizes
    rows = 1
    if d == size != width:
        rows = groups if module.path.rpartition(".")[2].startswith("k") else heads
    return blocks.norm(module.kind, module.path, d, rows=rows)


def _products(modules: Sequence[Module], width: int, attends: bool, mixing: _Mixing) -> list[Part]:
    """Products that belong together; the last one back to the width is divided by its inputs."""
    back = [m for m in modules if m.sizes[1] == width]
    last = back[-1] if back and len(modules) > 1 else None
    found: list[Part] = []
    read: set[int] = set()
    first: list[Module] = []
    for module in modules:
        d, f = module.sizes
        if module is last:
            continue
        least = mixing[2] if attends and module.path.rpartition(".")[2][:1] in "kv" else 0
        found.append(blocks.linear(module.path, d, f, bias=module.bias, saves=d not in read,
                                   least=least))  # fmt: skip
        read.add(d)
        first.append(module)
    if last is None:
        return found
    d, f = last.sizes
    found.append(_core(mixing) if attends else _activation(first, d))
    found.append(blocks.row_linear(last.path, d, f, bias=last.bias, saves=not attends))
    return found


def _core(mixing: _Mixing) -> Part:
    heads, groups, size, window = mixing
    sizes: dict[str, Any] = {"g": groups, "j": heads // groups, "k": size}
    if window:
        return part("cross_attention_core", "attention.core", split=("g", "j"), place="row",
                    window=window, **sizes)  # fmt: skip
    return part("attention_core", "attention.core", options=("causal",), split=("g", "j"),
                place="row", **sizes)  # fmt: skip


def _activation(first: Sequence[Module], inner: int) -> Part:
    """A gate where two products or one of twice the width feed it, else GELU."""
    kind = "gelu"
    if sum(m.sizes[1] == inner for m in first) == 2:
        kind = "gate"
    elif any(m.sizes[1] == 2 * inner for m in first):
        kind = "fused_gate"
    return part(kind, "feed_forward.activation", split=("f",), place="row", f=inner)


def _before(outside: Sequence[Module]) -> tuple[Part, ...]:
    tables = [m for m in outside if m.kind == "embedding"]
    return tuple(
        blocks.embedding("embedding", *m.sizes) if i == 0 else blocks.table(m.path, *m.sizes)
        for i, m in enumerate(tables)
    )


def _after(outside: Sequence[Module], width: int, vocabulary: int, tied: bool) -> tuple[Part, ...]:
    norms = [blocks.norm(m.kind, m.path, m.sizes[0]) for m in outside if m.kind in _NORMS]
    biased = any(m.kind == "linear" and m.bias for m in outside)
    return (*norms, blocks.head(vocabulary, width, tied=tied, bias=biased))


def _refused(name: str, module: Built, odd: Sequence[str]) -> InputError:
    shown = (
        ", ".join(dict.fromkeys(odd)) if len(odd) <= _SHOWN else ", ".join(odd[:_SHOWN]) + ", ..."
    )
    return InputError(
        _("the module has parts that plans do not know"),
        given=f"{name}: {shown or _('a structure beyond layers of attention and products')}",
        allowed=_("layers of products, norms and attention, with tables before and a head after"),
        advice=_("give the sizes as a config of a model_type that is read"),
    )
