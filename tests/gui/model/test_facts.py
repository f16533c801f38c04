"""Orders, claims and classes of a formula."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.arch.spec import Claim
from costlab_gui.model.facts import facts, key
from costlab_gui.model.place import Place, locate
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace

SETTING = replace(Setting(), device="L4")


@pytest.fixture(scope="module")
def place() -> Place:
    return locate(SETTING, Workspace(), "full_attention")


def test_order_and_claim(place: Place) -> None:
    found = facts(place, "flop", "layer")

    assert found.order == "b·n²·d + b·n·d²"
    assert found.order_in["n"] == "n²"
    assert found.order_in["d"] == "d²"
    (verdict,) = found.verdicts
    assert verdict.agrees is True
    assert verdict.short == "core agrees with the paper"
    assert "Vaswani" in verdict.text


def test_a_paper_that_says_otherwise_is_quoted(place: Place) -> None:
    wrong = Claim("flop", "core", "n*d", "Nobody 1999", ("n",), ("d fixed",))
    other = replace(place, derivation=replace(place.derivation, claims=(wrong,)))

    (verdict,) = facts(other, "flop", "layer").verdicts

    assert verdict.agrees is False
    assert verdict.short == "differs from the paper: derived n², claimed n·d"
    assert "Nobody 1999" in verdict.text
    assert "d fixed" in verdict.text


def test_every_class_with_the_one_that_holds(place: Place) -> None:
    classes = facts(place, "flop", "layer").classes

    assert len(classes) == len(place.derivation.classes)
    assert [item.holds for item in classes].index(True) == place.index
    assert "b = 1" in classes[place.index].domain


def test_scopes_and_classes_are_kept_apart(place: Place) -> None:
    keys = {
        key(place, "flop", "layer"), key(place, "flop", "core"), key(place, "bytes", "layer"),
        key(replace(place, index=0), "flop", "layer"), key(replace(place), "flop", "layer"),
    }  # fmt: skip

    assert len(keys) == 4
