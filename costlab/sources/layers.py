"""Stacks of equal layers in a module: found, counted and cut, so that a deep model is traced small.

A stack is an ``nn.ModuleList`` or ``nn.Sequential`` whose children would all run the same
operators. Equality is checked, never assumed: class, parameters, buffers and every attribute,
apart from a number that says which layer it is.
"""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

AT_LEAST = 8
_NUMBERING = frozenset({"idx", "index", "id", "layer", "number", "block", "i"})
_CONTAINERS = frozenset({dict, OrderedDict, list, set, tuple})
_OWN = frozenset({"_parameters", "_buffers", "_modules", "training"})


@dataclass(frozen=True, slots=True)
class EqualLayers:
    """One stack: where it is ("" is the root), how many layers, parameters of one layer."""

    path: str
    count: int
    parameters: int


def find_equal_layers(module: nn.Module, at_least: int = AT_LEAST) -> tuple[EqualLayers, ...]:
    """Every outermost stack of at least ``at_least`` equal layers, in module order."""
    return tuple(_find(module, "", at_least))


def layer_count(module: nn.Module) -> int:
    """Layers of the largest stack of equal layers, 0 if there is none of eight or more."""
    largest = _largest(module)
    return largest.count if largest else 0


def shrink_equal_layers(
    module: nn.Module, keep: int, at_least: int = AT_LEAST
) -> tuple[nn.Module, EqualLayers] | None:
    """Cut the largest stack of equal layers to its first ``keep`` ones, in place.

    Args:
        module: a freshly built module.
        keep: how many layers to keep, from 1 to the stack's count.
        at_least: smaller stacks are left alone.

    Returns:
        The module and the stack as it was, or None if there is no such stack; then nothing has
        changed.
    """
    largest = _largest(module, max(at_least, keep))
    if largest is None:
        return None
    keep_layers(module, largest.path, keep)
    return module, largest


def keep_layers(module: nn.Module, path: str, keep: int) -> None:
    """Cut the stack at ``path`` (found by :func:`find_equal_layers`) to its first layers."""
    container = module.get_submodule(path)
    assert isinstance(container, (nn.ModuleList, nn.Sequential))
    del container[keep:]


@contextmanager
def first_layers_only(layer: type[nn.Module] | None, keep: int) -> Iterator[None]:
    """Within, only the first ``keep`` modules of class ``layer`` get their parameters.

    The others stay bare, for a caller that cuts them off: building a deep module to trace a few
    of its layers would else cost more than the trace.
    """
    if layer is None:
        yield
        return
    original = layer.__init__
    made = 0

    def init(self: nn.Module, *args: object, **kwargs: object) -> None:
        nonlocal made
        made += type(self) is layer
        if made > keep and type(self) is layer:
            nn.Module.__init__(self)
        else:
            original(self, *args, **kwargs)

    layer.__init__ = init  # type: ignore[method-assign]
    try:
        yield
    finally:
        layer.__init__ = original  # type: ignore[method-assign]


def layer_class(module: nn.Module, stack: EqualLayers) -> type[nn.Module] | None:
    """The class of a stack's layers if the module has no other instance of it, else None."""
    container = module.get_submodule(stack.path)
    assert isinstance(container, (nn.ModuleList, nn.Sequential))
    found = type(container[0])
    same = sum(type(m) is found for m in module.modules())
    return found if same == stack.count and "__init__" in vars(found) else None


def _largest(module: nn.Module, at_least: int = AT_LEAST) -> EqualLayers | None:
    return max(find_equal_layers(module, at_least), key=lambda s: s.count, default=None)


def _find(module: nn.Module, path: str, at_least: int) -> Iterator[EqualLayers]:
    if isinstance(module, (nn.ModuleList, nn.Sequential)) and len(module) >= at_least:
        children = list(module)
        if all(_same(children[0], other, i) for i, other in enumerate(children) if i):
            parameters = sum(p.numel() for p in children[0].parameters())
            yield EqualLayers(path, len(children), parameters)
            return
    for name, child in module.named_children():
        yield from _find(child, f"{path}.{name}" if path else name, at_least)


def _same(a: nn.Module, b: nn.Module, apart: int) -> bool:
    """Whether two layers, ``apart`` places from each other, run the same operators."""
    if a is b:
        return True
    if type(a) is not type(b) or a.training != b.training:
        return False
    if not (
        _equal_attributes(a._parameters, b._parameters, 0)
        and _equal_attributes(a._buffers, b._buffers, 0)
        and a._modules.keys() == b._modules.keys()
    ):
        return False
    for name, child in a._modules.items():
        other = b._modules[name]
        if child is None or other is None:
            if child is not other:
                return False
        elif not _same(child, other, apart):
            return False
    return _equal_attributes(vars(a), vars(b), apart)


def _equal_attributes(a: Mapping[str, object], b: Mapping[str, object], apart: int) -> bool:
    if a.keys() != b.keys():
        return False
    return all(
        _equal(a[key], b[key], apart) or _numbers_layers(key, a[key], b[key], apart)
        for key in a
        if key not in _OWN
    )


def _numbers_layers(name: str, a: object, b: object, apart: int) -> bool:
    """Whether an attribute only says which layer it is (``layer_idx`` 0, 1, ...)."""
    named = any(part in _NUMBERING for part in name.lower().split("_"))
    return named and type(a) is int and type(b) is int and b - a == apart


def _equal(a: object, b: object, apart: int) -> bool:
    """Equality of attributes by value and structure."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in _CONTAINERS and not a and not b:  # a module has a dozen of hooks that are empty
        return True
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        traits = ((t.shape, t.dtype, t.stride(), t.requires_grad) for t in (a, b))
        return next(traits) == next(traits)
    if isinstance(a, nn.Module) and isinstance(b, nn.Module):
        return _same(a, b, apart)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _equal_attributes(a, b, apart)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_equal(x, y, apart) for x, y in zip(a, b, strict=True))
    if isinstance(a, types.MethodType) and isinstance(b, types.MethodType):
        return a.__func__ is b.__func__
    if isinstance(a, types.FunctionType) and isinstance(b, types.FunctionType):
        return a.__code__ is b.__code__ and _closure(a) == _closure(b)
    try:
        return bool(a == b)
    except Exception:
        return False


def _closure(function: types.FunctionType) -> list[object]:
    return [cell.cell_contents for cell in function.__closure__ or ()]
