"""The committed formulas are what the code derives now: a few picked by chance, all present."""

from __future__ import annotations

import random

from costlab.derivation.regenerate import choices, derive_text, folder
from costlab.formulas import index, store


def test_every_choice_is_committed() -> None:
    missing = [str(c.path.name) for c in choices() if not c.path.is_file()]

    assert missing == []


# These take from seconds to half a minute each; `make formulas` derives all.
SLOW = {
    "bidirectional_gru", "bidirectional_lstm", "gru", "lsh_attention", "stacked_gru",
    "stacked_lstm",
}  # fmt: skip


def test_some_are_the_same_as_derived_now(seed: int) -> None:
    quick = [c for c in choices() if c.architecture not in SLOW]

    for choice in random.Random(seed).sample(quick, 4):
        assert choice.path.read_text(encoding="utf-8") == derive_text(choice), choice.path.stem


def test_committed_names_are_the_catalogue() -> None:
    assert set(store.names()) == {c.architecture for c in choices()}


def test_the_index_agrees_with_the_formulas() -> None:
    assert (folder() / index.FILE).read_text(encoding="utf-8") == index.text()
    for name in store.names():
        orders = index.orders(name)
        assert orders["layer"] == str(store.load(name).order("flop"))
        assert set(orders) <= set(index.SCOPES)
