"""The formula of a quantity: terms, values, shares."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from costlab.formulas import store
from costlab.prediction.api import predict
from costlab_gui.model.explore import point
from costlab_gui.model.formula import COLOURED, QUANTITIES, View, view
from costlab_gui.model.place import locate
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace

SETTING = replace(Setting(), device="L4")


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def _view(workspace: Workspace, target: str, quantity: str, **sizes: int) -> View:
    return view(locate(SETTING, workspace, target, sizes), quantity)


@pytest.mark.parametrize("target", ["full_attention", "sliding_window", "lstm", "lsh_attention"])
def test_values_are_those_of_the_prediction(workspace: Workspace, target: str) -> None:
    prediction = point(SETTING, workspace, target, {})

    for quantity in ("flop", "flop_useful", "bytes", "peak_bytes", "launches", "steps"):
        found = _view(workspace, target, quantity)
        value = None if found.total is None else round(found.total)
        assert value == getattr(prediction, quantity)
    assert _view(workspace, target, "time").total == prediction.time_s


@pytest.mark.parametrize("target", ["transformer_block", "lstm", "sliding_window"])
def test_a_training_step_too(workspace: Workspace, target: str) -> None:
    setting = replace(SETTING, mode="train")
    derivation = store.load(target, "train", "float32", "cuda")
    sizes = {name: size for name, size in setting.sizes.items() if name in derivation.sizes}

    place = locate(setting, workspace, target)
    expected = derivation.evaluate("saved_bytes", "peak_bytes", **{**sizes, "threads": 1})

    assert view(place, "saved_bytes").total == expected["saved_bytes"]
    assert view(place, "peak_bytes").total == expected["peak_bytes"]
    assert view(place, "time").total == predict(derivation, sizes, "L4").time_s


@pytest.mark.parametrize("target", ["full_attention", "sliding_window", "lstm", "rnn_cell_loop"])
def test_terms_add_up(workspace: Workspace, target: str) -> None:
    for quantity in QUANTITIES:
        found = _view(workspace, target, quantity, b=2)
        if found.total:
            assert math.isclose(sum(part.share for part in found.parts), 1, rel_tol=1e-12)
            assert math.isclose(sum(p.value for p in found.parts), found.total, rel_tol=1e-12)
            assert max(part.colour for part in found.parts) < COLOURED


def test_numbers_are_put_in(workspace: Workspace) -> None:
    quadratic = _view(workspace, "full_attention", "flop").parts[0]

    assert quadratic.term.text == "4·b·n²·d"
    assert quadratic.term.latex == "4 b n^{2} d"
    assert quadratic.numbers == "4·1·4096²·512"
    assert quadratic.value == 4 * 4096**2 * 512


def test_the_picture_changes_with_the_class_only(workspace: Workspace) -> None:
    at = {n: _view(workspace, "sliding_window", "flop", n=n).picture for n in (1024, 4096, 4097)}

    assert at[1024] == at[4096]
    assert at[4096] != at[4097]  # a window that does not divide the length is padded


def test_the_greatest_moment_decides(workspace: Workspace) -> None:
    """A long sequence peaks in the scores, a short one in the tensors of the projections."""
    long, short = (_view(workspace, "full_attention", "peak_bytes", n=n, b=2) for n in (8192, 16))

    assert (long.exprs, long.winner) != (short.exprs, short.winner)
    for found in (long, short):
        values = [expr.evaluate(found.place.sizes) for expr in found.exprs]
        assert found.total == max(values) == values[found.winner]


def test_sizes_without_a_formula_leave_the_formula(workspace: Workspace) -> None:
    found = _view(workspace, "full_attention", "flop", h=7)

    assert found.total is None
    assert "h" in found.problem
    assert [part.term.text for part in found.parts][:2] == ["4·b·n²·d", "8·b·n·d²"]


def test_what_has_no_formula_says_why(workspace: Workspace) -> None:
    assert "no state" in _view(workspace, "full_attention", "state_bytes").problem
    assert not _view(workspace, "full_attention", "state_bytes").parts
