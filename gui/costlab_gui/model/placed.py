"""A program at the sizes of a setting: the formulas that hold there, and the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costlab.algebra import Expr, as_expr
from costlab.formulas.evaluate import evaluate
from costlab.formulas.record import CostClass, Derivation
from costlab.prediction.sizes import complete_sizes, select_class
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Placed:
    """``values`` are all sizes, auxiliary ones and threads included, by symbol."""

    derivation: Derivation
    cost_class: CostClass
    values: Mapping[str, Any]

    def number(self, expr: Expr | int) -> float:
        """A formula at these sizes."""
        return float(evaluate(as_expr(expr), self.values))

    def quantity(self, name: str) -> float | None:
        """A quantity of the cost class at these sizes; None without a closed form."""
        found = self.cost_class.cost.get(name)
        return None if found is None or found.expr is None else self.number(found.expr)

    def formula(self, name: str) -> str:
        """The formula of a quantity as text; "" without a closed form."""
        found = self.cost_class.cost.get(name)
        return "" if found is None or found.expr is None else str(found.expr)


def place(target: str, setting: Setting, workspace: Workspace) -> Placed:
    """Find the formulas of ``target`` that hold at the sizes of ``setting``.

    Raises:
        CostLabError: if there are no formulas, or none that holds at these sizes.
    """
    derivation = workspace.derivation(target, setting)
    own = {name: value for name, value in setting.sizes.items() if name in derivation.sizes}
    full = complete_sizes(derivation, own)
    values = {**full, "threads": workspace.threads(setting)}
    return Placed(derivation, select_class(derivation, full), values)
