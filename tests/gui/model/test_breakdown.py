"""A quantity taken apart adds up to the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from costlab_gui.model.breakdown import Row, breakdown, peak_moment, ways
from costlab_gui.model.formula import View, view
from costlab_gui.model.place import locate
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace

SETTING = replace(Setting(), device="cpu-2core")


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def _view(
    workspace: Workspace, target: str, quantity: str, mode: str = "forward", scope: str = "layer"
) -> View:
    return view(locate(replace(SETTING, mode=mode), workspace, target), quantity, scope)


def _parents(rows: tuple[Row, ...]) -> Iterator[Row]:
    for row in rows:
        if row.children:
            yield row
            yield from _parents(row.children)


@pytest.mark.parametrize(
    ("target", "mode"), [("full_attention", "forward"), ("transformer_block", "train")]
)
@pytest.mark.parametrize("quantity", ["flop", "bytes", "launches", "time", "peak_bytes"])
def test_parts_add_up(workspace: Workspace, target: str, mode: str, quantity: str) -> None:
    shown = _view(workspace, target, quantity, mode)
    assert shown.total

    for by, _title in ways(shown):
        rows = breakdown(shown, by)
        assert rows
        if by != "moment":
            assert math.isclose(sum(row.share for row in rows), 1, rel_tol=1e-9)
            assert math.isclose(sum(row.value for row in rows), shown.total, rel_tol=1e-9)
        for row in _parents(rows):
            assert math.isclose(sum(c.value for c in row.children), row.value, rel_tol=1e-9)


def test_modules_are_a_tree(workspace: Workspace) -> None:
    rows = breakdown(_view(workspace, "transformer_block", "flop", "train"), "module")

    (blocks,) = rows
    parts = {row.name: row for row in blocks.children}
    assert {"attention", "feed_forward"} <= parts.keys()
    assert {row.name for row in parts["attention"].children} >= {"q", "k", "v", "core", "o"}


def test_the_core_alone(workspace: Workspace) -> None:
    whole = _view(workspace, "full_attention", "flop")
    core = _view(workspace, "full_attention", "flop", scope="core")

    assert core.total == sum(row.value for row in breakdown(core, "op"))
    (part,) = [row for row in breakdown(whole, "module") if row.name == "core"]
    assert part.value == core.total


def test_the_peak_names_its_moment(workspace: Workspace) -> None:
    shown = _view(workspace, "full_attention", "peak_bytes")
    moments = breakdown(shown, "moment")

    greatest = max(moments, key=lambda row: row.value)
    assert greatest.value == shown.total
    assert peak_moment(shown.place) == greatest.name == "softmax in core, forward"
    assert {row.name for row in breakdown(shown, "kind")} == {"parameters", "inputs", "temporary"}


def test_what_is_one_formula_has_no_parts(workspace: Workspace) -> None:
    assert ways(_view(workspace, "full_attention", "parameters")) == ()
    assert breakdown(_view(workspace, "full_attention", "parameters"), "op") == ()
