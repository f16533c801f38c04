"""The JSON of the commands has the fields and types that other programs rely on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.formulas.text import parse

NUMBER = (int, float)
QUANTITIES = (
    "flop", "flop_matmul", "flop_useful", "bytes", "peak_bytes", "peak_bytes_step", "saved_bytes",
    "state_bytes", "parameters", "launches", "steps", "time",
)  # fmt: skip


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    """The JSON a command prints; NaN and infinity are no JSON."""

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=refuse)


def check(data: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Every field is there and of one of its types; a bool is no number."""
    for name, kinds in fields.items():
        assert name in data, name
        assert isinstance(data[name], kinds), (name, data[name])
        if kinds in (int, NUMBER):
            assert not isinstance(data[name], bool), name


def check_cost(cost: Mapping[str, Any], values: Mapping[str, int]) -> None:
    """Each quantity as CONTRACT has it; ``expr`` is its largest list of ``terms``."""
    assert set(cost) == set(QUANTITIES)
    for name, entry in cost.items():
        if entry["expr"] is None:
            check(entry, {"reason": str})
            continue
        check(
            entry,
            {"expr": str, "terms": list, "order": str, "order_in": dict, "latex": str,
             "core": (str, type(None))},
        )  # fmt: skip
        if "claim" in entry:
            check(entry["claim"], dict.fromkeys(("quantity", "scope", "order", "source"), str))
            check(entry["claim"], {"conditions": list})
            check(entry, {"agrees": bool})
        if name == "time":
            continue
        expected = parse(entry["expr"]).evaluate(values)
        assert max(_value(terms, values) for terms in entry["terms"]) == expected


def _value(terms: list[Any], values: Mapping[str, int]) -> Fraction:
    total = Fraction(0)
    for coefficient, powers in terms:
        product = Fraction(coefficient)
        for symbol, power in powers.items():
            product *= Fraction(parse(symbol).evaluate(values)) ** power
        total += product
    return total


@pytest.mark.parametrize("mode", ["forward", "train"])
def test_derive(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "derive", "full_attention", "--mode", mode)

    assert data["schema"] == "costlab.derive/1"
    check(
        data,
        {"architecture": str, "mode": str, "dtype": str, "backend": str, "derived": str,
         "rerolled": list, "verified_at": list, "symbols": dict, "domain": list, "classes": list,
         "gaps": list, "convention": str, "cost": dict},
    )  # fmt: skip
    assert data["derived"] in ("proved", "verified")
    values = {"b": 3, "n": 35, "d": 24, "h": 4, "threads": 1}
    check_cost(data["cost"], values)
    for other in data["classes"]:
        check(other, {"domain": list, "cost": dict})
        check_cost(other["cost"], values)
    for sizes in data["verified_at"]:
        assert all(type(size) is int for size in sizes.values())


def test_derive_parts_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    for by in ("op", "module"):
        data = answer(capsys, "derive", "full_attention", "--by", by)
        for name in ("flop", "bytes", "launches"):
            whole = parse("0")
            for part in data["parts"]:
                whole = whole + parse(part.get(name, "0"))
            assert whole == parse(data["cost"][name]["expr"])


def test_predict(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "predict", "full_attention", "rnn", "n=2,9,33", "d=64", "--device", "L4")

    assert data["schema"] == "costlab.predict/1"
    assert len(data["points"]) == 6
    optional = (int, type(None))
    for point in data["points"]:
        check(
            point,
            {"architecture": str, "mode": str, "dtype": str, "device": str, "sizes": dict,
             "flop": int, "flop_useful": int, "bytes": int, "peak_bytes": int, "steps": int,
             "reserved_bytes": optional, "device_bytes": optional, "time_s": NUMBER,
             "time_interval_s": list, "basis": str, "limiter": str,
             "energy_j": (*NUMBER, type(None)), "energy_reason": str, "doubling": dict,
             "assumptions": list, "gaps": list},
        )  # fmt: skip
        low, high = point["time_interval_s"]
        assert (point["basis"], high) == ("datasheet bound", None)
        assert low <= point["time_s"]
        for factors in point["doubling"].values():
            assert set(factors) >= {"time", "peak_bytes", "flop", "state_bytes"}


def test_crossover(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["crossover", "full_attention", "feed_forward", "--over", "n", "d=64", "f=256"]
    data = answer(capsys, *argv, "--metric", "flop", "--fits", "1GiB", "--terms")

    assert data["schema"] == "costlab.crossover/1"
    (turn,) = data["crossovers"]
    check(turn, {"a": str, "b": str, "variable": str, "at": int, "interval": list, "metric": str})
    assert {one["architecture"] for one in data["ceilings"]} == {"full_attention", "feed_forward"}
    for one in data["ceilings"]:
        check(one, {"architecture": str, "variable": str, "at": int, "binds": str})
    for one in data["terms"]:
        check(one, {"term": str, "rest": str, "at": NUMBER, "metric": str})
    assert data["sizes"]["feed_forward"] == {"b": 1, "d": 64, "f": 256}


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "list")

    assert data["schema"] == "costlab.list/1"
    for entry in data["architectures"]:
        check(
            entry,
            {"name": str, "kind": str, "family": str, "modes": list, "symbols": list,
             "claims": list},
        )  # fmt: skip
        for claim in entry["claims"]:
            check(claim, dict.fromkeys(("quantity", "scope", "order", "source"), str))


def test_map_and_diff(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["map", "full_attention", "rnn", "--over", "n,d", "n=16,64", "d=64,128,256"]
    data = answer(capsys, *grid, "--metric", "flop")
    assert data["schema"] == "costlab.map/1"
    assert [len(row) for row in data["winner"]] == [2, 2, 2]

    data = answer(capsys, "diff", "full_attention", "rnn")
    assert data["schema"] == "costlab.diff/1"
    for entry in data["cost"]:
        check(entry, {"quantity": str, "equal": bool, "only_a": list, "only_b": list})
