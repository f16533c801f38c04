"""Knees against what the formulas and the limiters are on both sides of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab_gui.model.explore import point
from costlab_gui.model.knees import knees
from costlab_gui.model.landmarks import landmarks
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace

WORKSPACE = Workspace()
SESSION = Session(
    programs=("full_attention", "lstm"),
    setting=replace(Setting(), device="L4"),
    metrics=("flop",),
)


def _knees(session: Session, metric: str) -> tuple[tuple[int, str], ...]:
    program = WORKSPACE.derivation(session.selected, session.setting)
    machine = WORKSPACE.machine(session.setting)
    return tuple((knee.at, knee.text) for knee in knees(session, program, machine, metric))


def test_the_square_of_n_exceeds_the_rest_where_its_terms_do() -> None:
    ((at, _text),) = _knees(SESSION, "flop")

    # 8 b n d^2 of projections against 4 b n^2 d of scores and mixing: at n = 2 d, and the
    # elementwise terms of the softmax, of the order of h n^2, draw it a little nearer.
    assert at == pytest.approx(2 * 512, rel=0.05)


def test_time_bends_where_the_limiter_changes() -> None:
    found = _knees(replace(SESSION, selected="lstm"), "time")

    assert found
    for at, text in found:
        sides = [
            point(SESSION.setting, WORKSPACE, "lstm", {"n": size}).limiter
            for size in (at * 100 // 102, at)
        ]
        assert sides[0] != sides[1], f"{text} from {at}"
        assert text == f"bound by {sides[1]}"


def test_the_knee_is_ringed_on_the_curve_and_listed() -> None:
    shown = landmarks(SESSION, WORKSPACE)

    (ring,) = [ring for ring in shown.rings["flop"] if "exceed all others" in ring.label]
    exact = point(SESSION.setting, WORKSPACE, "full_attention", {"n": int(ring.x)})
    assert ring.y == pytest.approx(exact.to_json()["flop"])
    (line,) = [line for line in shown.lines if "exceed all others" in line.text]
    assert line.at == ring.x and line.text.startswith("Full attention: ")


def test_one_power_has_no_knee() -> None:
    assert _knees(replace(SESSION, selected="lstm", low=1024), "flop") == ()
