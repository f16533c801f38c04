"""Runs a program once with symbolic sizes and records what it does as functions of them.

Tensors are fake: torch works out their shapes, strides and storages, and notes as *guards* the
conditions that decided which way the program went. The factory itself is called with symbolic
integers.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import sympy
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import Source
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod

from costlab.algebra import Expr, Size, simplest
from costlab.graph import Arg, Call, TensorSpec
from costlab.sources.program import Program
from costlab.trace.inplace import IN_PLACE
from costlab.trace.records import OpRecord, Trace
from costlab.trace.run import trace
from costlab.trace.shims import symbolic_integers
from costlab.trace.tracker import Tracker

_NOT_THE_PROGRAM = (
    "torch", "sympy", "contextlib", "costlab.trace", "costlab.derivation", "costlab.ops.standins",
)  # fmt: skip


class SpecialisedError(Exception):
    """A program asked for the number behind a symbolic size, the sympy tree ``node``."""

    def __init__(self, node: Any, value: object) -> None:
        super().__init__(f"{node} = {value}")
        self.node = node


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that decided the program's course (sympy), and where it arose."""

    node: Any
    place: str


class SymbolicSizes(ShapeEnv):
    """A symbolic integer for each name of ``hints``, and the guards on them.

    Torch takes every symbolic size to be at least 2, without a guard. Set ``read``, which makes an
    expression of a size (a sympy tree), before the run.
    """

    read: Callable[[Any], Expr]

    def __init__(self, hints: Mapping[str, int]) -> None:
        super().__init__()
        self._rewritten: dict[Any, Any] = {}
        self._replacements_version_counter = 1  # torch asks ``replace`` only where it has any
        self.names: dict[Any, str] = {}
        self.integers: dict[str, Any] = {}
        for name, hint in hints.items():
            # DYNAMIC: sizes with equal hints stay different symbols.
            node = self.create_symbol(hint, _Named(name), DimDynamic.DYNAMIC)
            self.names[node] = name
            self.integers[name] = self.create_symintnode(node, hint=hint)

    def conditions(self) -> list[Guard]:
        """Every guard so far."""
        return [Guard(g.expr, str(g.sloc.framework_loc).strip()) for g in self.guards]

    def size(self, value: Any) -> Size:
        """A number, or a symbolic integer as an expression."""
        return simplest(self.read(value.node.expr)) if isinstance(value, torch.SymInt) else value

    def replace(self, expr: Any) -> Any:  # type: ignore[override]
        """``expr`` as torch simplifies it, and without floors that bounds of the sizes decide.

        Torch keeps ``floor((c - 1)/c)``, and takes seconds over what is made of it.
        """
        key = self._replacements_version_counter, expr
        found = self._rewritten.get(key)
        if found is None:
            found = super().replace(expr)
            changed = {
                atom: self._polynomial(atom) for atom in found.atoms(FloorDiv, PythonMod, Mod)
            }
            found = self._rewritten[key] = found.xreplace(changed) if changed else found
        return found

    def _polynomial(self, node: Any) -> Any:
        """``node`` as a polynomial of the symbols, itself if it is none."""
        symbols = {name: symbol for symbol, name in self.names.items()}
        result = sympy.Integer(0)
        for mono, coefficient in self.read(node):
            if not isinstance(coefficient, int) or any(a not in symbols or p < 0 for a, p in mono):
                return node
            result += coefficient * sympy.prod(symbols[str(a)] ** p for a, p in mono)
        return result

    def evaluate_expr(self, orig_expr: Any, *args: Any, **kwargs: Any) -> Any:
        """Decide a relation by the hints, but never turn a size into its hint.

        Raises:
            SpecialisedError: if a number is asked for that depends on the sizes.
        """
        known = len(self.guards)
        value = super().evaluate_expr(orig_expr, *args, **kwargs)
        if len(self.guards) > known and not getattr(value, "is_Boolean", isinstance(value, bool)):
            raise SpecialisedError(orig_expr, value)
        return value

    def _get_sloc(self, framework_loc: str | None = None) -> Any:
        # Torch's own search names its files, and imports its compiler to tell which these are.
        return super()._get_sloc(framework_loc or _place() or " ")


