"""Sizes as written on the command line, and the rule for h, k and d."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.errors import SizeError
from costlab.symbols import (
    MACHINE,
    SIZES,
    SYMBOLS,
    complete,
    describe,
    expand,
    is_assignment,
    parse_size,
    parse_sizes,
    parse_values,
    single,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("512", 512), ("4k", 4096), ("4K", 4096), ("1M", 1_048_576), ("1.5k", 1536)],
)
def test_parse_size(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["0", "-5", "abc", "", "1.5", "4kk", "0x10", "1e3", "0k", "١٢a"])
def test_parse_size_refuses_in_one_line(text: str) -> None:
    with pytest.raises(SizeError, match=re.escape("n must be a positive integer")) as caught:
        parse_size(text, "n")

    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parse_size_knows_the_range_of_the_symbol() -> None:
    with pytest.raises(SizeError, match="h is out of range"):
        parse_size("2G", "h")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("256,512", (256, 512)),
        ("256:8192:x2", (256, 512, 1024, 2048, 4096, 8192)),
        ("256:1k:+256", (256, 512, 768, 1024)),
        ("3:20:x3", (3, 9)),
        ("7:7:x2", (7,)),
        ("1,2:8:x2,8", (1, 2, 4, 8)),
    ],
)
def test_parse_values(text: str, expected: tuple[int, ...]) -> None:
    assert parse_values(text) == expected


@pytest.mark.parametrize(
    "text", ["8:4:x2", "1:8:x1", "1:8:+0", "1:8", "1:8:2", "1:8:x", ":8:x2", "1,,2", "1:1M:+1"]
)
def test_parse_values_refuses(text: str) -> None:
    with pytest.raises(SizeError):
        parse_values(text, "n")


@given(st.integers(1, 500), st.integers(0, 5000), st.integers(1, 70))
def test_a_range_is_what_range_says(first: int, span: int, step: int) -> None:
    last = first + span

    assert parse_values(f"{first}:{last}:+{step}") == tuple(range(first, last + 1, step))


def test_parse_sizes() -> None:
    assert parse_sizes(["n=256,512", "d=1k", "my_size=3"]) == {
        "n": (256, 512),
        "d": (1024,),
        "my_size": (3,),
    }


@pytest.mark.parametrize("words", [["n"], ["=3"], ["n=1", "n=2"], ["2n=4"]])
def test_parse_sizes_refuses(words: list[str]) -> None:
    with pytest.raises(SizeError):
        parse_sizes(words)


def test_a_path_is_not_a_size() -> None:
    assert not is_assignment("models/a=b.py:build")
    assert is_assignment("n=4k")


def test_expand_and_single() -> None:
    assert expand({"n": (1, 2), "d": (3,)}) == [{"n": 1, "d": 3}, {"n": 2, "d": 3}]
    assert single({"n": (7,)}) == {"n": 7}
    with pytest.raises(SizeError, match="n takes one value"):
        single({"n": (7, 8)})
    with pytest.raises(SizeError, match="too many combinations"):
        expand({"n": tuple(range(1, 300)), "d": tuple(range(1, 300))})


@pytest.mark.parametrize(
    ("given_sizes", "expected"),
    [
        ({"h": 4, "k": 16}, {"h": 4, "k": 16, "d": 64}),
        ({"d": 96, "k": 12}, {"h": 8, "k": 12, "d": 96}),
        ({"d": 96, "h": 3}, {"h": 3, "k": 32, "d": 96}),
        ({"d": 256}, {"h": 8, "k": 32, "d": 256}),
        ({"k": 64}, {"h": 8, "k": 64, "d": 512}),
        ({"h": 16}, {"h": 16, "k": 32, "d": 512}),
        ({}, {"h": 8, "k": 64, "d": 512}),
        ({"h": 2, "k": 5, "d": 10}, {"h": 2, "k": 5, "d": 10}),
    ],
)
def test_complete_heads(given_sizes: dict[str, int], expected: dict[str, int]) -> None:
    """Two of h, k, d decide the third; one is joined by a default (h = 8, d = 512 here)."""
    assert complete(given_sizes, {"h": 8, "d": 512}) == expected


@pytest.mark.parametrize(
    "given_sizes", [{"h": 7, "k": 64, "d": 512}, {"h": 7}, {"d": 100}, {"d": 512, "k": 100}]
)
def test_complete_names_all_three_in_a_contradiction(given_sizes: dict[str, int]) -> None:
    with pytest.raises(SizeError) as caught:
        complete(given_sizes, {"h": 8, "d": 512})

    assert re.search(r"h=.*k=.*d=", str(caught.value))


def test_complete_without_heads_keeps_the_width() -> None:
    assert complete({"n": 9}, {"d": 64, "b": 2}) == {"n": 9, "d": 64, "b": 2}


def test_every_symbol_has_a_meaning_and_a_range() -> None:
    assert set("bnmdhgkpqfLVwcRrsetGEua") == set(SIZES)
    assert SYMBOLS.keys() == SIZES.keys() | MACHINE.keys()
    for name, symbol in SYMBOLS.items():
        assert symbol.name == name
        assert symbol.meaning
        assert symbol.maximum is None or symbol.minimum <= symbol.maximum


def test_describe_knows_rates_of_operator_classes() -> None:
    rate = describe("P_matmul")

    assert rate is not None
    assert rate.unit == "FLOP/s"
    assert describe("my_size") is None
