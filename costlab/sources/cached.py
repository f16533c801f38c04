"""A Hugging Face causal model whose key/value cache is a plain argument and result."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from costlab.errors import ModuleError
from costlab.i18n import _

State = tuple[tuple[torch.Tensor, torch.Tensor], ...]


class CachedModel(nn.Module):
    """``forward(ids [b, t], state) -> (logits, state)``; the state holds (keys, values) by layer.

    Keys and values are ``[b, g, n, k]`` as the model's own cache keeps them. The cache object is
    made anew in every pass around the same tensors, without a copy.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        named = inspect.signature(model.forward).parameters
        self.keyword = "cache" if "cache" in named else "past_key_values"

    def forward(self, ids: torch.Tensor, state: State = ()) -> tuple[torch.Tensor, State]:
        cache = self._cache(state)
        outputs = self.model(ids, use_cache=True, **{self.keyword: cache})
        return outputs.logits, _state_of(cache)

    def state_after(self, ids: torch.Tensor) -> State:
        """The state after a prefill of ``ids``."""
        training = self.training
        self.eval()
        with torch.no_grad():
            _logits, state = self.forward(ids)
        self.train(training)
        return state

    def _cache(self, state: State) -> Any:
        from transformers import DynamicCache

        config: Any = self.model.config
        cache: Any = DynamicCache(config=config)
        for layer, (keys, values) in zip(cache.layers, state, strict=False):
            layer.keys, layer.values = keys, values
            layer.device, layer.is_initialized = keys.device, True
            if hasattr(layer, "cumulative_length"):
                layer.cumulative_length = keys.shape[-2]
        return cache


def _state_of(cache: Any) -> State:
    """(keys, values) of every layer of a transformers cache."""
    layers = getattr(cache, "layers", None)
    if not layers or not all(isinstance(getattr(i, "keys", None), torch.Tensor) for i in layers):
        raise ModuleError(
            _("this model keeps another state than keys and values"),
            given=type(cache).__name__,
            allowed=_("modes forward and train"),
        )
    return tuple((layer.keys, layer.values) for layer in layers)
