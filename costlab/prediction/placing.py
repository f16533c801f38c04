"""Where the classes of a program lie along a size that varies.

A slider moves one of the sizes that are fixed along the axis, and the classes mostly stay where
they are: what they depend on is compared, and they are found again only where it differs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costlab.formulas.evaluate import class_index, complete_arrays, evaluate
from costlab.formulas.identity import Same
from costlab.formulas.record import Condition, Derivation

Array = NDArray[np.float64]
_KEPT = 256


@dataclass(frozen=True, slots=True)
class Part:
    """The sizes at which one class holds.

    Attributes:
        index: of the class in its derivation.
        mask: where it holds among all sizes; None: everywhere.
        arrays: the size that varies and what follows from it, where the class holds.
        shape: of these arrays.
    """

    index: int
    mask: NDArray[np.bool_] | None
    arrays: Mapping[str, Any]
    shape: tuple[int, ...]


def parts_along(
    derivation: Derivation, over: str, values: Array, sizes: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[Part, ...]]:
    """The complete sizes that are numbers, and the classes that hold along ``over``.

    Args:
        derivation: formulas.
        over: the size that varies.
        values: its values. What is found along an array that cannot be written is kept.
        sizes: the others, ``threads`` among them.
    """
    if values.flags.writeable or any(isinstance(v, np.ndarray) for v in sizes.values()):
        full = complete_arrays(derivation, {**sizes, over: values})
        return {}, _found(derivation, full, full)
    given = tuple(name for name in derivation.auxiliary if name in sizes)
    needs = _needs(Same(derivation), over, given)
    still: dict[str, Any] = {"threads": 1, **derivation.defaults, **sizes}
    # What follows from the size that varies may have a default too.
    for name in needs.moving:
        still.pop(name, None)
    for name in needs.still:
        still[name] = evaluate(derivation.auxiliary[name], still)
    key = (
        Same(derivation), over, given, Same(values),
        tuple(still[name] for name in needs.sizes),
        tuple(condition.holds(still) for condition in needs.conditions),
        tuple(still[name] % 1 == 0 and still[name] >= 1 for name in derivation.auxiliary
              if name in still),
    )  # fmt: skip
    parts = _known.get(key)
    if parts is None:
        full = complete_arrays(derivation, {**sizes, over: values})
        parts = _found(derivation, full, {name: full[name] for name in full if name not in still})
        while len(_known) >= _KEPT:
            # Another thread may have removed the same one.
            _known.pop(next(iter(_known)), None)
        _known[key] = parts
    return still, parts


_known: dict[Hashable, tuple[Part, ...]] = {}


@dataclass(frozen=True, slots=True)
class _Needs:
    """What decides where the classes lie, beside the values of the size that varies.

    Attributes:
        moving: the size that varies and what follows from it.
        still: auxiliary symbols that do not vary, in the order they are computed.
        sizes: those that conditions on varying sizes compare with, or varying ones follow from.
        conditions: those on sizes that do not vary; they hold everywhere or nowhere.
    """

    moving: frozenset[str]
    still: tuple[str, ...]
    sizes: tuple[str, ...]
    conditions: tuple[Condition, ...]


@lru_cache(maxsize=1024)
def _needs(derivation: Same, over: str, given: tuple[str, ...]) -> _Needs:
    formulas: Derivation = derivation.item
    moving, still, beside = {over}, [], set[str]()
    for name, expr in formulas.auxiliary.items():
        if name in given:
            continue
        if expr.symbols() & moving:
            moving.add(name)
            beside |= expr.symbols()
        else:
            still.append(name)
    conditions: dict[Condition, None] = {}
    for cost_class in formulas.classes:
        for condition in cost_class.domain:
            names = {*condition.left.split("/"), str(condition.right)}
            if names & moving:
                beside |= {name for name in names if not name.isdigit()}
            else:
                conditions[condition] = None
    return _Needs(
        frozenset(moving), tuple(still), tuple(sorted(beside - moving)), tuple(conditions)
    )


def _found(
    derivation: Derivation, full: Mapping[str, Any], moving: Mapping[str, Any]
) -> tuple[Part, ...]:
    """The classes that hold somewhere at the complete sizes ``full``."""
    chosen = class_index(derivation, full)
    parts = []
    for index in np.unique(chosen[chosen >= 0]).tolist():
        mask = chosen == index
        if mask.all():
            return (Part(index, None, moving, mask.shape),)
        own = {k: v[mask] if isinstance(v, np.ndarray) else v for k, v in moving.items()}
        parts.append(Part(index, mask, own, (int(mask.sum()),)))
    return tuple(parts)
