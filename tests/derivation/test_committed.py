"""The committed formulas are what the code derives now: a few picked by chance, all present."""

from __future__ import annotations

import random

import pytest

from costlab.derivation.regenerate import Choice, choices, derive_text
from costlab.formulas import store

SEED = random.SystemRandom().randrange(10**6)
PICKED = random.Random(SEED).sample([c for c in choices() if c.architecture != "gru"], 4)


def test_every_choice_is_committed() -> None:
    missing = [str(c.path.name) for c in choices() if not c.path.is_file()]

    assert missing == []


@pytest.mark.parametrize("choice", PICKED, ids=lambda c: f"{c.architecture}/{c.path.stem}")
def test_same_as_derived_now(choice: Choice) -> None:
    assert choice.path.read_text(encoding="utf-8") == derive_text(choice), f"seed {SEED}"


def test_committed_names_are_the_catalogue() -> None:
    assert set(store.names()) == {c.architecture for c in choices()}
