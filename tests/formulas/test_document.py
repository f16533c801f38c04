"""The JSON of ``derive``: its keys, that parts add up, and that text and terms agree."""

from __future__ import annotations

import json
from typing import Any

import pytest

from costlab.algebra import as_expr
from costlab.formulas.document import document, machine_symbols, totals_of_parts
from costlab.formulas.record import QUANTITIES
from costlab.formulas.text import from_terms, parse
from tests.derivation.programs import derived

KEYS = {
    "schema", "architecture", "mode", "dtype", "backend", "derived", "rerolled", "verified_at",
    "symbols", "domain", "classes", "gaps", "convention", "cost",
}  # fmt: skip
ENTRY = {"expr", "terms", "order", "order_in", "core", "latex"}
COUNTED = ("flop", "flop_matmul", "flop_useful", "bytes", "launches")
REAL = [("arch full_attention", "forward"), ("arch sliding_window", "forward"), ("stack", "train")]


@pytest.fixture(scope="module")
def attention() -> dict[str, Any]:
    return document(derived("arch full_attention"))


@pytest.mark.parametrize(("name", "mode"), REAL)
def test_keys(name: str, mode: str) -> None:
    found = document(derived(name, mode))
    assert found["schema"] == "costlab.derive/1"
    assert set(found) >= KEYS
    assert "2 FLOP" in found["convention"]
    assert json.loads(json.dumps(found)) == found
    for cost in (found["cost"], *(item["cost"] for item in found["classes"])):
        assert set(cost) == set(QUANTITIES)
        for entry in cost.values():
            if entry["expr"] is None:
                assert entry["reason"]
            else:
                assert set(entry) >= ENTRY
    assert all(item["domain"] for item in found["classes"])


@pytest.mark.parametrize(("name", "mode"), REAL)
def test_text_and_terms_are_the_formula(name: str, mode: str) -> None:
    made = derived(name, mode)
    found = document(made)
    for quantity, entry in found["cost"].items():
        expr = made.classes[0].cost[quantity].expr
        if expr is None:
            assert entry["expr"] is None
            continue
        sizes = {s: 3 + i for i, s in enumerate(sorted(expr.symbols()))}
        value = expr.evaluate(sizes)
        assert parse(entry["expr"]).evaluate(sizes) == pytest.approx(value)
        assert from_terms(entry["terms"]).evaluate(sizes) == pytest.approx(value)
        assert set(entry["order_in"]) == set(made.sizes) & expr.symbols()


def test_symbols_of_the_formulas_have_meanings(attention: dict[str, Any]) -> None:
    used = set().union(
        *(parse(e["expr"]).symbols() for e in attention["cost"].values() if e["expr"])
    )
    assert used <= set(attention["symbols"])
    assert all(attention["symbols"].values())


@pytest.mark.parametrize("by", ["op", "module"])
@pytest.mark.parametrize(("name", "mode"), REAL)
def test_parts_add_up_to_the_whole(name: str, mode: str, by: str) -> None:
    found = document(derived(name, mode), by=by)
    assert found["by"] == by
    names = [part["name"] for part in found["parts"]]
    assert len(names) == len(set(names)) > 1
    for quantity in COUNTED:
        whole = sum((parse(part[quantity]) for part in found["parts"]), start=as_expr(0))
        assert whole == parse(found["cost"][quantity]["expr"])
        assert totals_of_parts(derived(name, mode).classes[0])[quantity] == whole


def test_parts_are_the_modules_and_operators(attention: dict[str, Any]) -> None:
    made = derived("arch full_attention")
    modules = {part["name"] for part in document(made, by="module")["parts"]}
    assert modules == {"", "q", "k", "v", "o", "core"}
    flop = {part["name"]: part["flop_matmul"] for part in document(made, by="op")["parts"]}
    products = {op for op, text in flop.items() if text != "0"}
    assert {op.split(".")[1] for op in products} == {"mm", "bmm"}
    assert "parts" not in attention
    assert {p["name"] for p in document(derived("stack", "train"), by="module")["parts"]} == {
        "norm", "layers.#", "layers.#.norm", "layers.#.wide", "layers.#.narrow",
    }  # fmt: skip


def test_orders_of_full_attention(attention: dict[str, Any]) -> None:
    cost = attention["cost"]
    assert parse(cost["flop_matmul"]["order"]) == parse("b*n**2*d + b*n*d**2")
    assert cost["flop_matmul"]["order_in"] == {"b": "b", "n": "n**2", "d": "d**2"}
    assert cost["steps"]["order"] == "1"
    assert cost["state_bytes"] == {"expr": None, "reason": "this mode carries no state"}
    assert not {s for s in parse(cost["time"]["order"]).symbols() if s.startswith("P_")}


def test_claims_of_full_attention_agree(attention: dict[str, Any]) -> None:
    claims = {(c["claim"]["quantity"], c["claim"]["scope"]): c for c in attention["claims"]}
    assert claims[("flop", "core")]["agrees"] is True
    assert claims[("steps", "layer")]["agrees"] is True
    assert claims[("peak_bytes", "core")]["agrees"] is True
    # Stated for another mode: nothing to compare here.
    assert claims[("state_bytes", "layer")]["agrees"] is None
    assert claims[("flop", "core")]["claim"]["source"]


def test_a_claim_stands_beside_its_quantity() -> None:
    core = document(derived("arch full_attention"), scope="core")["cost"]
    assert core["flop"]["agrees"] is True
    assert core["flop"]["claim"]["order"] == "b*n**2*d"
    assert "claim" not in core["bytes"]
    layer = document(derived("arch full_attention"))["cost"]
    assert layer["steps"]["agrees"] is True
    assert "claim" not in layer["flop"]


def test_a_decode_claim_is_compared_in_decode() -> None:
    found = document(derived("arch full_attention", "decode"))
    assert found["cost"]["state_bytes"]["agrees"] is True
    assert parse(found["cost"]["state_bytes"]["expr"]) == parse("8*b*n*d")


def test_the_core_has_formulas_of_its_own() -> None:
    made = derived("arch full_attention")
    core = document(made, scope="core")["cost"]
    layer = document(made)["cost"]
    for quantity in COUNTED:
        assert parse(core[quantity]["expr"]) == parse(layer[quantity]["core"])
    assert core["parameters"]["expr"] is None
    assert document(derived("stack", "train"), scope="core")["cost"]["flop"] == {
        "expr": None, "reason": "not taken apart, or the module has no part named core",
    }  # fmt: skip


def test_latex_can_be_left_out() -> None:
    entry = document(derived("arch full_attention"), latex_too=False)["cost"]["flop"]
    assert "latex" not in entry


def test_machine_symbols_do_not_grow() -> None:
    time = derived("arch full_attention").classes[0].cost["time"].expr
    assert time is not None
    assert machine_symbols(time) >= {"P_matmul", "W", "t_launch", "t_step"}
    assert not machine_symbols(time) & {"b", "n", "d", "h"}
