"""A target as the user writes it, turned into a source."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path

from costlab.errors import InputError
from costlab.i18n import _
from costlab.sources.source import Source


def resolve(target: object) -> Source:
    """The source that ``target`` names.

    Args:
        target: an architecture's name, ``FILE.py:FACTORY``, ``hf:FILE.json``, or a Python
            factory.

    Raises:
        UnknownNameError: if it is no known architecture; carries the nearest names.
        InputError: if the file, the factory or the config does not exist or cannot be read.
        ModuleError: if the user's file fails to import.
    """
    if isinstance(target, Source):
        return target
    if not isinstance(target, str):
        from costlab.sources.user import from_callable

        return from_callable(target)
    if target.startswith("hf:"):
        from costlab.sources.huggingface import from_config

        return from_config(target)
    from costlab.sources.user import from_file, names_file

    if names_file(target):
        return from_file(target)
    return _from_catalogue(target)


def _from_catalogue(name: str) -> Source:
    """The catalogued architecture ``name``; its file is imported when it is first built."""
    from costlab.arch import registry

    spec = registry.spec(name)
    makers = {
        "forward": "build", "train": "build", "prefill": "build_prefill", "decode": "build_decode",
    }  # fmt: skip
    return Source(
        name=name,
        kind="architecture",
        symbols=spec.symbols,
        defaults=spec.defaults,
        factories={m: partial(_make, name, makers[m]) for m in spec.modes if m in makers},
        fingerprint=_fingerprint(name),
        loops=spec.loops,
        constraints=spec.constraints,
        options={**spec.options, **spec.decode_options},
        spec=spec,
    )


def _make(name: str, maker: str, **sizes: int) -> object:
    from costlab.arch import registry

    make: Callable[..., object] = getattr(registry.load(name), maker)
    taken = inspect.signature(make).parameters
    for given in sizes:
        if given not in taken:
            raise InputError(
                _("{name} takes no such setting in this mode").format(name=name),
                given=given,
                allowed=", ".join(taken),
            )
    return make(**sizes)


def _fingerprint(name: str) -> str:
    """Hash of the architecture's file and of the shared code it may use."""
    from costlab import arch, ops

    folder = Path(next(iter(arch.__path__)))
    files = [folder / f"{name}.py", *sorted(folder.glob("_[!_]*.py"))]
    files += sorted(Path(next(iter(ops.__path__))).glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
