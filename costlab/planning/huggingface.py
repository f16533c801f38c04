"""A Hugging Face ``config.json`` as a :class:`ModelConfig`, without transformers or torch."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning import decoders, recurrent_models, two_stacks
from costlab.planning.fields import Fields
from costlab.planning.model import ModelConfig

Reader = Callable[[Fields, str], ModelConfig]
READERS: Mapping[str, Reader] = {
    **decoders.READERS,
    **two_stacks.READERS,
    **recurrent_models.READERS,
}
"""How each ``model_type`` is read."""


def from_file(path: str | Path) -> ModelConfig:
    """The model that a config file describes.

    Raises:
        InputError: if it cannot be read, is no JSON object, misses a size or contradicts itself;
            for an unknown ``model_type`` it names the fields that would have been needed.
    """
    file = Path(path).expanduser()
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            _("the config cannot be read"), given=f"{file}: {error.strerror}"
        ) from error
    except ValueError as error:
        raise InputError(_("the config is no valid JSON"), given=f"{file}: {error}") from error
    if not isinstance(values, dict):
        raise InputError(_("the config is no JSON object"), given=str(file))
    return from_values(values, file.stem)


def from_values(values: Mapping[str, Any], name: str) -> ModelConfig:
    """The model that the values of a config describe; see :func:`from_file`."""
    kind = values.get("model_type")
    if not isinstance(kind, str):
        raise InputError(
            _("the config names no model_type"),
            given=name,
            advice=_('add for example "model_type": "llama"'),
        )
    text = values.get("text_config")
    if kind not in READERS and isinstance(text, dict) and text.get("model_type") in READERS:
        return from_values(text, name)
    if kind not in READERS:
        return _traced(kind, values, name)
    fields = Fields(values, f"{name}: {kind}")
    found = READERS[kind](fields, name)
    return _with_unused(found, fields.unused)


def _with_unused(model: ModelConfig, unused: tuple[str, ...]) -> ModelConfig:
    from dataclasses import replace

    return replace(model, unused=unused)


def _traced(kind: str, values: Mapping[str, Any], name: str) -> ModelConfig:
    """The model as transformers builds it, where it is installed and knows the ``model_type``."""
    unknown = _unknown(kind, values, name)
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise unknown
    from costlab.planning.from_module import read

    try:
        return read(values, name)
    except InputError as error:
        raise InputError(
            unknown.message, given=unknown.given, allowed=unknown.allowed,
            advice=_("{advice}; nor could its module be read: {error}").format(
                advice=unknown.advice, error=error.message if not error.given
                else f"{error.message} ({error.given})"),
        ) from error  # fmt: skip


def _unknown(kind: str, values: Mapping[str, Any], name: str) -> InputError:
    near = difflib.get_close_matches(kind, READERS, n=3, cutoff=0.6)
    about = Fields(values, name).unused
    advice = _("its fields {fields} could not be used").format(fields=", ".join(about) or "-")
    if near:
        advice += "; " + _("did you mean {names}?").format(names=_(" or ").join(near))
    return InputError(
        _("unknown model_type"),
        given=f"{name}: {kind}",
        allowed=", ".join(sorted(READERS)),
        advice=advice,
    )
