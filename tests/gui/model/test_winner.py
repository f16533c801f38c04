"""The map's numbers: cells agree with predictions, and the reason with both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from costlab_gui.model.explore import point
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.winner import (
    allowed_sizes,
    axis_values,
    contenders,
    explain,
    rests_on,
    winners,
)
from costlab_gui.model.workspace import Workspace

SESSION = Session(setting=replace(Setting(), device="L4", mode="train"))


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


@pytest.mark.parametrize("metric", ["time", "memory"])
def test_cells_have_the_colour_of_the_cheapest_prediction(
    workspace: Workspace, metric: str
) -> None:
    session = replace(SESSION, map_metric=metric)
    found = winners(session, workspace, cells=24)
    spec = found.figure
    assert spec is not None
    field = {"time": "time_s", "memory": "peak_bytes"}[metric]

    checked = 0
    for row in range(3, 24, 8):
        for column in range(3, 24, 8):
            sizes = allowed_sizes(session, workspace, spec.x_values[column], spec.y_values[row])
            rows = contenders(session, workspace, found, sizes)
            for one in rows:
                predicted = point(session.setting, workspace, one.target, sizes)
                assert one.value == pytest.approx(getattr(predicted, field))
            if len(rows) < len(found.targets) or rows[1].value < 1.15 * rows[0].value:
                continue
            assert found.targets[spec.best[row][column]] == rows[0].target
            checked += 1
    assert checked > 1


def test_colours_and_names_are_those_of_the_list(workspace: Workspace) -> None:
    session = replace(SESSION, hidden=("full_attention",))
    spec = winners(session, workspace, cells=8).figure

    assert spec is not None
    assert spec.colours == (1, 2, 3)
    assert spec.names[2] == workspace.title("lstm")


def test_the_sentence_has_winner_margin_and_reason(workspace: Workspace) -> None:
    found = winners(SESSION, workspace, cells=8)
    rows = contenders(SESSION, workspace, found, {"n": 4096, "d": 512})

    text = explain(rows, SESSION, decided=False)
    assert text.startswith(rows[0].title)
    assert f"bound by {rows[0].limiter}; {rows[1].title} takes " in text
    assert text.endswith("too close to tell")
    assert "close" not in explain(rows, SESSION, decided=True)
    assert "nothing else" in explain(rows[:1], SESSION, decided=True)
    assert "no architecture" in explain([], SESSION, decided=True)


def test_sizes_of_a_click_are_round_and_allowed(workspace: Workspace) -> None:
    sizes = allowed_sizes(SESSION, workspace, 15_455.0, 939.0)

    assert sizes["n"] == 15_360
    assert sizes["d"] % SESSION.sizes["h"] == 0
    assert abs(sizes["d"] / 939 - 1) < 0.03


def test_the_frame_stays_while_a_size_is_dragged_and_holds_it(workspace: Workspace) -> None:
    dragged = replace(SESSION, setting=replace(SESSION.setting, sizes={**SESSION.sizes, "d": 600}))
    far = replace(SESSION, setting=replace(SESSION.setting, sizes={**SESSION.sizes, "d": 100_000}))

    assert axis_values(dragged, "d", 5).tolist() == axis_values(SESSION, "d", 5).tolist()
    assert axis_values(far, "d", 5)[-1] >= 100_000
    assert axis_values(SESSION, "n", 3).tolist()[::2] == pytest.approx([128, 65_536])
    assert rests_on(dragged) == rests_on(SESSION)
    other = replace(SESSION, setting=replace(SESSION.setting, sizes={**SESSION.sizes, "b": 2}))
    assert rests_on(other) != rests_on(SESSION)


def test_what_cannot_be_mapped_says_why(workspace: Workspace) -> None:
    alone = winners(replace(SESSION, programs=("lstm",)), workspace)
    same = winners(replace(SESSION, map_over=("n", "n")), workspace)
    nowhere = winners(Session(), workspace)
    window = winners(replace(SESSION, map_over=("w", "h")), workspace, cells=8)

    assert "two architectures" in alone.why
    assert "different" in same.why
    assert "calibrat" in nowhere.why
    assert "lstm" in window.problems
    assert window.figure is not None
