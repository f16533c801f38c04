"""What is drawn of a formula, and what the copy buttons give."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from costlab_gui.model.formula import COLOURED, View, view
from costlab_gui.model.pieces import DIM, as_latex, as_python, as_text, pieces, plain_line, where
from costlab_gui.model.place import locate
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace

SETTING = replace(Setting(), device="cpu-2core")


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def _view(workspace: Workspace, target: str, quantity: str, mode: str = "forward") -> View:
    return view(locate(replace(SETTING, mode=mode), workspace, target, {"b": 2}), quantity)


def test_each_term_has_its_colour(workspace: Workspace) -> None:
    found = pieces(_view(workspace, "full_attention", "flop_matmul"))

    assert [(piece.text, piece.colour) for piece in found] == [
        ("4·b·n²·d", 0), ("+", None), ("8·b·n·d²", 1),
    ]  # fmt: skip
    assert [piece.breaks for piece in found] == [True, True, False]  # no line ends in a sign


def test_of_a_maximum_the_greatest_is_in_colour(workspace: Workspace) -> None:
    shown = _view(workspace, "full_attention", "peak_bytes")
    found = pieces(shown)

    assert found[0].text == "max"
    coloured = [p.text for p in found if p.colour is not None and p.colour != DIM]
    assert coloured == [part.term.text for part in shown.parts]
    assert any(piece.colour == DIM for piece in found)
    assert plain_line(shown).startswith("max(")


def test_a_long_maximum_shows_the_greatest_alone(workspace: Workspace) -> None:
    shown = _view(workspace, "transformer_block", "peak_bytes", "train")

    assert len(shown.exprs) > 3
    assert len([p for p in pieces(shown) if p.text not in "+−"]) == len(shown.parts)
    assert max(part.colour for part in shown.parts) == COLOURED - 1


def test_long_functions_are_named_and_explained(workspace: Workspace) -> None:
    shown = _view(workspace, "lstm", "peak_bytes")

    names = [name for name in ("u₁", "u₂") if name in plain_line(shown)]
    assert names
    for name in names:
        assert any(line.startswith(f"{name} = ceiling(") for line in where(shown))


@pytest.mark.parametrize(
    ("target", "quantity", "mode"),
    [
        ("full_attention", "flop", "forward"),
        ("sliding_window", "flop_useful", "train"),
        ("sliding_window", "peak_bytes", "train"),
        ("lstm", "peak_bytes", "train"),
        ("lsh_attention", "flop", "forward"),
    ],
)
def test_python_computes_the_value(
    workspace: Workspace, target: str, quantity: str, mode: str
) -> None:
    shown = _view(workspace, target, quantity, mode)
    names: dict[str, Any] = {}

    exec(as_python(shown), names)
    function = names[quantity]
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    value = function(**{name: shown.place.sizes[name] for name in arguments})

    assert shown.total is not None
    assert math.isclose(value, shown.total, rel_tol=1e-12)


def test_text_ends_in_the_value(workspace: Workspace) -> None:
    shown = _view(workspace, "sliding_window", "flop_useful")
    lines = as_text(shown).splitlines()

    assert "·" in lines[0]
    assert " − 4·2·512·256²" in lines[1]
    assert lines[2] == f"= {shown.total:,} FLOP".replace(",", " ")


def test_latex_names_the_quantity(workspace: Workspace) -> None:
    text = as_latex(_view(workspace, "full_attention", "peak_bytes"))

    assert text.startswith(r"\mathrm{peak\_bytes} = 4 \max\left(")