class _Named(Source):
    """The origin of a symbol, which torch asks for: its name."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_text", name)

    @property
    def _name_template(self) -> str:
        return str(self._text)  # type: ignore[attr-defined]


class SymbolicTracker(Tracker):
    """Records a run on fake tensors with sizes as expressions.

    ``calls`` are those of real runs, for two choices that no size decides and fake tensors may
    make otherwise: which operators write in place (torch counts references), and which operand's
    layout a result of its shape takes.
    """

    def __init__(self, sizes: SymbolicSizes, calls: Sequence[Call]) -> None:
        super().__init__()
        self._size = sizes.size
        self._calls = calls

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func.namespace == "prim":  # a fake tensor is asked for its device
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)

    def storage_id(self, tensor: torch.Tensor, kind: str | None = None) -> int:
        number = super().storage_id(tensor, kind)
        record = self.storages[number]
        record.nbytes = self._size(record.nbytes)  # type: ignore[assignment]
        return number

    def _spec(self, tensor: torch.Tensor) -> TensorSpec:
        spec = super()._spec(tensor)
        shape, stride = self._layout(tensor)
        return replace(spec, shape=shape, stride=stride)

    def _layout(self, tensor: torch.Tensor) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
        return tuple(map(self._size, tensor.shape)), tuple(map(self._size, tensor.stride()))

    def _arg(self, value: Any) -> Arg:
        if isinstance(value, torch.SymInt):
            return self._size(value)
        if isinstance(value, torch.SymFloat):
            return float("nan")  # no rule reads a factor
        return super()._arg(value)

    def _real_call(self, func: Any) -> Call | None:
        """The call of real runs at this place, if it is of ``func``."""
        call = self._calls[len(self.ops)] if len(self.ops) < len(self._calls) else None
        return call if call is not None and call.op == str(func) else None

    def _as_run(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return IN_PLACE[func] if self._real_call(IN_PLACE[func]) else func

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        result = super()._run(func, args, kwargs)
        call = self._real_call(func)
        if call is None or len(call.outs) != 1 or not isinstance(result, torch.Tensor):
            return result
        shape, stride = self._layout(result)
        wanted = shape, call.outs[0].stride
        if stride != wanted[1] and result is not args[0]:
            for operand in args:
                if isinstance(operand, torch.Tensor) and self._layout(operand) == wanted:
                    return torch.empty_like(operand, dtype=result.dtype)
        return result

    def _note_mask(self, record: OpRecord, given: Any, outs: Any) -> None:
        """Fake tensors have no entries to count."""


def run_symbolically(
    build: Callable[[], Program],
    mode: str,
    sizes: SymbolicSizes,
    calls: Sequence[Call],
    *,
    python_dispatcher: bool = False,
) -> Trace:
    """Build and run a program with symbolic sizes; the trace's dimensions are expressions.

    Call within :func:`costlab.trace.run.quiet_collector`.

    Args:
        build: makes and prepares the program from symbolic integers of ``sizes``.
        mode: of the pass.
        sizes: the symbols; collects the guards.
        calls: those of real runs, in order, for what no size decides.
        python_dispatcher: use torch's Python forms of operators. They differ from those that run
            (dropout, recurrent layers), but more of them take symbolic sizes.

    Raises:
        SpecialisedError: if the program asks for the number behind a size.
        Exception: whatever the program raises, ``ModuleError`` for errors while it runs.
    """
    tracker = SymbolicTracker(sizes, calls)
    dispatcher: AbstractContextManager[object] = (
        enable_python_dispatcher() if python_dispatcher else contextlib.nullcontext()
    )
    fake = FakeTensorMode(shape_env=sizes)
    fake.cache_enabled = False  # with symbolic sizes an entry costs more than a run
    with symbolic_integers(), dispatcher, fake:
        with contextlib.redirect_stdout(sys.stderr):
            program = build()
        found = trace(program, mode, {}, tracker=tracker)
    found.held = tuple(
        replace(item, shape=tuple(map(sizes.size, item.shape)))  # type: ignore[arg-type]
        for item in found.held
    )
    return found


def place_of(error: BaseException) -> str:
    """The innermost of the program's own lines that an error came through; "" if there is none."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return next((_written(f, line) for f, line in reversed(frames) if _is_program(f)), "")


def _place() -> str:
    """The innermost of the program's own lines that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not run_symbolically.__code__:
        if _is_program(frame):
            return _written(frame, frame.f_lineno)
        frame = frame.f_back
    return ""


def _is_program(frame: FrameType) -> bool:
    name = f"{frame.f_globals.get('__name__', '')}."
    return not any(name.startswith(f"{other}.") for other in _NOT_THE_PROGRAM)


def _written(frame: FrameType, line: int) -> str:
    """A line as "package.module.function (its code)", without its number.

    Committed formulas carry it: an edit elsewhere in the file must not change them.
    """
    path, known = frame.f_code.co_filename, frame.f_globals
    # A file that was executed rather than imported goes by its own name.
    module = known["__name__"] if known.get("__spec__") is not None else Path(path).stem
    code = linecache.getline(path, line).strip()
    return f"{module}.{frame.f_code.co_qualname}" + (f" ({code})" if code else "")
