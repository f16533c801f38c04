"""Formulas that ``derive`` finds, against hand-worked truth and runs at sizes far off."""

from __future__ import annotations

import pytest

from costlab.algebra import as_expr
from costlab.formulas.record import QUANTITIES
from costlab.formulas.text import parse
from tests.derivation.programs import FACTORIES, counts, derived, formulas_at, run_of
from tests.reference.modules13 import TRUTH, USEFUL, train_truth

EVERYDAY = [
    "linear", "attention_eager", "attention_causal", "lstm", "gru", "linear_attention", "ssm_scan",
]  # fmt: skip


@pytest.mark.parametrize("name", EVERYDAY)
def test_forward_formulas_are_the_truth(name: str) -> None:
    found = derived(name)
    cost = found.classes[0].cost
    assert cost["flop_matmul"].expr == parse(TRUTH[name])
    assert cost["flop_useful"].expr == parse(USEFUL.get(name, TRUTH[name]))
    assert cost["saved_bytes"].expr == 0
    assert found.gaps == ()
    assert found.derived == "verified"


@pytest.mark.parametrize("name", EVERYDAY)
def test_train_formulas_follow_the_backward_rule(name: str) -> None:
    cost = derived(name, "train").classes[0].cost
    assert cost["flop_matmul"].expr == parse(train_truth(name))


def test_every_class_of_a_module_has_the_same_matrix_flop() -> None:
    """Sizes of 1 change the operators, not the arithmetic."""
    found = derived("attention_eager")
    assert len(found.classes) > 1
    for item in found.classes:
        ones = {c.left: int(c.right) for c in item.domain if c.kind == "=="}
        assert item.cost["flop_matmul"].expr == parse(TRUTH["attention_eager"]).subs(ones)


KNOWN: list[tuple[str, str, tuple[str, ...], dict[str, int], str, str]] = [
    ("arch full_attention", "forward", (), {}, "flop_matmul", "8*b*n*d**2 + 4*b*n**2*d"),
    ("arch full_attention", "forward", (), {}, "parameters", "4*d**2"),
    ("lstm", "train", (), {}, "flop_matmul", "8*b*d**2*(6*n - 1)"),
    ("lstm", "train", (), {}, "parameters", "8*d**2 + 8*d"),
    ("arch flash_attention", "train", (), {}, "flop_matmul", "24*b*n*d**2 + 14*b*n**2*d"),
    ("arch full_attention", "decode", (), {}, "flop_matmul", "8*b*d**2 + 4*b*(n + 1)*d"),
    ("arch full_attention", "decode", (), {}, "state_bytes", "8*b*n*d"),
    ("arch lstm", "decode", (), {}, "state_bytes", "8*b*d"),
]


@pytest.mark.parametrize(("name", "mode", "options", "sizes", "quantity", "text"), KNOWN)
def test_known_formulas(
    name: str, mode: str, options: tuple[str, ...], sizes: dict[str, int], quantity: str, text: str
) -> None:
    cost = derived(name, mode, *options, **sizes).classes[0].cost
    assert cost[quantity].expr == parse(text)


def test_one_transformer_block_of_four_times_the_width() -> None:
    flop = derived("arch transformer_block", L=1).classes[0].cost["flop_matmul"].expr
    assert flop is not None
    assert flop.subs({"f": parse("4*d")}) == parse("4*b*d*n*(6*d + n)")


@pytest.mark.parametrize(
    ("options", "pairs"),
    [((), "n*(2*w + 1) - w*(w + 1)"), (("causal",), "n*w - w*(w - 1)/2")],
    ids=["both sides", "causal"],
)
def test_useful_pairs_of_a_window(options: tuple[str, ...], pairs: str) -> None:
    """Each pair costs a product of queries and keys and one of shares and values."""
    main = derived("arch sliding_window", "forward", *options).classes[0]
    assert "w divides n" in [str(c) for c in main.domain]
    assert main.cost["flop_useful"].core == parse(f"4*b*d*({pairs})")


@pytest.mark.parametrize("options", [(), ("causal",)])
def test_padded_queries_of_a_window_are_not_useful(options: tuple[str, ...]) -> None:
    found = derived("arch sliding_window", "forward", *options)
    for n, w in ((7, 3), (9, 4), (23, 5), (10, 9)):
        pairs = sum(
            i - w < j <= i if options else abs(i - j) <= w for i in range(n) for j in range(n)
        )
        sizes = found.complete({"b": 3, "n": n, "d": 8, "h": 2, "w": w})
        useful = found.select(sizes).cost["flop_useful"].core
        assert useful is not None
        assert useful.evaluate(sizes) == 4 * 3 * 8 * pairs


@pytest.mark.parametrize("mode", ["forward", "train"])
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("cell_loop", {"b": 3, "n": 40, "d": 9, "f": 14}),
        ("stack", {"b": 2, "n": 40, "d": 7, "f": 33, "L": 20}),
        ("ssm_scan", {"b": 3, "n": 40, "d": 6, "s": 11}),
        ("attention_eager", {"b": 7, "n": 41, "d": 35, "h": 5}),
        ("attention_causal", {"b": 2, "n": 300, "d": 16, "h": 4}),
        ("lstm", {"b": 6, "n": 50, "d": 37}),
    ],
)
def test_formulas_hold_far_from_where_they_were_fitted(
    name: str, mode: str, sizes: dict[str, int]
) -> None:
    """Every total, the peak and what is saved, against one run's own operators and storages."""
    found = derived(name, mode)
    assert all(sizes != at for item in found.classes for at in item.verified_at)
    assert formulas_at(found, sizes) == counts(run_of(FACTORIES[name], mode, sizes))


def test_loops_are_rerolled_over_their_own_size() -> None:
    assert derived("cell_loop").rerolled == ("n",)
    assert derived("stack").rerolled == ("L",)
    assert derived("attention_eager").rerolled == ()


def test_steps_of_a_loop_grow_with_its_length() -> None:
    """h needs one product, one sum and one tanh a step, after one another."""
    steps = derived("cell_loop").classes[0].cost["steps"].expr
    assert steps is not None
    assert steps.subs({"n": 41}) - steps.subs({"n": 40}) == 3
    assert derived("stack").classes[0].cost["steps"].expr is not None


@pytest.mark.parametrize("name", ["cell_loop", "stack", "attention_eager"])
@pytest.mark.parametrize("mode", ["forward", "train"])
def test_parts_and_groups_add_up(name: str, mode: str) -> None:
    main = derived(name, mode).classes[0]
    for quantity in ("flop", "flop_matmul", "flop_useful", "bytes", "launches"):
        parts = sum((as_expr(row[quantity]) for _, _, row in main.parts), start=as_expr(0))
        assert parts == main.cost[quantity].expr
    flop = sum((g.flop * g.calls for g in main.groups), start=as_expr(0))
    nbytes = sum((g.bytes * g.calls for g in main.groups), start=as_expr(0))
    assert flop == main.cost["flop"].expr
    assert nbytes == main.cost["bytes"].expr


def test_every_quantity_is_there() -> None:
    for item in derived("stack", "train").classes:
        assert set(item.cost) == set(QUANTITIES)
        assert all(q.expr is not None or q.reason for q in item.cost.values())


def test_the_core_is_what_mixes_positions() -> None:
    cost = derived("arch full_attention").classes[0].cost
    assert cost["flop_matmul"].core == parse("4*b*n**2*d")
    assert derived("stack").classes[0].cost["flop"].core is None
