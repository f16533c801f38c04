"""Classes: with what a narrower class takes over from its wider one, nothing else is found."""

from __future__ import annotations

import pytest

import costlab
from costlab.derivation import classes
from costlab.derivation.engine import Derived, Tracer
from costlab.derivation.sizes import SizeModel


@pytest.mark.parametrize("name", ["full_attention", "sliding_window"])
def test_a_narrower_class_is_what_it_is_when_derived_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Derived] = []

    def alone(tracer: Tracer, model: SizeModel, backend: str, like: Derived) -> None:
        taken.append(like)

    helped = costlab.derive(name, prove=False)
    monkeypatch.setattr(classes, "derive_narrowed", alone)

    assert costlab.derive(name, prove=False) == helped
    assert taken
