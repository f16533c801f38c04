"""The user's own modules: what a file offers, read without running it, and how it is derived."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from costlab import errors
from costlab.arch import registry
from costlab.errors import CostLabError, DerivationError, InputError, ModuleError
from costlab.formulas.record import Derivation
from costlab.formulas.store import unpack
from costlab.i18n import _
from costlab.sources.user import functions
from costlab_gui.model.jobs import Command
from costlab_gui.model.workspace import Key

CHILD = "costlab_gui.jobs.derive_child"
HF = "hf:"
# Names under which configs keep the same number.
_FIGURES = (
    ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    ("hidden_size", "n_embd", "d_model", "dim"),
    ("num_attention_heads", "n_head", "n_heads"),
    ("vocab_size",),
)


@dataclass(frozen=True, slots=True)
class Factory:
    """A function of a Python file that may build a module.

    Attributes:
        text: its name with its parameters.
        doc: first line of its docstring.
        flags: parameters that are True or False.
        likely: whether it returns a tuple, as a factory does.
    """

    name: str
    text: str
    doc: str
    flags: tuple[str, ...]
    likely: bool


def is_own(target: str) -> bool:
    """Whether ``target`` is a user's module and none of the catalogue."""
    return target not in registry.names()


def runs_code(target: str) -> bool:
    """Whether deriving ``target`` runs the user's code; a config holds none."""
    return not target.startswith(HF)


def path_of(target: str) -> Path:
    """The file of an opened module."""
    if target.startswith(HF):
        return Path(target.removeprefix(HF))
    return Path(target.rpartition(":")[0])


def target_of(path: Path, factory: str = "") -> str:
    """What a factory of a Python file, or a config, is called in a session."""
    path = path.expanduser().resolve()
    return f"{path}:{factory}" if path.suffix == ".py" else f"{HF}{path}"


def fingerprint(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits.

    Raises:
        InputError: if it cannot be read.
    """
    return hashlib.sha256(_content(path)).hexdigest()


def factories(path: Path) -> tuple[Factory, ...]:
    """The functions of a Python file that may be factories, the likely ones first.

    The file is read, never run.

    Raises:
        InputError: if it cannot be read or has no function.
        ModuleError: if it is no valid Python.
    """
    found = [_factory(function) for function in functions(path, _content(path))]
    if not found:
        raise InputError(
            _("the file has no function that could build a module"),
            given=str(path),
            allowed=_("a function of keyword sizes that returns (module, inputs)"),
        )
    return tuple(sorted(found, key=lambda one: not one.likely))


@lru_cache(maxsize=32)
def flags_of(target: str, sha256: str) -> frozenset[str]:
    """Flags that an opened module takes, read without running it.

    Args:
        target: an opened module.
        sha256: of its file; what was read is kept for this content.

    Raises:
        CostLabError: if the file cannot be read or no longer has the factory.
    """
    if not runs_code(target):
        return frozenset()
    name = target.rpartition(":")[2]
    for factory in factories(path_of(target)):
        if factory.name == name:
            return frozenset(factory.flags)
    raise ModuleError(_("the file no longer has this function"), given=target)


def config_text(path: Path) -> str:
    """What a Hugging Face config says of its model, in one line.

    Raises:
        InputError: if it is no such config.
    """
    try:
        values = json.loads(_content(path))
    except ValueError as error:
        raise InputError(_("the config is no valid JSON"), given=f"{path}: {error}") from error
    kind = values.get("model_type") if isinstance(values, dict) else None
    if not isinstance(kind, str):
        raise InputError(
            _("the config names no model_type"),
            given=str(path),
            advice=_('add for example "model_type": "llama"'),
        )
    words = (_("{n} layers"), _("width {n}"), _("{n} heads"), _("vocabulary {n}"))
    figures = [
        text.format(n=value)
        for names, text in zip(_FIGURES, words, strict=True)
        if (value := next((values[name] for name in names if name in values), None)) is not None
    ]
    return " · ".join([kind, *figures])


def command(key: Key, sha256: str) -> Command:
    """The job that derives the formulas of ``key``; its child refuses another file.

    Raises:
        CostLabError: if the file cannot be read (any more).
    """
    known = flags_of(key.target, sha256)
    options = [name for name, value in key.options if value and name in known]
    return Command(
        title=_("Deriving {name}").format(name=key.target.rpartition("/")[2]),
        words=(key.target, key.mode, key.dtype, key.backend, sha256, *options),
        alone=True,
        measures=False,
    )


def program() -> tuple[str, ...]:
    """What runs the words of :func:`command`."""
    return (sys.executable, "-P", "-m", CHILD)


def result(lines: Sequence[Mapping[str, Any]]) -> tuple[Derivation | CostLabError, str] | None:
    """What the child answered, with details behind an error; None if it did not."""
    for line in lines:
        if line.get("kind") == "derived":
            return unpack(line["derivation"]), ""
        if line.get("kind") == "error":
            return _error(line), line["details"]
    return None


def as_line(error: CostLabError, details: str) -> dict[str, str]:
    """An error as the line that :func:`result` reads."""
    return {
        "kind": "error", "error": type(error).__name__, "message": error.message,
        "given": error.given, "allowed": error.allowed, "advice": error.advice,
        "details": details,
    }  # fmt: skip


def _error(line: Mapping[str, Any]) -> CostLabError:
    if line["error"] == "DerivationError":
        return DerivationError(line["message"], operator=line["given"], advice=line["advice"])
    kind = getattr(errors, line["error"])
    if kind is errors.UnknownNameError:
        kind = InputError
    found: CostLabError = kind(
        line["message"], given=line["given"], allowed=line["allowed"], advice=line["advice"]
    )
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(_("the file cannot be read"), given=f"{path}: {error.strerror}") from error


def _factory(function: ast.FunctionDef) -> Factory:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    bare: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    values = [*bare, *arguments.defaults, *arguments.kw_defaults]
    defaults = list(zip([*plain, *arguments.kwonlyargs], values, strict=True))
    shown = [
        name.arg if value is None else f"{name.arg}={ast.unparse(value)}"
        for name, value in defaults
    ]
    flags = [
        name.arg
        for name, value in defaults
        if isinstance(value, ast.Constant) and isinstance(value.value, bool)
    ]
    returns = [item for item in ast.walk(function) if isinstance(item, ast.Return)]
    return Factory(
        name=function.name,
        text=f"{function.name}({', '.join(shown)})",
        doc=(ast.get_docstring(function) or "").partition("\n")[0],
        flags=tuple(flags),
        likely=not arguments.posonlyargs
        and any(isinstance(item.value, ast.Tuple) for item in returns),
    )
