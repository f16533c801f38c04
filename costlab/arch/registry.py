"""The catalogue by name. Importing it loads neither torch nor any architecture.

An architecture is a file of this package with a ``SPEC`` and its factories. :func:`spec` reads
the ``SPEC`` from the text of the file, so that lists and forms need no torch; :func:`load`
imports the file.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from costlab.arch.spec import ArchitectureSpec, Claim
from costlab.errors import UnknownNameError

if TYPE_CHECKING:
    from torch import Tensor, nn

    Tensors = tuple[Tensor, ...]
    Build = Callable[..., tuple[nn.Module, Tensors]]
    BuildPrefill = Callable[..., tuple[Callable[..., tuple[Tensor, Tensors]], Tensors]]
    BuildDecode = Callable[..., tuple[Callable[..., tuple[Tensor, Tensors]], Tensors, Tensors]]
    Naive = Callable[..., Tensor]

_FOLDER = Path(__file__).parent
_NOT_ARCHITECTURES = frozenset({"spec", "registry"})
_SPEC_CLASSES: dict[str, Callable[..., object]] = {
    "ArchitectureSpec": ArchitectureSpec,
    "Claim": Claim,
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """A catalogued architecture: its description, its factories and its naive twin.

    ``build`` serves the modes ``forward`` and ``train``; a factory is None where the mode does
    not exist. ``naive(module, *inputs)`` computes what the module does, slowly and plainly.
    """

    spec: ArchitectureSpec
    build: Build
    build_prefill: BuildPrefill | None
    build_decode: BuildDecode | None
    naive: Naive | None


@cache
def names() -> tuple[str, ...]:
    """Every catalogued name, sorted."""
    stems = (path.stem for path in _FOLDER.glob("*.py"))
    return tuple(sorted(s for s in stems if s not in _NOT_ARCHITECTURES and s[0] != "_"))


@cache
def spec(name: str) -> ArchitectureSpec:
    """Read the description of ``name`` without importing torch.

    Raises:
        UnknownNameError: there is no such architecture.
    """
    _require(name)
    tree = ast.parse((_FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    values: dict[str, ast.expr] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            values[statement.targets[0].id] = statement.value
    found = _evaluate(values["SPEC"], values)
    assert isinstance(found, ArchitectureSpec)
    return found


def load(name: str) -> Architecture:
    """Import the architecture ``name`` (this imports torch).

    Raises:
        UnknownNameError: there is no such architecture; it carries the nearest names.
    """
    _require(name)
    module: ModuleType = importlib.import_module(f"costlab.arch.{name}")
    return Architecture(
        spec=module.SPEC,
        build=module.build,
        build_prefill=getattr(module, "build_prefill", None),
        build_decode=getattr(module, "build_decode", None),
        naive=getattr(module, "naive", None),
    )


def _require(name: str) -> None:
    if name not in names():
        raise UnknownNameError("architecture", name, names())


def _evaluate(node: ast.expr, values: dict[str, ast.expr]) -> object:
    """The value of a literal, a module constant, or a call of a description class."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        positional = [_evaluate(argument, values) for argument in node.args]
        named = {k.arg: _evaluate(k.value, values) for k in node.keywords if k.arg}
        return _SPEC_CLASSES[node.func.id](*positional, **named)
    if isinstance(node, ast.Tuple):
        return tuple(_evaluate(item, values) for item in node.elts)
    if isinstance(node, ast.Name):
        return _evaluate(values[node.id], values)
    return ast.literal_eval(node)
