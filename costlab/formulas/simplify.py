"""Substitutes products of symbols (h*k = d) and writes formulas as a person would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from costlab.algebra import Atom, Expr, Func, Monomial, Size, apply, as_expr, symbol
from costlab.algebra import total as add
from costlab.formulas.form import Product, Sum, arrange, multiply, write

Pairs = Mapping[tuple[str, str], str]


def rewrite(expr: Size, pairs: Pairs) -> Expr:
    """Replace products of two symbols by one, also below the line and inside functions.

    ``{("h", "k"): "d"}`` turns h**2*k into h*d and 1/(h*k) into 1/d; a quotient d/h stays.

    >>> from costlab.formulas.text import parse
    >>> str(rewrite(parse("8*b*n*h**2*k**2 + 3*h*n"), {("h", "k"): "d"}))
    '8*b*d**2*n + 3*h*n'
    """
    expr = as_expr(expr)
    return as_expr(add(_rewrite_term(mono, pairs) * coefficient for mono, coefficient in expr))


def pretty(expr: Size, *, deep: bool = False) -> str:
    """Return ``expr`` as short text: common factors taken out, terms grouped.

    With ``deep`` sympy factors the polynomial first (slower; finds products of long sums). The
    text can be parsed and is equal to ``expr`` for all positive sizes: a factor that all
    arguments of a ``Max`` share is written before it.

    >>> from costlab.formulas.text import parse
    >>> pretty(parse("24*b*d**2*n + 4*b*d*n**2"))
    '4*b*d*n*(6*d + n)'
    """
    return write(arranged(expr, deep=deep))


def arranged(expr: Size, *, deep: bool = False) -> Sum:
    """Return the tree that :func:`pretty` and the LaTeX writer write."""
    expr = as_expr(expr)
    tree = arrange(expr)
    if deep and len(expr.terms) > 1:
        product = Product(Fraction(1))
        for factor, power in _sympy_factors(expr):
            product = multiply(product, arrange(factor), power)
        tree = min(tree, Sum((product,)), key=lambda t: len(write(t)))
    return tree


def _rewrite_term(mono: Monomial, pairs: Pairs) -> Expr:
    powers: dict[str, int] = {}
    functions = Expr({(): 1})
    for atom, power in mono:
        if isinstance(atom, Func):
            inner = apply(atom.name, *(rewrite(arg, pairs) for arg in atom.args))
            functions = functions * inner**power
        else:
            powers[atom] = power
    changed = True
    while changed:
        changed = False
        for (first, second), whole in pairs.items():
            a, b = powers.get(first, 0), powers.get(second, 0)
            shared = min(a, b) if a > 0 and b > 0 else max(a, b) if a < 0 and b < 0 else 0
            if shared:
                powers[first] -= shared
                powers[second] -= shared
                powers[whole] = powers.get(whole, 0) + shared
                changed = True
    for name, power in powers.items():
        functions = functions * symbol(name) ** power
    return functions


def _sympy_factors(expr: Expr) -> list[tuple[Expr, int]]:
    """Irreducible factors of ``expr`` with their powers, from sympy; built from terms, not text."""
    import sympy

    atoms = sorted(expr.atoms(), key=str)
    lowest = [min(dict(mono).get(atom, 0) for mono in expr.terms) for atom in atoms]
    gens = [sympy.Dummy(f"x{i}") for i in range(len(atoms))]
    rows = {
        tuple(
            dict(mono).get(atom, 0) - low for atom, low in zip(atoms, lowest, strict=True)
        ): sympy.Rational(Fraction(c).numerator, Fraction(c).denominator)
        for mono, c in expr
    }
    number, factors = sympy.Poly.from_dict(rows, *gens, domain="QQ").factor_list()
    found = [(_from_sympy({(0,) * len(atoms): number}, atoms), 1)]
    found.append((Expr({tuple((a, p) for a, p in zip(atoms, lowest, strict=True) if p): 1}), 1))
    for poly, power in factors:
        factor = _from_sympy(dict(poly.terms()), atoms)
        if factor.ordered()[0][1] < 0:
            factor = -factor
            found.append((as_expr((-1) ** power), 1))
        found.append((factor, power))
    return found


def _from_sympy(rows: Mapping[tuple[int, ...], Any], atoms: Sequence[Atom]) -> Expr:
    total = Expr({})
    for powers, c in rows.items():
        term = Expr({(): Fraction(int(c.p), int(c.q))})
        for atom, power in zip(atoms, powers, strict=True):
            term = term * Expr({((atom, 1),): 1}) ** power
        total = total + term
    return total
