"""Which sizes have a control, and what changes with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.arch import registry
from costlab.symbols import SIZES
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.sizes import Sizes, changed_sizes, sizes_of, snap_of
from costlab_gui.model.workspace import Workspace


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def shown(workspace: Workspace, *programs: str, **sizes: int) -> Sizes:
    setting = Setting(sizes={"n": 1024, "d": 512, "h": 8, "w": 64, **sizes})
    return sizes_of(replace(Session(programs=programs), setting=setting), workspace)


def test_every_symbol_of_the_chosen_programs_has_a_line_and_no_other(workspace: Workspace) -> None:
    for programs in [("lstm",), ("full_attention", "sliding_window"), ("transformer_block",), ()]:
        wanted = {name for target in programs for name in registry.spec(target).symbols}
        assert {line.name for line in shown(workspace, *programs).lines} == wanted
    names = [line.name for line in shown(workspace, "lstm", "sliding_window").lines]
    assert names == ["n", "d", "w", "h", "b"]


def test_a_line_says_what_the_symbol_means_and_who_has_it(workspace: Workspace) -> None:
    line = shown(workspace, "lstm", "sliding_window").line("w")
    assert line.meaning == SIZES["w"].meaning
    assert line.used_by == (workspace.title("sliding_window"),)
    assert line.value == 64


def test_what_the_session_leaves_open_has_the_default_of_the_program(workspace: Workspace) -> None:
    block = registry.spec("transformer_block")
    assert shown(workspace, "transformer_block").line("f").value == block.defaults["f"]


def test_the_window_ends_at_the_sequence(workspace: Workspace) -> None:
    assert shown(workspace, "sliding_window").line("w").high == 1024
    wide = shown(workspace, "sliding_window", w=2000).line("w")
    assert wide.problem == "w is larger than n = 1024"
    assert not shown(workspace, "sliding_window").line("w").problem


def test_heads_that_do_not_divide_the_width_are_said(workspace: Workspace) -> None:
    sizes = shown(workspace, "full_attention", h=7)
    assert sizes.line("h").problem == "h must divide d = 512"
    assert sizes.head_size is not None and sizes.head_size.value is None
    assert not sizes.line("d").problem


def test_the_head_size_is_linked(workspace: Workspace) -> None:
    assert shown(workspace, "lstm").head_size is None
    sizes = shown(workspace, "full_attention")
    assert sizes.head_size is not None and sizes.head_size.value == 64

    assert changed_sizes(sizes, "k", 128, keep_head_size=False) == {"d": 1024}
    assert changed_sizes(sizes, "d", 1024, keep_head_size=False) == {"d": 1024}
    assert changed_sizes(sizes, "d", 1024, keep_head_size=True) == {"d": 1024, "h": 16}
    assert changed_sizes(sizes, "h", 4, keep_head_size=True) == {"h": 4, "d": 256}
    assert changed_sizes(sizes, "d", 1000, keep_head_size=True) == {"d": 1000}
    assert changed_sizes(sizes, "n", 7, keep_head_size=True) == {"n": 7}


def test_sliders_stop_where_heads_divide(workspace: Workspace) -> None:
    sizes = shown(workspace, "full_attention", h=12, d=768)
    assert snap_of(sizes, "d", keep_head_size=False).nearest(1000) % 12 == 0
    assert snap_of(sizes, "d", keep_head_size=True).nearest(1000) % 64 == 0
    assert 768 % snap_of(sizes, "h", keep_head_size=False).nearest(10) == 0
    assert snap_of(sizes, "h", keep_head_size=True).nearest(34) == 32
