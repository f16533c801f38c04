"""Figures that others published, each beside the formula that has to give it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import costlab
from costlab.algebra import Expr, as_expr
from costlab.formulas import store
from costlab.formulas.document import tie
from costlab.formulas.record import Derivation
from costlab.formulas.text import parse


@dataclass(frozen=True, slots=True)
class Published:
    """One row of ``reference/published.toml``; its head says what the fields mean."""

    id: str
    what: str
    quantity: str
    source: str
    architecture: str = ""
    config: str = ""
    mode: str = "forward"
    less: str = ""
    dtype: str = "float32"
    scope: str = "layer"
    options: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    value: int | None = None
    formula: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    adds: str = "0"
    adds_why: str = ""

    def expected(self) -> Expr:
        """What is published, with what CostLab's module does beyond it."""
        published = parse(self.formula) if self.value is None else as_expr(self.value)
        return (published + parse(self.adds)).subs(self._given())

    def derived(self) -> Expr:
        """What CostLab's formula gives: a number, or a formula where a formula is published."""
        found = self._expression(self.mode)
        if self.less:
            found -= self._expression(self.less)
        return found.subs(self._given())

    def _given(self) -> dict[str, int | Expr]:
        return {**self.sizes, **{name: parse(text) for name, text in self.where.items()}}

    def _expression(self, mode: str) -> Expr:
        found = _derivation(self.architecture, self.config, mode, self.dtype, self.options)
        if self.value is None:
            return tie(found.expression(self.quantity, self.scope), found)
        full = found.complete(self.sizes)
        quantity = found.select(full).cost[self.quantity]
        expr = quantity.expr if self.scope == "layer" else quantity.core
        if expr is None:
            raise ValueError(f"{self.id}: no closed form of {self.quantity}: {quantity.reason}")
        return as_expr(expr).subs({**full, "threads": 1})


@cache
def _derivation(
    architecture: str, config: str, mode: str, dtype: str, options: tuple[str, ...]
) -> Derivation:
    if architecture:
        return store.load(architecture, mode, dtype, options=dict.fromkeys(options, True))
    with as_file(files("costlab_profiles") / "models" / config) as path:
        return costlab.derive(f"hf:{path}", mode=mode, dtype=dtype, prove=False)


def published() -> list[Published]:
    """Every row, in the order of the file."""
    file = files("costlab_profiles") / "reference" / "published.toml"
    rows: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["row"]
    return [Published(**{**row, "options": tuple(row.get("options", ()))}) for row in rows]
