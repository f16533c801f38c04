"""Finds a program's classes: sizes for which it is one and the same sequence of operators.

The main class has typical sizes. A size of 1 is often another program (clones and broadcasts
disappear), and so is a length that the window does not divide, or a loop of few passes. Each such
case is tried with a real run against the main formulas; only where they differ is a class of its
own derived.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from costlab.derivation.engine import (
    Derived,
    Run,
    Tracer,
    check,
    check_run,
    derive_class,
    peaks_are_reached,
)
from costlab.derivation.sizes import SizeModel
from costlab.errors import ModuleError
from costlab.formulas.record import Condition

_BLOCK_SYMBOLS = ("w", "c")  # block sizes: the length they cut need not be their multiple
_FEW_PASSES = 4
_ONES = ("b", "n", "h", "g", "L", "R")  # sizes that are 1 in practice
_TOGETHER = frozenset(("b", "n", "h", "L"))  # several of them at once


@dataclass(frozen=True, slots=True)
class ClassFound:
    """A derived class and the conditions of its domain."""

    derived: Derived
    domain: tuple[Condition, ...]


def size_models(
    symbols: Sequence[str], constraints: Iterable[str], mode: str
) -> tuple[SizeModel, ...]:
    """The models to derive, main one first, from the symbols and the module's own conditions."""
    divides: list[tuple[str, str]] = []
    below: list[tuple[str, str]] = []
    for text in constraints:
        words = text.split()
        if len(words) == 3 and words[1] == "divides":
            divides.append((words[0], words[2]))
        elif len(words) == 3 and words[1] == "<=" and not words[2].isdigit():
            below.append((words[0], words[2]))
    if "h" in symbols and "d" in symbols and "k" not in symbols and ("h", "d") not in divides:
        divides.append(("h", "d"))
    if "g" in symbols and "h" in symbols and ("g", "h") not in divides:
        divides.append(("g", "h"))
    blocks = [s for s in _BLOCK_SYMBOLS if s in symbols and "n" in symbols]
    free = [s for s in blocks if (s, "n") not in divides]
    if not free or mode == "decode":
        full = SizeModel(tuple(symbols), tuple(divides), below=tuple(below))
        if mode != "decode" or not below:
            return (full,)
        # A context shorter than the window: the state still grows.
        partly = tuple((larger, smaller) for smaller, larger in below)
        return (full, replace(full, below=(), strictly_below=partly))
    block = free[0]
    kept_below = tuple(pair for pair in below if pair != (block, "n"))
    even = SizeModel(tuple(symbols), (*divides, (block, "n")), below=kept_below)
    uneven = SizeModel(
        tuple(symbols), tuple(divides), counted=((block, "n"),), below=((block, "n"),)
    )
    return (even, uneven)


def find_classes(
    tracer: Tracer, models: Sequence[SizeModel], backend: str, hints: Iterable[str] = ()
) -> list[ClassFound]:
    """Derive every class of a program; ``hints`` are symbols that may count a loop's passes."""
    # The first run of a program fills caches, which may hold its tensors: it is not counted.
    tracer(models[0].sample(random.Random(0)))
    found: list[ClassFound] = []
    for number, model in enumerate(models):
        try:
            derived = derive_class(tracer, model, backend, hints)
        except ModuleError:
            if number == 0:
                raise
            continue  # the module refuses such sizes: they are outside its domain
        if number and _covered(found[0].derived, tracer, model, backend):
            continue
        found.extend(_with_ones(tracer, model, derived, backend, tuple(hints)))
    return found


def _covered(main: Derived, tracer: Tracer, model: SizeModel, backend: str) -> bool:
    """Whether the main class's formulas hold for this model's sizes too (they never do yet)."""
    if set(main.model.variables) - set(model.variables):
        return False
    return check(main, tracer(model.sample(random.Random(1))), backend) is None


def _with_ones(
    tracer: Tracer, model: SizeModel, derived: Derived, backend: str, hints: tuple[str, ...]
) -> Iterator[ClassFound]:
    """The class itself, then those with a size of 1 or few layers where that differs."""
    bounds = _bounds(tracer, model, derived, backend)
    yield ClassFound(derived, (*model.domain(), *_at_least(model, bounds)))
    special: dict[str, list[int]] = {}
    for name, bound in bounds.items():
        if name in _ONES:
            every = name == "L" or name == derived.trip
            special[name] = list(range(1, bound)) if every else [1]
    covered: list[Mapping[str, int]] = []  # sizes of a class that holds whatever the others are
    for count in range(1, len(special) + 1):
        for names in itertools.combinations(special, count):
            if count > 1 and not _TOGETHER.issuperset(names):
                continue
            for values in itertools.product(*(special[n] for n in names)):
                fixed = dict(zip(names, values, strict=True))
                if any(wide.items() <= fixed.items() for wide in covered):
                    continue
                found, whole = _narrow(tracer, model, backend, hints, fixed, special)
                if whole:
                    covered.append(fixed)
                yield from found


