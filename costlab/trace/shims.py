"""What lets modules be built and run with symbolic integers; undone when the context ends."""

from __future__ import annotations

import builtins
import logging
import math
import numbers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_ATTENTION = "scaled_dot_product_attention"
_REAL_SQRT = math.sqrt
_REAL_INTEGRAL = numbers.Integral


@contextmanager
def symbolic_integers() -> Iterator[None]:
    """Within this context symbolic integers pass where torch's modules ask for integers.

    They count as ``numbers.Integral``; ``math.sqrt``, ``min`` and ``max`` keep them symbolic;
    initialisers (whose numbers are of no interest) leave their tensor as it is; attention may be
    causal by a comparison of sizes; and indexing records no slices that take everything.
    """
    with (
        mock.patch.object(numbers, "Integral", _Integral),
        mock.patch.object(math, "sqrt", _sqrt),
        mock.patch.object(builtins, "min", _symbolic(min, torch.sym_min)),
        mock.patch.object(builtins, "max", _symbolic(max, torch.sym_max)),
        mock.patch.object(F, _ATTENTION, _with_bools(getattr(F, _ATTENTION))),
        _no_initialisers(),
        _no_log(),
        _FullSlices(),
    ):
        yield


@contextmanager
def _no_log() -> Iterator[None]:
    """Keep torch from logging operators without a symbolic form: that is an ordinary outcome."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class _IntegralMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, (_REAL_INTEGRAL, torch.SymInt))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, (_REAL_INTEGRAL, torch.SymInt))


class _Integral(metaclass=_IntegralMeta):
    """``numbers.Integral``, symbolic integers included (a registration could not be undone)."""

    register = _REAL_INTEGRAL.register


def _sqrt(x: Any) -> Any:
    return torch.sym_sqrt(x) if isinstance(x, (torch.SymInt, torch.SymFloat)) else _REAL_SQRT(x)


def _symbolic(real: Callable[..., Any], symbolic: Callable[..., Any]) -> Callable[..., Any]:
    """``real``, but ``symbolic`` for two sizes of which one is symbolic."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and any(isinstance(a, torch.SymInt) for a in args) and not kwargs:
            return symbolic(*args)
        return real(*args, **kwargs)

    return call


def _with_bools(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with comparisons of sizes decided: torch takes no symbolic flags."""

    def decide(value: Any) -> Any:
        return bool(value) if isinstance(value, torch.SymBool) else value

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(decide, args), **{k: decide(v) for k, v in kwargs.items()})

    return call


def _unchanged(tensor: Tensor, *_: object, **__: object) -> Tensor:
    return tensor


@contextmanager
def _no_initialisers() -> Iterator[None]:
    """Give every function of ``nn.init`` an empty body, so that other names for it follow."""
    found = [
        value
        for name, value in vars(nn.init).items()
        if isinstance(value, FunctionType) and name.endswith("_") and not name.startswith("_")
    ]
    bodies = [function.__code__ for function in found]
    try:
        for function in found:
            function.__code__ = _unchanged.__code__
        yield
    finally:
        for function, body in zip(found, bodies, strict=True):
            function.__code__ = body


class _FullSlices(TorchFunctionMode):
    """Indexes with integers and slices as torch does for known sizes: full slices do nothing.

    With symbolic sizes ``x[:, t]`` would record a slice, and a full buffer of zeros in backward.
    Whether an end is the whole size is decided, and thereby noted as a guard.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is Tensor.__getitem__:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            if all(_is_simple(item) for item in index) and index.count(...) <= 1:
                return _index(args[0], index)
        return func(*args, **(kwargs or {}))


def _is_simple(item: object) -> bool:
    if item is None or item is ...:
        return True
    return isinstance(item, (int, torch.SymInt, slice)) and not isinstance(item, bool)


def _index(x: Tensor, index: tuple[Any, ...]) -> Tensor:
    """``x[index]`` for integers, slices, None and at most one ellipsis."""
    result, axis = x, 0
    taken = sum(item is not None and item is not ... for item in index)
    for item in index:
        if item is ...:
            axis += x.dim() - taken
        elif item is None:
            result, axis = result.unsqueeze(axis), axis + 1
        elif not isinstance(item, slice):
            result = result.select(axis, item)
        else:
            ends = (item.start, 0), (item.stop, result.shape[axis]), (item.step, 1)
            if not all(given is None or bool(given == whole) for given, whole in ends):
                start, stop, step = (whole if given is None else given for given, whole in ends)
                result = torch.ops.aten.slice(result, axis, start, stop, step)
            axis += 1
    return result.view_as(result) if result is x else result
