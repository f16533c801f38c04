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
    derive_narrowed,
    peaks_are_reached,
)
from costlab.derivation.sizes import SizeModel
from costlab.errors import ModuleError
from costlab.formulas.record import Condition

_BLOCK_SYMBOLS = ("w", "c")  # block sizes: the length they cut need not be their multiple
_FEW_PASSES = 4
_ONES = ("b", "n", "h", "g", "L", "R", "a")  # sizes that are 1 in practice
_TOGETHER = (frozenset("bnh"), frozenset("bhL"))  # several of them at once


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
    fixed: dict[str, int] = {}
    multiples: dict[str, int] = {}
    for text in constraints:
        words = text.split()
        if len(words) == 3 and words[1] == "divides" and words[0].isdigit():
            multiples[words[2]] = int(words[0])
        elif len(words) == 3 and words[1] == "divides":
            divides.append((words[0], words[2]))
        elif len(words) == 3 and words[1] == "<=" and not words[2].isdigit():
            below.append((words[0], words[2]))
        elif len(words) == 3 and words[1] == "==" and words[0] in symbols:
            fixed[words[0]] = int(words[2])
    if "h" in symbols and "d" in symbols and "k" not in symbols and ("h", "d") not in divides:
        divides.append(("h", "d"))
    if "g" in symbols and "h" in symbols and ("g", "h") not in divides:
        divides.append(("g", "h"))
    blocks = [s for s in _BLOCK_SYMBOLS if s in symbols and "n" in symbols]
    whole = [s for s in blocks if not any((s, other) in divides for other in ("n", *blocks))]
    full = SizeModel(
        tuple(symbols), tuple(divides), below=tuple(below), fixed=fixed, multiples=multiples
    )
    if not whole or mode == "decode":
        if mode != "decode" or not below:
            return (full,)
        # A context shorter than the window: the state still grows.
        partly = tuple((larger, smaller) for smaller, larger in below)
        return (full, replace(full, below=(), strictly_below=partly))
    block = whole[0]
    kept_below = tuple(pair for pair in below if pair != (block, "n"))
    even = replace(full, divides=(*divides, (block, "n")), below=kept_below)
    uneven = replace(full, counted=((block, "n"),), below=((block, "n"), *kept_below))
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
        # Of a length cut into blocks, 1 is a block of 1: nobody asks for that.
        if name in _ONES and not any(name == whole for _block, whole in model.divides):
            every = name == "L" or name == derived.trip
            special[name] = list(range(1, bound)) if every else [1]
    covered: list[Mapping[str, int]] = []  # sizes of a class that holds whatever the others are
    for count in range(1, len(special) + 1):
        for names in itertools.combinations(special, count):
            if count > 1 and not any(together.issuperset(names) for together in _TOGETHER):
                continue
            for values in itertools.product(*(special[n] for n in names)):
                fixed = dict(zip(names, values, strict=True))
                if any(wide.items() <= fixed.items() for wide in covered):
                    continue
                found, whole = _narrow(
                    tracer, model, derived, backend, hints, fixed, special, bounds
                )
                if whole:
                    covered.append(fixed)
                yield from found


