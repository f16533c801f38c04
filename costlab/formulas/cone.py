"""Exact answers about directions of growth: a small linear program in integers.

Directions are vectors of non-negative numbers. The question asked of it is always the same: is
there a direction in which given linear forms are all positive, and others not negative?
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

Vector = tuple[int, ...]


def direction(positive: Sequence[Vector], nonnegative: Sequence[Vector]) -> Vector | None:
    """Return an integer ``y >= 0`` with ``p·y > 0`` and ``q·y >= 0`` for all rows, or None.

    ``positive`` holds at least one row; all rows are of one length. Exact: maximises the least
    ``p·y`` over the simplex ``sum(y) <= 1`` by Bland's rule, which cannot cycle.
    """
    width = len(positive[0])
    rows = [[-x for x in row] + [1] for row in positive]
    rows += [[-x for x in row] + [0] for row in nonnegative]
    rows.append([1] * width + [0])
    return _maximise(rows, width)


def _maximise(rows: list[list[int]], width: int) -> Vector | None:
    """Simplex on a fraction-free tableau whose last variable, the margin, is to become > 0.

    Every row reads ``row·x <= 0`` but the last, which reads ``<= 1``. Columns are the variables,
    the slacks and the right-hand side; ``scale`` is the common denominator of all entries.
    """
    count = len(rows)
    columns = width + 1 + count
    table = []
    for i, row in enumerate(rows):
        slack = [0] * count
        slack[i] = 1
        table.append([*row, *slack, int(i == count - 1)])
    objective = [0] * (columns + 1)
    objective[width] = -1
    table.append(objective)
    basis = [width + 1 + i for i in range(count)]
    scale = 1
    while table[count][columns] == 0:
        goal = table[count]
        enter = next((j for j in range(columns) if goal[j] < 0), None)
        if enter is None:
            return None
        leave = _leaving_row(table, basis, enter, columns)
        pivot = table[leave][enter]
        source = table[leave]
        for i, row in enumerate(table):
            if i != leave:
                factor = row[enter]
                if factor:
                    table[i] = [
                        (x * pivot - factor * y) // scale for x, y in zip(row, source, strict=True)
                    ]
                elif pivot != scale:
                    table[i] = [x * pivot // scale for x in row]
        scale = pivot
        basis[leave] = enter
    values = [0] * columns
    for i, variable in enumerate(basis):
        values[variable] = table[i][columns]
    found = values[:width]
    common = gcd(*found)
    return tuple(x // common for x in found)


def _leaving_row(table: list[list[int]], basis: list[int], enter: int, columns: int) -> int:
    """The row of least ratio, ties by least variable; one exists because the region is bounded."""
    best = -1
    for i in range(len(basis)):
        entry = table[i][enter]
        if entry <= 0:
            continue
        if best < 0:
            best = i
            continue
        left = table[i][columns] * table[best][enter]
        right = table[best][columns] * entry
        if left < right or (left == right and basis[i] < basis[best]):
            best = i
    return best
