"""A class of a program compiled: all that its costs and its time depend on, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from costlab.algebra import as_expr
from costlab.formulas.compiled import compile_table
from costlab.formulas.evaluate import Evaluated
from costlab.formulas.identity import Same
from costlab.formulas.record import CostClass
from costlab.hardware.machine import Machine
from costlab.prediction.timing import sizes_of

_COSTS = ("flop", "bytes", "peak_bytes", "state_bytes")
_COSTS_OF_TIME = ("peak_bytes", "steps")


class CompiledClass:
    """One class of a program, with what its time on a machine depends on if one is given.

    Args:
        cost_class: formulas and operator classes.
        machine: where it runs; None where only formulas are evaluated.
        mode: of the program.
    """

    def __init__(self, cost_class: CostClass, machine: Machine | None, mode: str) -> None:
        self.cost_class, self.mode = cost_class, mode
        names = _COSTS if machine is None else (*_COSTS, *_COSTS_OF_TIME)
        quantities = [cost_class.cost[name] for name in names if name in cost_class.cost]
        needed = [quantity.expr for quantity in quantities if quantity.expr is not None]
        if machine is not None:
            needed += [as_expr(size) for sizes in sizes_of(cost_class.groups) for size in sizes]
        exprs = tuple(dict.fromkeys(needed))
        self.place = {expr: row for row, expr in enumerate(exprs)}
        self._table = compile_table(exprs)

    def at(self, values: Mapping[str, Any]) -> Evaluated:
        """All that is needed at complete sizes, arrays among them."""
        return Evaluated(values, self.place, *self._table(values))


@lru_cache(maxsize=512)
def _compiled(cost_class: Same, machine: Same | None, mode: str) -> CompiledClass:
    return CompiledClass(cost_class.item, None if machine is None else machine.item, mode)


def compiled(cost_class: CostClass, machine: Machine | None, mode: str) -> CompiledClass:
    """The class compiled, once for the same objects."""
    return _compiled(Same(cost_class), None if machine is None else Same(machine), mode)
