"""Time of compiled formulas: a model of 40 operator groups at a million points, on one core.

Run ``python benchmarks/compiled.py``. The formula is ``sum(Max(F/P, B/W)) + launches*t_launch``
with different polynomials F and B in every group, as the time of a training step is. Each line
says which sizes vary; the rest are single numbers.
"""

from __future__ import annotations

import random
import statistics
import time

import numpy as np

from costlab.algebra import Expr, as_expr, maximum, symbol
from costlab.formulas.compiled import compile_expr

SIZES = ("b", "n", "d", "h", "f", "w")
MACHINE = {"P_matmul": 1e12, "P_other": 1e11, "W": 2e11, "t_launch": 5e-6}
GROUPS = 40
POINTS = 1_000_000


def step_time(groups: int, seed: int = 1) -> Expr:
    """A time formula of ``groups`` different groups (2 terms of FLOP, 4 of bytes in each)."""
    draw = random.Random(seed)

    def polynomial(terms: int, degree: int) -> Expr:
        total = as_expr(0)
        for _ in range(terms):
            term = as_expr(draw.choice([2, 4, 6, 8, 12]))
            for name in draw.choices(SIZES, k=degree):
                term = term * symbol(name)
            total = total + term
        return total

    time_s = as_expr(groups) * symbol("t_launch")
    for i in range(groups):
        rate = symbol("P_matmul" if i % 2 else "P_other")
        work, traffic = polynomial(2, 4) / rate, polynomial(4, 3) / symbol("W")
        time_s = time_s + maximum(work, traffic)
    return time_s


def main() -> None:
    names = (*SIZES, *MACHINE)
    formula = compile_expr(step_time(GROUPS), names)
    draw = np.random.default_rng(1)
    columns = {name: draw.integers(2, 4096, POINTS).astype(np.float64) for name in SIZES}
    print(f"{GROUPS} groups, {POINTS:,} points; processor time, median of 5 calls")
    for varying in (SIZES, ("n", "d"), ("n",)):
        sizes = [columns[name] if name in varying else 16 for name in SIZES]
        values = (*sizes, *MACHINE.values())
        formula(*values)
        seconds = []
        for _ in range(5):
            start = time.process_time()
            formula(*values)
            seconds.append(time.process_time() - start)
        middle = statistics.median(seconds)
        label = " ".join(varying)
        print(f"  {label:12s} vary: {middle:.3f} s, {middle / POINTS * 1e9:.0f} ns per point")


if __name__ == "__main__":
    main()