def _narrow(
    tracer: Tracer,
    model: SizeModel,
    backend: str,
    hints: tuple[str, ...],
    fixed: Mapping[str, int],
    special: Mapping[str, Sequence[int]],
) -> tuple[list[ClassFound], bool]:
    """The class with some sizes fixed, if the module runs there.

    Also whether it holds at every value of the other special sizes: at a length of 1 it often
    does.
    """
    fixed = {**fixed, **{f: 1 for f, m in model.divides if fixed.get(m) == 1}}
    smaller = replace(
        model,
        fixed={**model.fixed, **fixed},
        divides=tuple(p for p in model.divides if not fixed.keys() & p),
    )
    try:
        derived = derive_class(tracer, smaller, backend, hints)
    except ModuleError:
        return [], False
    bounds = _bounds(tracer, smaller, derived, backend)
    others = [name for name in special if name not in fixed]
    whole = (
        fixed.get("n") == 1
        and not bounds.keys() & set(others)
        and not _differs_at_ones(tracer, smaller, derived, backend, others)
    )
    if not whole:
        for name in others:
            bounds[name] = max(bounds.get(name, 1), max(special[name]) + 1)
    found = [ClassFound(derived, (*smaller.domain(), *_at_least(smaller, bounds)))]
    for name in sorted(_TOGETHER & bounds.keys() - special.keys()):
        # Of these only the class with the sizes in ``fixed`` asks for more than 1.
        found += _narrow(tracer, model, backend, hints, {**fixed, name: 1}, special)[0]
    return found, whole


def _at_least(model: SizeModel, bounds: Mapping[str, int]) -> list[Condition]:
    return [Condition(">=", model.written(name), bound) for name, bound in bounds.items()]


def _bounds(tracer: Tracer, model: SizeModel, derived: Derived, backend: str) -> dict[str, int]:
    """Smallest value of each size the formulas hold for, where that is not 1."""
    found: dict[str, int] = {}
    for name in model.variables:
        if name in model.fixed or name in model.numbers or name.startswith("_blocks"):
            continue
        start = _FEW_PASSES if name == derived.trip else 2 if name.startswith("_") else 1
        value = start
        # Upward to where they hold, or down to where they no longer do.
        while value < 2 * _FEW_PASSES and _differs(tracer, model, derived, backend, name, value):
            value += 1
        if value == start:
            while value > 1 and not _differs(tracer, model, derived, backend, name, value - 1):
                value -= 1
        if value > 1:
            found[name] = value
    for block, whole in model.divides:
        # One block of one position.
        if whole == "n" and _differs_at_ones(tracer, model, derived, backend, [block, whole]):
            found[whole] = 2
    return found


def _differs_at_ones(
    tracer: Tracer, model: SizeModel, derived: Derived, backend: str, names: Sequence[str]
) -> bool:
    """As :func:`_differs` where all of ``names`` are 1."""
    free = tuple(p for p in model.divides if not set(names) & set(p))
    ones = dict.fromkeys(names, 1)
    try:
        sizes = replace(model, fixed={**model.fixed, **ones}, divides=free).sample(random.Random(1))
    except AssertionError:
        return False  # they cannot be 1 together
    quotients = {model.quotient(f, m): sizes[m] // sizes[f] for f, m in model.divides if m in sizes}
    passes = derived.trip in names
    return _differs_there(tracer, {**sizes, **quotients}, derived, backend, passes=passes)


def _differs(
    tracer: Tracer, model: SizeModel, derived: Derived, backend: str, name: str, value: int
) -> bool:
    """Whether the module runs with ``name`` = ``value`` and the formulas do not hold there."""
    sizes = model.sample_with(random.Random(value), name, value)
    passes = name == derived.trip
    return sizes is not None and _differs_there(tracer, sizes, derived, backend, passes=passes)


def _differs_there(
    tracer: Tracer, sizes: Mapping[str, int], derived: Derived, backend: str, *, passes: bool
) -> bool:
    try:
        trace = tracer(sizes)
    except ModuleError:
        return False
    run = Run.of(trace, backend)
    if check_run(derived, run) is not None:
        return True
    # A loop of few passes may lack the pass at which a candidate of the peak is alive. Below the
    # peak at these sizes, it would still exceed it at others.
    return passes and not peaks_are_reached(derived, run)