def _narrow(
    tracer: Tracer,
    model: SizeModel,
    wider: Derived,
    backend: str,
    hints: tuple[str, ...],
    fixed: Mapping[str, int],
    special: Mapping[str, Sequence[int]],
    wider_bounds: Mapping[str, int],
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
        derived = derive_narrowed(tracer, smaller, backend, wider)
        if derived is None:
            derived = derive_class(tracer, smaller, backend, hints)
    except ModuleError:
        return [], False
    others = [name for name in special if name not in fixed]
    if fixed.get("n") == 1:
        bounds = _bounds(tracer, smaller, derived, backend)
        whole = not bounds.keys() & set(others) and not _differs_at_ones(
            tracer, smaller, derived, backend, others
        )
        if not whole:
            for name in others:
                bounds[name] = max(bounds.get(name, 1), max(special[name]) + 1)
    else:
        whole = False
        least = {name: max(special[name]) + 1 for name in others}
        bounds = _bounds_narrowed(tracer, smaller, derived, backend, wider, wider_bounds, least)
    found = [ClassFound(derived, (*smaller.domain(), *_at_least(smaller, bounds)))]
    for name in sorted({"b", "h"} & bounds.keys() - special.keys()):
        # Of these only the class with the sizes in ``fixed`` asks for more than 1.
        also = {**fixed, name: 1}
        found += _narrow(tracer, model, wider, backend, hints, also, special, wider_bounds)[0]
    return found, whole


def _at_least(model: SizeModel, bounds: Mapping[str, int]) -> list[Condition]:
    return [Condition(">=", model.written(name), bound) for name, bound in bounds.items()]


def _bounds(tracer: Tracer, model: SizeModel, derived: Derived, backend: str) -> dict[str, int]:
    """Smallest value of each size the formulas hold for, where that is not 1."""
    names = _probed(model)
    found = {name: _bound(tracer, model, derived, backend, name) for name in names}
    found |= _one_block(tracer, model, derived, backend)
    return {n: bound for n, bound in found.items() if bound > model.multiples.get(n, 1)}


def _probed(model: SizeModel) -> list[str]:
    known = (*model.fixed, *model.numbers)
    return [n for n in model.variables if n not in known and not n.startswith("_blocks")]


def _bound(
    tracer: Tracer,
    model: SizeModel,
    derived: Derived,
    backend: str,
    name: str,
    above: int | None = None,
) -> int:
    """The smallest value of one size that the formulas hold for; they hold at ``above``."""

    def differs(value: int) -> bool:
        return _holds(tracer, model, derived, backend, {name: value}) is False

    step = model.multiples.get(name, 1)
    start = _FEW_PASSES if name == derived.trip else 2 if name.startswith("_") else step
    value = start = above or start
    # Upward to where they hold, or down to where they no longer do.
    while above is None and value < 2 * _FEW_PASSES and differs(value):
        value += step
    if value == start:
        while value > step and not differs(value - step):
            value -= step
    return value


def _bounds_narrowed(
    tracer: Tracer,
    model: SizeModel,
    derived: Derived,
    backend: str,
    wider: Derived,
    wider_bounds: Mapping[str, int],
    least: Mapping[str, int],
) -> dict[str, int]:
    """Like :func:`_bounds`, with fewer runs.

    ``wider_bounds`` are those of the class ``wider`` that this one narrows, ``least`` what other
    classes leave to this one. All sizes but the number of passes are tried at these at once,
    upward one by one only where the formulas do not hold; those with a bound, also below it.
    """
    names = _probed(model)
    corner = {
        name: max(least.get(name, 1), wider_bounds.get(name, 1))
        for name in names
        if name in wider.model.variables and name != derived.trip
    }
    corner = {n: v for n, v in corner.items() if model.sample_with(random.Random(v), {n: v})}
    if not (corner and _holds(tracer, model, derived, backend, corner)):
        corner = {}
    found: dict[str, int] = {}
    for name in names:
        above = corner.get(name)
        if above is None or name not in least:
            above = _bound(tracer, model, derived, backend, name, above)
        found[name] = max(least.get(name, 1), above)
    found |= _one_block(tracer, model, derived, backend)
    return {n: bound for n, bound in found.items() if bound > model.multiples.get(n, 1)}


def _one_block(tracer: Tracer, model: SizeModel, derived: Derived, backend: str) -> dict[str, int]:
    """``{"n": 2}`` where the formulas do not hold for one block of one position."""
    for block, whole in model.divides:
        inner = [factor for factor, multiple in model.divides if multiple == block]
        names = [*inner, block, whole]
        if whole == "n" and _differs_at_ones(tracer, model, derived, backend, names):
            return {whole: 2}
    return {}


def _differs_at_ones(
    tracer: Tracer, model: SizeModel, derived: Derived, backend: str, names: Sequence[str]
) -> bool:
    """Whether the module runs where all of ``names`` are 1 and the formulas do not hold there."""
    free = tuple(p for p in model.divides if not set(names) & set(p))
    ones = dict.fromkeys(names, 1)
    try:
        sizes = replace(model, fixed={**model.fixed, **ones}, divides=free).sample(random.Random(1))
    except AssertionError:
        return False  # they cannot be 1 together
    quotients = {model.quotient(f, m): sizes[m] // sizes[f] for f, m in model.divides if m in sizes}
    passes = derived.trip in names
    return _hold_there(tracer, {**sizes, **quotients}, derived, backend, passes=passes) is False


def _holds(
    tracer: Tracer, model: SizeModel, derived: Derived, backend: str, values: Mapping[str, int]
) -> bool | None:
    """Whether the formulas hold with some sizes set; None where the module does not run so."""
    sizes = model.sample_with(random.Random(sum(values.values())), values)
    if sizes is None:
        return None
    return _hold_there(tracer, sizes, derived, backend, passes=derived.trip in values)


def _hold_there(
    tracer: Tracer, sizes: Mapping[str, int], derived: Derived, backend: str, *, passes: bool
) -> bool | None:
    try:
        trace = tracer(sizes)
    except ModuleError:
        return None
    run = Run.of(trace, backend)
    if check_run(derived, run) is not None:
        return False
    # A loop of few passes may lack the pass at which a candidate of the peak is alive. Below the
    # peak at these sizes, it would still exceed it at others.
    return not passes or peaks_are_reached(derived, run)
