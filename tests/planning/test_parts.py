"""Committed formulas of parts are what their programs give now."""

from __future__ import annotations

import pytest

from costlab.derivation.parts import choices, derive_part


@pytest.mark.parametrize("factory", ["linear", "attention_core", "state_space_decode"])
def test_committed_parts_are_derived_again(factory: str) -> None:
    choice = list(choices([factory]))[-1]
    assert derive_part(choice) == choice.path.read_text(encoding="utf-8")


def test_every_part_is_committed() -> None:
    assert [c.path.name for c in choices() if not c.path.is_file()] == []
