"""Random expressions and sizes for property tests."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from costlab.algebra import Expr, apply, as_expr, symbol

NAMES = ("b", "n", "d", "w", "S", "N", "E", "I", "lambda_")
SIZES = st.fixed_dictionaries({name: st.integers(1, 40) for name in NAMES})

coefficients = st.one_of(
    st.integers(-30, 30), st.builds(Fraction, st.integers(-30, 30), st.integers(1, 12))
)


def polynomials(
    names: tuple[str, ...] = NAMES,
    lowest: int = 0,
    factors: st.SearchStrategy[int] | st.SearchStrategy[int | Fraction] = coefficients,
    most: int = 4,
) -> st.SearchStrategy[Expr]:
    """Sums of up to ``most`` monomials; ``lowest`` below 0 allows quotients."""
    powers = st.dictionaries(st.sampled_from(names), st.integers(lowest, 2), max_size=3)
    return st.lists(st.tuples(factors, powers), max_size=most).map(_polynomial)


def _polynomial(rows: list[tuple[int | Fraction, dict[str, int]]]) -> Expr:
    result = as_expr(0)
    for factor, powers in rows:
        term = as_expr(factor)
        for name, power in powers.items():
            term = term * symbol(name) ** power
        result = result + term
    return result


def functions(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Expr]:
    """One function of polynomials, or of another function; logarithms of what is at least 1."""
    plain = polynomials(names, lowest=-1, most=3)
    positive = polynomials(names, factors=st.integers(1, 9), most=2)
    log = positive.map(lambda p: apply("log2", p + 1))
    flat = st.one_of(log, _calls(plain))
    return st.one_of(flat, _calls(st.one_of(plain, flat)))


def _calls(args: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    extreme = st.tuples(st.sampled_from(["Max", "Min"]), st.lists(args, min_size=1, max_size=3))
    rounded = st.tuples(st.sampled_from(["ceiling", "floor"]), args.map(lambda a: [a]))
    return st.one_of(extreme, rounded).map(lambda call: apply(call[0], *call[1]))


def expressions(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Expr]:
    """A polynomial plus functions with polynomial factors; defined at positive sizes."""
    plain = polynomials(names, lowest=-1)
    parts = st.lists(st.tuples(functions(names), polynomials(names, most=2)), max_size=2)
    return st.tuples(plain, parts).map(lambda p: sum((f * q for f, q in p[1]), start=p[0]))
