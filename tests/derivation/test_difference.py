"""The difference of two derivations, on derivations written by hand."""

from __future__ import annotations

from costlab.algebra import Expr, Func, Size, as_expr, symbol
from costlab.derivation.difference import difference, lines
from costlab.formulas.record import CostClass, Derivation, Quantity

b, n, d, w, k, h = (symbol(name) for name in "bndwkh")


def derived(name: str, auxiliary: dict[str, Expr] | None = None, **cost: Size | str) -> Derivation:
    """A derivation with these formulas; a text is the reason why there is none."""
    quantities = {
        quantity: Quantity(None, reason=value)
        if isinstance(value, str)
        else Quantity(as_expr(value))
        for quantity, value in cost.items()
    }
    return Derivation(
        architecture=name, mode="forward", dtype="float32", backend="cpu", derived="verified",
        classes=(CostClass((), quantities, (), ()),), symbols={}, sizes=("b", "n", "d"),
        auxiliary=auxiliary or {},
    )  # fmt: skip


def maximum(*args: Size) -> Expr:
    return Expr({((Func("Max", tuple(as_expr(a) for a in args)), 1),): 1})


def test_terms_come_go_and_change() -> None:
    full = derived("full", flop=8 * b * n * d**2 + 4 * b * n**2 * d)
    window = derived("window", flop=10 * b * n * d**2 + 4 * b * n * d * w)
    (one,) = difference(full, window)
    assert [t.side("a") for t in one.only_a] == [4 * b * n**2 * d]
    assert [t.side("b") for t in one.only_b] == [4 * b * n * d * w]
    assert [(t.a, t.b) for t in one.changed] == [(8, 10)]
    assert not one.equal
    kept = sum((t.side("a") for t in (*one.only_a, *one.changed)), Expr({}))
    came = sum((t.side("b") for t in (*one.only_b, *one.changed)), Expr({}))
    assert one.a is not None and one.b is not None
    assert one.a - kept + came == one.b


def test_equal_formulas_are_equal_and_quantities_keep_their_order() -> None:
    a = derived("a", steps=7 * n, flop=2 * n)
    same = difference(a, derived("b", flop=2 * n, steps=7 * n))
    assert [(one.quantity, one.equal) for one in same] == [("flop", True), ("steps", True)]
    assert list(lines(same)) == ["flop: equal", "steps: equal"]


def test_auxiliary_symbols_are_replaced_first() -> None:
    a = derived("a", {"k": d / h}, flop=4 * h * k * n)
    (one,) = difference(a, derived("b", flop=4 * d * n))
    assert one.equal


def test_alternatives_of_a_maximum_are_compared_whole() -> None:
    a = derived("a", peak_bytes=8 + maximum(4 * n * d, d**2, 12 * n))
    only = derived("b", peak_bytes=8 + maximum(d**2, 12 * n))
    (one,) = difference(a, only)
    assert one.alternatives_only_a == (4 * n * d + 8,)
    assert one.alternatives_only_b == ()
    (two,) = difference(a, derived("c", peak_bytes=8 + maximum(6 * n * d, d**2, 12 * n)))
    assert [(t.a, t.b) for t in two.changed] == [(4, 6)]
    assert two.alternatives_only_a == ()


def test_a_missing_formula_gives_its_reason() -> None:
    (one,) = difference(derived("a", flop="sort of unknown size"), derived("b", flop=n))
    assert not one.equal
    assert list(lines((one,))) == ["flop: a: sort of unknown size"]
    (two,) = difference(derived("a"), derived("b", steps=n))
    assert two.reason == "a: no closed form"


def test_text_marks_what_came_and_went() -> None:
    text = list(lines(difference(derived("a", flop=2 * n + d), derived("b", flop=3 * n + w))))
    assert text == ["flop:", "  - d", "  + w", "  ~ 2*n -> 3*n"]
