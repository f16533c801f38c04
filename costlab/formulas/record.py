"""What a derivation leaves behind: formulas of every program class as plain data. No torch.

A :class:`Derivation` answers every later question (predict, compare, plot) without the module.
``CostClass.cost`` maps each quantity of :data:`QUANTITIES` to a :class:`Quantity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from costlab.algebra import Expr, Size, as_expr
from costlab.arch.spec import Claim
from costlab.errors import InputError, SizeError
from costlab.graph import Moment

SCHEMA = "costlab.derive/1"
CONVENTION = "1 multiply-add = 2 FLOP; bytes = elements addressed, read and written"
QUANTITIES = (
    "flop", "flop_matmul", "flop_useful", "bytes", "peak_bytes", "peak_bytes_step", "saved_bytes",
    "state_bytes", "parameters", "launches", "steps", "time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """One formula for the layer and for its core; ``expr`` None has a ``reason``."""

    expr: Expr | None
    core: Expr | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Calls of one operator class with equal cost: the condensed program that time needs.

    ``flop`` (matmul and other together) and ``bytes`` are per call, ``calls`` how often it runs,
    ``shapes`` the operand shapes as text for shape-dependent rates.
    """

    op: str
    kind: str
    phase: str
    core: bool
    flop: Expr
    bytes: Expr
    calls: Expr
    launches: Expr
    shapes: tuple[tuple[Size, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a domain: ``kind`` in {"divides", "not divides", ">=", "<=", "<", "=="}.

    ``left`` is a symbol, a quotient of two, or a number that divides; ``right`` a symbol or an
    integer: "w divides n", "2 divides k", "n >= 2", "w <= n", "n/w >= 2".
    """

    kind: str
    left: str
    right: str | int

    def holds(self, sizes: Mapping[str, int]) -> bool:
        over, _, under = self.left.partition("/")
        if over.isdigit():
            left = int(over)
        else:
            left = sizes[over] // sizes[under] if under else sizes[over]
        right = sizes[self.right] if isinstance(self.right, str) else self.right
        match self.kind:
            case "divides":
                return right % left == 0
            case "not divides":
                return right % left != 0
            case ">=":
                return left >= right
            case "<=":
                return left <= right
            case "<":
                return left < right
            case "==":
                return left == right
        raise ValueError(f"unknown condition {self.kind!r}")

    def __str__(self) -> str:
        text = "does not divide" if self.kind == "not divides" else self.kind
        return f"{self.left} {text} {self.right}"


@dataclass(frozen=True, slots=True)
class CostClass:
    """Formulas that hold where every condition of ``domain`` does."""

    domain: tuple[Condition, ...]
    cost: Mapping[str, Quantity]
    groups: tuple[Group, ...]
    moments: tuple[Moment, ...]
    verified_at: tuple[Mapping[str, int], ...] = ()
    parts: tuple[tuple[str, str, Mapping[str, Size]], ...] = ()  # (module, op, {quantity: expr})

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return all(condition.holds(sizes) for condition in self.domain)


@dataclass(frozen=True, slots=True)
class Derivation:
    """Formulas of one program (architecture or user module) in one mode, dtype and backend.

    ``classes[0]`` is the main class. ``symbols`` maps every symbol in the formulas to its
    meaning; ``defaults`` are the sizes used where none is given; ``auxiliary`` are symbols
    computed from others (``k`` = ``d/h``), as expressions. ``proof`` says what the guarded
    symbolic trace left open, or why it proves nothing.
    """

    architecture: str
    mode: str
    dtype: str
    backend: str
    derived: str
    classes: tuple[CostClass, ...]
    symbols: Mapping[str, str]
    sizes: tuple[str, ...]
    defaults: Mapping[str, int] = field(default_factory=dict)
    auxiliary: Mapping[str, Expr] = field(default_factory=dict)
    rerolled: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def expression(self, quantity: str, scope: str = "layer") -> Expr:
        """The main class's formula of a quantity, for the layer or its core.

        Raises:
            InputError: if it has no closed form; says why.
        """
        found = self.classes[0].cost[quantity]
        expr = found.expr if scope == "layer" else found.core
        if expr is None:
            raise InputError(
                f"{self.architecture} has no closed form of {quantity}",
                given=f"{self.mode}, {scope}",
                advice=found.reason,
            )
        return expr

    def order(self, quantity: str, scope: str = "layer") -> Expr:
        """Leading monomials of the main class's formula, without coefficients."""
        from costlab.formulas.document import machine_symbols, tie, tied_domain
        from costlab.formulas.order import order

        expr = tie(self.expression(quantity, scope), self)
        return order(expr, tied_domain(self.classes[0].domain, self), machine_symbols(expr))

    def latex(self, quantity: str, scope: str = "layer") -> str:
        """The main class's formula in LaTeX."""
        from costlab.formulas.latex import latex

        return latex(self.expression(quantity, scope))

    def evaluate(self, *quantities: str, **sizes: Any) -> dict[str, Any]:
        """Values at sizes that are numbers (exact results) or numpy arrays (float64 results).

        For example ``derivation.evaluate("flop", "peak_bytes", n=np.array([512, 1024]), d=256)``.
        Sizes left out take their defaults. Without names, every quantity that has a closed form
        and needs no machine is given. Where no class holds, an array is NaN and a number raises.
        """
        from costlab.formulas.evaluate import evaluate_quantities

        wanted = quantities or tuple(
            name
            for name, quantity in self.classes[0].cost.items()
            if quantity.expr is not None and name != "time"
        )
        return evaluate_quantities(self, sizes, wanted)

    def to_json(self) -> dict[str, Any]:
        """The document that ``costlab derive --json`` prints."""
        from costlab.formulas.document import document

        return document(self)

    def select(self, sizes: Mapping[str, int]) -> CostClass:
        """The class whose domain contains ``sizes``.

        Raises:
            SizeError: if no class does; the message lists the domains.
        """
        for candidate in self.classes:
            if candidate.holds(sizes):
                return candidate
        raise SizeError(
            f"{self.architecture} has no formula for these sizes",
            given=", ".join(f"{k}={v}" for k, v in sizes.items()),
            allowed=" or ".join(", ".join(map(str, c.domain)) for c in self.classes),
        )

    def complete(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """``sizes`` with defaults and auxiliary symbols filled in."""
        full: dict[str, int] = {**self.defaults, **sizes}
        for name, expr in self.auxiliary.items():
            if name not in sizes:
                full[name] = int(as_expr(expr).evaluate(full))
        return full
