"""The structure page's data: counted by hand on a window, and against the committed masks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab.figures.spec import FigureSpec, PatternSpec
from costlab.formulas.structure import load
from costlab_gui.model.session import Session
from costlab_gui.model.structure import (
    DEPTH,
    GRADIENT,
    PATHS,
    PATTERN,
    VIEWS,
    at_sentence,
    cell_sentence,
    facts,
    notes,
    sentences,
    view,
)
from costlab_gui.model.workspace import Workspace

WORKSPACE = Workspace()
SESSION = Session(programs=("sliding_window", "rnn", "full_attention"), selected="sliding_window")


def _figure(session: Session, which: str) -> FigureSpec:
    found = view(session, WORKSPACE, which).figure
    assert isinstance(found, FigureSpec)
    return found


def test_a_window_of_4_reads_4_on_each_side() -> None:
    shown = view(SESSION, WORKSPACE, PATTERN, upto=99)
    figure, known = shown.figure, shown.selected
    assert isinstance(figure, PatternSpec) and known is not None

    n, w = 48, 4
    assert known.largest.edges == sum(
        min(i + w, n - 1) - max(i - w, 0) + 1 for i in range(n)
    )  # fmt: skip
    # A layer carries w positions further.
    assert figure.layers[0] == (1, *(-(-j // w) for j in range(1, n)))
    assert known.diameter == figure.upto == -(-(n - 1) // w)
    words = " ".join(sentences(known))
    assert "412 edges" in words
    assert "is connected: 12 = ceiling((n - 1)/w)" in words
    assert "25 operators in a row at n = 24, the same at every length" in words
    assert ("diameter in layers", "12 = ceiling((n - 1)/w)") in facts(known)
    assert cell_sentence(known, 24, 33) == (
        "Output 24 reads 9 of 48 positions: 20–28. It depends on position 33 over 3 layers."
    )
    assert cell_sentence(known, 1, 1).endswith("1–5. Position 1 is one of them.")


def test_options_of_the_session_choose_the_pattern() -> None:
    causal = replace(SESSION, setting=replace(SESSION.setting, options={"causal": True}))
    known = view(causal, WORKSPACE, PATTERN).selected
    assert known is not None

    assert known.title == "Sliding-window attention, causal"
    assert known.structure is load("sliding_window")[1]
    assert "It never depends on position 48." in cell_sentence(known, 3, 48)


def test_paths_reach_all_pairs_at_the_diameter() -> None:
    window, rnn, full = _figure(SESSION, PATHS).series

    assert window.x == rnn.x == tuple(map(float, range(13)))
    assert rnn.y[1] == full.y[1] == 100.0
    assert window.y[0] == 0.0 and window.y[11] < 100.0 == window.y[12]
    # Over one layer: the edges but each output's own position, of all n (n - 1) pairs.
    assert window.y[1] == pytest.approx(100 * (412 - 48) / (48 * 47))


def test_depth_of_a_recurrent_module_grows_with_n_and_of_attention_does_not() -> None:
    window, rnn, full = _figure(SESSION, DEPTH).series

    assert rnn.y == tuple(float(chain) for _n, chain in load("rnn")[0].chains)
    assert rnn.y[-1] - rnn.y[0] == 3 * (rnn.x[-1] - rnn.x[0])
    assert len(set(full.y)) == len(set(window.y)) == 1
    mamba = view(replace(SESSION, programs=("mamba", "rnn")), WORKSPACE, DEPTH)
    assert "writes its own gradient" in mamba.problems["mamba"]


def test_gradients_vanish_below_and_explode_above_a_spectral_radius_of_one() -> None:
    figure = _figure(replace(SESSION, selected="rnn"), GRADIENT)
    by_name = {series.name: dict(zip(series.x, series.y, strict=True)) for series in figure.series}

    assert by_name["RNN, spectral radius 0.9"][63] == pytest.approx(100 * 0.9**63, rel=0.05)
    assert by_name["RNN, spectral radius 1.1"][63] == pytest.approx(100 * 1.1**63, rel=0.05)
    assert max(by_name["Sliding-window attention"]) == 4  # the window's end
    colours = [series.colour for series in figure.series]
    assert len(set(colours)) == len(colours)
    assert len(_figure(SESSION, GRADIENT).series) == 3
    assert at_sentence(figure, 3.2).startswith("distance 3: Sliding-window attention ")


def test_a_program_without_structure_says_so() -> None:
    own = replace(SESSION, programs=("cross_entropy", "rnn"), selected="cross_entropy")

    pattern = view(own, WORKSPACE, PATTERN)
    assert pattern.figure is None and pattern.selected is None
    assert pattern.why.startswith("The structure of Cross-entropy loss is not known")
    assert pattern.why.endswith("such as RNN.")
    paths = view(own, WORKSPACE, PATHS)
    assert [known.target for known in paths.programs] == ["rnn"]
    assert list(paths.problems) == ["cross_entropy"]
    alone = view(replace(own, programs=("cross_entropy",)), WORKSPACE, GRADIENT)
    assert alone.figure is None and alone.why


def test_what_mixes_no_positions_has_a_pattern_without_paths() -> None:
    alone = replace(SESSION, programs=("feed_forward",), selected="feed_forward")
    known = view(alone, WORKSPACE, PATTERN, upto=5).selected
    assert known is not None

    assert known.diameter == 0 and known.connected == ()
    assert "No output depends on another position" in " ".join(sentences(known))
    assert view(alone, WORKSPACE, PATHS).figure is None


@pytest.mark.parametrize("which", VIEWS)
def test_notes_say_what_a_picture_is_of(which: str) -> None:
    said = " ".join(notes(view(SESSION, WORKSPACE, which), which))

    assert "Found by gradients through the module" in said
    assert ("w = 4" in said) == (which == PATTERN)
