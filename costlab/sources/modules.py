"""The modules of a Hugging Face config, as plain numbers: built without weights, offline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.sources.huggingface import _config, _weightless

if TYPE_CHECKING:
    from torch import nn

_LAYER = re.compile(r"^(.*?)\.(\d+)\.(.+)$")
_FIELDS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
           "head_dim", "vocab_size", "max_position_embeddings", "sliding_window", "hidden_act",
           "tie_word_embeddings", "is_encoder_decoder")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Module:
    """A module that holds parameters itself.

    Attributes:
        path: its name within its layer, or within the model.
        layer: number of the layer; None outside of them.
        kind: "linear", "embedding", "rms_norm", "layer_norm", "layer_scale" (a LayerNorm without
            bias), or the name of another class.
        sizes: inputs and outputs, rows and width, or width.
        bias: whether it has one.
    """

    path: str
    layer: int | None
    kind: str
    sizes: tuple[int, ...]
    bias: bool


@dataclass(frozen=True, slots=True)
class Built:
    """A model as transformers builds it: modules, its config's usual fields, parameters in all."""

    modules: tuple[Module, ...]
    fields: Mapping[str, Any]
    parameters: int


def built(values: Mapping[str, Any], name: str) -> Built:
    """The modules of a config of any ``model_type`` that transformers knows.

    Raises:
        InputError: if transformers is missing or refuses the config.
    """
    config = _config(Path(name), {k: v for k, v in values.items() if not k.startswith("_")})
    model = _weightless(config)
    found = [
        _module(path, module)
        for path, module in model.named_modules()
        if any(True for _parameter in module.parameters(recurse=False))
    ]
    seen = {id(parameter): parameter.numel() for parameter in model.parameters()}
    fields = {key: getattr(config, key, None) for key in _FIELDS}
    return Built(tuple(found), fields, sum(seen.values()))


def _module(path: str, module: nn.Module) -> Module:
    place = _LAYER.match(path)
    layer, name = (int(place[2]), place[3]) if place else (None, path)
    held = dict(module.named_parameters(recurse=False))
    kind, weight = type(module).__name__, held.get("weight")
    bias = "bias" in held
    if weight is None or set(held) - {"weight", "bias"}:
        return Module(name, layer, kind, (), bias)
    shape = tuple(weight.shape)
    if kind == "Linear":
        return Module(name, layer, "linear", (shape[1], shape[0]), bias)
    if kind == "Conv1D":  # transformers' own: a product with its weight transposed
        return Module(name, layer, "linear", shape, bias)
    if kind.endswith("Embedding") and len(shape) == 2:
        return Module(name, layer, "embedding", shape, bias)
    if "Norm" in kind and len(shape) == 1:
        plain = "layer_norm" if bias else "layer_scale"
        return Module(name, layer, "rms_norm" if "RMS" in kind else plain, shape, bias)
    return Module(name, layer, kind, (), bias)
