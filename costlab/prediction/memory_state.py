"""Where a pass finds its memory: how many bytes it touches in all, and how many are fresh."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from costlab.algebra import Expr, Size, as_expr, product
from costlab.formulas.evaluate import evaluate, evaluate_together
from costlab.formulas.identity import cached_by_identity
from costlab.formulas.record import CostClass, Group

# glibc gives blocks beyond this size back with every free, and the end of its heap once more than
# twice the largest freed block is unused there (mallopt(3): M_MMAP_THRESHOLD, M_TRIM_THRESHOLD).
_MAPPED_BYTES = 32 * 2**20
# A pass whose peak is two blocks and little else frees both at the end of the heap; among more
# blocks something stays above them and keeps the heap. Below 2 MiB the heap of the process serves.
_BLOCKS = (2.0, 2.3)
_LEAST_BYTES = 2 * 2**20
_ELEMENT = 4


def footprint_bytes(cost_class: CostClass, values: Mapping[str, Any]) -> Any:
    """Bytes alive at the peak, parameters and inputs included; 0 where no formula says."""
    return _quantity(cost_class, "peak_bytes", values)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Bytes that a repeated pass gets fresh from the system: at least, expected, at most."""

    least: Any
    expected: Any
    most: Any


def fresh_bytes(cost_class: CostClass, values: Mapping[str, Any], mode: str) -> Fresh:
    """Bytes that a repeated pass gets fresh from the system on a CPU; 0 where no formula says.

    Between the bounds it depends on the history of the process's heap.
    """
    peak = np.asarray(_quantity(cost_class, "peak_bytes_step", values), dtype=float)
    blocks = evaluate_together(blocks_of(cost_class.groups), values)
    largest: Any = 1.0
    for elements in blocks:
        largest = np.maximum(largest, _ELEMENT * np.asarray(elements, dtype=float))
    mapped = largest > _MAPPED_BYTES
    possible = mapped | ((peak >= _BLOCKS[0] * largest) & (peak > _LEAST_BYTES))
    few = possible & (peak <= _BLOCKS[1] * largest) & (mode != "train")
    return Fresh(*(np.where(which, peak, 0.0) for which in (mapped, mapped | few, possible)))


def _quantity(cost_class: CostClass, name: str, values: Mapping[str, Any]) -> Any:
    found = cost_class.cost.get(name)
    return 0.0 if found is None or found.expr is None else evaluate(found.expr, values)


@cached_by_identity(512)
def blocks_of(groups: tuple[Group, ...]) -> tuple[Expr, ...]:
    """Elements of every different operand that depends on a size, and the largest constant."""
    products: dict[Expr, None] = {}
    constant = 1
    for group in groups:
        for shape in group.shapes:
            elements: Size = product(shape)
            if isinstance(elements, int) or elements.is_constant:
                constant = max(constant, math.ceil(float(as_expr(elements).evaluate({}))))
            else:
                products[elements] = None
    return (*products, as_expr(constant))
