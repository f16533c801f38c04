"""Models that come with CostLab: Hugging Face configs as data, each with source and date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from costlab.errors import InputError, UnknownNameError
from costlab.i18n import _
from costlab.planning.huggingface import from_file, from_values
from costlab.planning.model import ModelConfig

UNPUBLISHED = ("gpt-4", "gpt4", "gpt-5", "gpt5", "chatgpt", "claude", "gemini", "o1", "o3")
"""Beginnings of the names of models whose sizes were never published."""


@cache
def _configs() -> Mapping[str, Mapping[str, object]]:
    folder = files("costlab_profiles") / "models"
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".json")
    }


def names() -> tuple[str, ...]:
    """Names of the models that come with CostLab."""
    return tuple(_configs())


def values(name: str) -> Mapping[str, object]:
    """The config of a bundled model; raises KeyError if there is none of that name."""
    return _configs()[name]


def named(name: str) -> ModelConfig:
    """The bundled model of that name, or the one that a config file describes.

    Raises:
        UnknownNameError: if no model has that name and it is no file; carries the nearest.
        InputError: if the config cannot be read, misses a size or contradicts itself; if the
            sizes were never published.
    """
    if name.endswith(".json") or Path(name).is_file():
        return from_file(name.removeprefix("hf:"))
    key = name.lower()
    if key not in _configs() and key.startswith(UNPUBLISHED):
        raise InputError(
            _("the sizes of this model are not published, so nothing can be computed for it"),
            given=name,
            advice=_(
                "what stands in: deepseek-v3 (671 B parameters, 37 B active) for a mixture of "
                "experts, llama-3.1-405b for a dense model, or a config.json of your own guess"
            ),
        )
    if key not in _configs():
        raise UnknownNameError(_("model"), name, names())
    return _read(key)


@cache
def _read(key: str) -> ModelConfig:
    config = values(key)
    return replace(
        from_values(config, key), source=str(config.get("_source", "")),
        date=str(config.get("_read", "")),
    )  # fmt: skip
