"""``hf:FILE.json``: a Hugging Face config as a source, built with random weights, offline.

``b`` and ``n`` are symbols and, where the layers are equal, ``L``; widths are the file's numbers.
Needs the extra ``hf`` (transformers). Nothing is downloaded.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.sources.blame import summary
from costlab.sources.source import Source

if TYPE_CHECKING:
    import torch
    from torch import nn


def from_config(target: str) -> Source:
    """The source of ``hf:FILE.json``; no weights are made yet.

    Raises:
        InputError: if the file cannot be read, its ``model_type`` is unknown, its values
            contradict each other, the model is no text model, or transformers is missing.
    """
    path = Path(target.removeprefix("hf:")).expanduser()
    text, values = _read(path)
    config = _config(path, values)
    if getattr(config, "vocab_size", None) is None or config.is_encoder_decoder:
        raise InputError(
            _("the config is of no plain text model"),
            given=f"{path}: {config.model_type}",
            allowed=_("models whose one input is token ids, not encoder-decoders"),
        )
    model = _weightless(config)
    layers = _equal_layers(config, model)
    longest = _longest(config)
    symbols: tuple[str, ...] = ("b", "n")
    defaults = {"b": 1, "n": min(512, longest)}
    notes = [_("widths are the numbers of {path}").format(path=path.name)]
    if layers:
        symbols, defaults["L"] = (*symbols, "L"), layers
        notes.append(_("L: equal layers, num_hidden_layers in the file"))
    modes = ["forward", "train"]
    if _is_causal(config):
        modes += ["prefill", "decode"]
    return Source(
        name=target,
        kind="hf",
        symbols=symbols,
        defaults=defaults,
        factories={mode: functools.partial(_build, path, values, mode) for mode in modes},
        fingerprint=hashlib.sha256(text).hexdigest(),
        loops=("L",) if layers else (),
        constraints=(f"n <= {longest}",) if _learns_positions(model, longest) else (),
        file=path,
        notes=tuple(notes),
    )


def _read(path: Path) -> tuple[bytes, dict[str, Any]]:
    try:
        text = path.read_bytes()
        values = json.loads(text)
    except OSError as error:
        raise InputError(
            _("the config cannot be read"),
            given=f"{path}: {error.strerror}",
            allowed="hf:FILE.json",
        ) from error
    except ValueError as error:
        raise InputError(_("the config is no valid JSON"), given=f"{path}: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("model_type"), str):
        raise InputError(
            _("the config names no model_type"),
            given=str(path),
            advice=_('add for example "model_type": "llama"'),
        )
    return text, values


def _config(path: Path, values: Mapping[str, Any], layers: int | None = None) -> Any:
    """The transformers config of the file, with another number of layers if given."""
    transformers = _transformers()
    known = transformers.CONFIG_MAPPING
    rest = dict(values)
    name = rest.pop("model_type")
    if name not in known:
        near = difflib.get_close_matches(name, list(known.keys()), n=3, cutoff=0.5)
        raise InputError(
            _("unknown model_type"),
            given=f"{path}: {name}",
            allowed=_("a model_type of transformers {version}").format(
                version=transformers.__version__
            ),
            advice=_("did you mean {names}?").format(names=", ".join(near)) if near else "",
        )
    if layers is not None:
        alias = known[name].attribute_map.get("num_hidden_layers", "num_hidden_layers")
        rest.pop("num_hidden_layers", None)
        rest[alias] = layers
        kinds = rest.get("layer_types")
        if kinds:
            rest["layer_types"] = [kinds[0]] * layers
    try:
        with _quiet(transformers):
            return transformers.AutoConfig.for_model(name, **rest)
    except Exception as error:
        raise InputError(
            _("the config's values are refused: {cause}").format(
                cause=summary(error.__cause__ or error)
            ),
            given=str(path),
        ) from error


def _transformers() -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import transformers
    except ImportError as error:
        raise InputError(
            _("Hugging Face configs need transformers"),
            given=summary(error),
            advice='pip install "costlab[hf]"',
        ) from error
    return transformers


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Keep the library's remarks on token ids and the like off the terminal."""
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(before)


def _model(config: Any) -> nn.Module:
    """A model of the class the file names, else a causal one where that exists, else a bare one."""
    transformers = _transformers()
    named = _named_class(config)
    with _quiet(transformers):
        if (cls := getattr(transformers, named, None)) is not None:
            model: nn.Module = cls._from_config(config)
        elif _is_causal(config):
            model = transformers.AutoModelForCausalLM.from_config(config)
        else:
            model = transformers.AutoModel.from_config(config)
    return model


def _named_class(config: Any) -> str:
    """The class the file names under ``architectures``, or ""."""
    return str((getattr(config, "architectures", None) or [""])[0])


def _is_causal(config: Any) -> bool:
    """Whether the model predicts the next token, so that prefill and decode exist."""
    from transformers.models.auto import modeling_auto as auto

    named = _named_class(config)
    if named:
        return named.endswith(("ForCausalLM", "LMHeadModel"))
    kind = config.model_type
    causal = kind in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    masked = kind in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return causal and not masked


def _weightless(config: Any) -> nn.Module:
    """The whole model on the meta device, for looking at its structure only."""
    import torch

    with torch.device("meta"):
        return _model(config)


def _equal_layers(config: Any, model: nn.Module) -> int:
    """The number of layers if all of them are equal, else 0."""
    from costlab.sources.layers import find_equal_layers

    count = getattr(config, "num_hidden_layers", None)
    if not isinstance(count, int) or count < 2:
        return 0
    found = find_equal_layers(model, at_least=count)
    return count if any(stack.count == count for stack in found) else 0


def _longest(config: Any) -> int:
    """The longest sequence the config speaks of."""
    longest = getattr(config, "max_position_embeddings", None)
    return longest if isinstance(longest, int) and longest > 0 else 1 << 20


def _learns_positions(model: nn.Module, longest: int) -> bool:
    """Whether positions are rows of a table, so that a longer sequence fails."""
    from torch import nn

    return any(
        isinstance(child, nn.Embedding)
        and ("pos" in name.lower() or name.endswith("wpe"))
        and child.num_embeddings >= longest
        for name, child in model.named_modules()
    )


def _build(
    path: Path, values: Mapping[str, Any], mode: str, *, b: int, n: int, L: int | None = None
) -> tuple[object, ...]:
    """Make the model with ``L`` layers and token ids ``[b, n]`` (``[b, 1]`` and state in decode).

    The vocabulary bounds the ids; their values do not change the cost.
    """
    import torch

    from costlab.sources.cached import CachedModel
    from costlab.sources.weights import repeated_weights

    config = _config(path, values, L)
    config.use_cache = mode in ("prefill", "decode")
    with repeated_weights():
        model = _model(config)

    def ids(length: int) -> torch.Tensor:
        return torch.randint(0, config.vocab_size, (b, length))

    if mode in ("forward", "train"):
        return model, (ids(n),)
    cached = CachedModel(model)
    if mode == "prefill":
        return cached, (ids(n),)
    return cached, (ids(1),), cached.state_after(ids(n))
