"""Runs a class's program with symbolic sizes and judges what the run asks of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from costlab.algebra import Func, simplest, symbol
from costlab.derivation.classes import ClassFound
from costlab.derivation.fitted import differences
from costlab.derivation.optimizer import is_optimizer, optimizer_step
from costlab.derivation.proof import Proof
from costlab.derivation.relations import SizeReader
from costlab.derivation.sizes import SizeModel
from costlab.derivation.work import SourceTracer, built_mode
from costlab.errors import AlgebraError
from costlab.formulas.record import Condition
from costlab.i18n import _
from costlab.sources.program import Program, prepare, program_from
from costlab.trace.symbolic import (
    Guard,
    SpecialisedError,
    SymbolicSizes,
    place_of,
    run_symbolically,
)

# Typical sizes, for they decide which way the program goes: even head counts, head sizes that are
# multiples of 8, lengths as people use them.
_HINTS = {
    "b": 4, "n": 1024, "m": 768, "d": 512, "h": 8, "g": 2, "k": 64, "f": 2048, "w": 128, "c": 64,
    "R": 4, "r": 8, "s": 16, "e": 8, "t": 2, "G": 4, "L": 4, "V": 32000,
}  # fmt: skip
_OTHER_HINT = 16
_SHOWN = 3  # conditions that a reader is told of
_LEAST = 2  # torch takes symbolic sizes to be at least this
_BUILD_PLACE = re.compile(r"^\S+\.(cpp|h):\d+: ")


class NotRunError(Exception):
    """The program does not run with symbolic sizes; the text says why."""


def attempt(tracer: SourceTracer, found: ClassFound, *, python_dispatcher: bool) -> Proof:
    """Run the program and compare it with the fitted one.

    Raises:
        NotRunError: if the run raises.
    """
    model, bounds = found.derived.model, _bounds(found)
    sizes = SymbolicSizes(_hints(model))
    least = {name: max(_LEAST, bounds.get(name, 1)) for name in model.variables}
    reader = SizeReader(sizes.names, least, _below(model))
    sizes.read = reader.expression

    def build() -> Program:
        mode = built_mode(tracer.mode)
        arguments = _arguments(tracer, model, sizes.integers)
        made = tracer.source.factory(mode)(**arguments, **tracer.options)
        program = prepare(program_from(made, mode), mode, tracer.dtype)
        if is_optimizer(tracer.mode):
            return optimizer_step(program, tracer.backend, tracer.mode)
        return program

    calls = [step.priced.call for step in found.derived.steps]
    try:
        trace = run_symbolically(
            build, tracer.mode, sizes, calls, python_dispatcher=python_dispatcher
        )
    except Exception as error:
        raise NotRunError(_failure(error, reader, model)) from error
    within: list[Condition] = []
    open_guards = []
    for guard in sizes.conditions():
        if not reader.is_sure(guard.node):
            bound = _upper_bound(guard.node, reader, model)
            open_guards += [guard] if bound is None else []
            within += [bound] if bound is not None else []
    asked = tuple(_asked(open_guards, reader, model))
    if asked:
        return Proof(False, _("it holds only where {those}").format(those=_few(asked)), asked)
    difference = next(differences(found.derived, trace), None)
    if difference is not None:
        return Proof(False, difference)
    ones = [model.written(name) for name in model.variables if bounds.get(name, 1) < _LEAST]
    masked = any(call.kept is not None for call in calls)
    said = _("what the mask keeps (flop_useful) is counted in runs, not proved") if masked else ""
    conditions = tuple(f"{name} >= {_LEAST}" for name in ones)
    return Proof(True, said, conditions, tuple(dict.fromkeys(within)))


def _few(asked: Sequence[str]) -> str:
    """The first conditions, and how many more there are."""
    shown = "; ".join(asked[:_SHOWN])
    more = len(asked) - _SHOWN
    return _("{shown}; and {count} more").format(shown=shown, count=more) if more > 0 else shown


def _bounds(found: ClassFound) -> dict[str, int]:
    """The least value that the class's domain allows each variable, where it says so."""
    named = {found.derived.model.written(name): name for name in found.derived.model.variables}
    return {
        named[c.left]: c.right
        for c in found.domain
        if c.kind == ">=" and c.left in named and isinstance(c.right, int)
    }


def _below(model: SizeModel) -> list[tuple[str, str]]:
    pairs = (*model.below, *model.strictly_below)
    return [pair for pair in pairs if set(pair) <= set(model.variables)]


def _hints(model: SizeModel) -> dict[str, int]:
    hints = {name: _HINTS.get(name, _OTHER_HINT) for name in model.variables}
    for smaller, larger in _below(model):
        hints[larger] = max(hints[larger], hints[smaller] + 1)
    return hints


def _arguments(
    tracer: SourceTracer, model: SizeModel, integers: Mapping[str, Any]
) -> dict[str, Any]:
    """The factory's sizes: symbolic integers, and products where one size divides another."""
    known = {**tracer.fixed, **model.fixed, **integers}
    factors = {multiple: factor for factor, multiple in model.divides}

    def value(name: str) -> Any:
        if name in known:
            return known[name]
        factor = factors[name]
        return value(factor) * known[model.quotient(factor, name)]

    return {name: value(name) for name in tracer.source.symbols}


def _failure(error: BaseException, reader: SizeReader, model: SizeModel) -> str:
    """Why the program could not be run with symbolic sizes, and at which of its lines."""
    cause = error
    while cause.__cause__ is not None and not isinstance(cause, SpecialisedError):
        cause = cause.__cause__
    if isinstance(cause, SpecialisedError):
        size = _written(cause.node, reader, model)
        text = _("it needs {size} as a number").format(size=size)
    else:
        lines = reader.named(str(cause)).strip().splitlines() or [""]
        text = f"{type(cause).__name__}: {_BUILD_PLACE.sub('', lines[0])}"
    place = place_of(cause)
    return f"{text}, {place}" if place else text


def _asked(guards: Sequence[Guard], reader: SizeReader, model: SizeModel) -> list[str]:
    """Guards with the code each comes from."""
    found = {_written(guard.node, reader, model): guard.place for guard in guards}
    return [f"{text}, {place}" if place else text for text, place in found.items()]


def _upper_bound(node: Any, reader: SizeReader, model: SizeModel) -> Condition | None:
    """A guard that a size is at most some number, as a condition of a domain; else None."""
    try:
        relation = reader.relation(node)
    except AlgebraError:
        return None
    if relation is None or relation.operator not in ("<", "<="):
        return None
    names, limit = relation.left.symbols(), simplest(relation.right)
    (name,) = names if len(names) == 1 else ("",)
    if not isinstance(limit, int) or relation.left != symbol(name):
        return None
    return Condition(relation.operator, model.written(name), limit)


def _written(node: Any, reader: SizeReader, model: SizeModel) -> str:
    """A size or a relation in the user's symbols."""
    try:
        relation = reader.relation(node)
        sides = (reader.expression(node),) if relation is None else (relation.left, relation.right)
    except AlgebraError:
        return reader.named(str(node))
    if any(isinstance(atom, Func) for side in sides for atom in side.atoms()):
        return reader.named(str(node))  # "Mod(h, 2)" reads better than its floor
    texts = [str(model.public(side)) for side in sides]
    return texts[0] if relation is None else f" {relation.operator} ".join(texts)
