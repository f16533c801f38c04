"""Which stored points a session shows."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from costlab_gui.model.session import Session
from costlab_gui.model.stored import fitting

SESSION = Session(programs=("lstm", "gru"))
SIZES = {"b": (1, 2), "n": (64, 128), "d": (256, 512), "z": (3,)}


def _belongs(point: dict[str, Any], session: Session, target: str) -> bool:
    """What is meant, asked of one point."""
    setting, sizes = session.setting, point["sizes"]
    return (
        (point["architecture"], point["mode"], point["dtype"])
        == (target, setting.mode, setting.dtype)
        and session.over in sizes
        and all(
            setting.sizes.get(name, value) == value
            for name, value in sizes.items()
            if name != session.over
        )
    )


def _points(count: int) -> tuple[dict[str, Any], ...]:
    draw = random.Random(5)
    return tuple(
        {
            "architecture": draw.choice(("lstm", "gru", "mamba")),
            "mode": draw.choice(("forward", "train")),
            "dtype": draw.choice(("float32", "bfloat16")),
            "sizes": {k: draw.choice(v) for k, v in SIZES.items() if draw.random() < 0.8},
        }
        for _number in range(count)
    )


def test_the_points_of_a_setting_are_found_in_their_order() -> None:
    points, found = _points(400), 0
    for over in ("n", "d"):
        for mode in ("forward", "train"):
            for d in (256, 512):
                setting = replace(SESSION.setting, mode=mode, sizes={"b": 1, "n": 64, "d": d})
                session = replace(SESSION, setting=setting, over=over)
                for target in SESSION.programs:
                    wanted = [point for point in points if _belongs(point, session, target)]
                    assert list(fitting(points, session, target)) == wanted
                    assert list(fitting(list(points), session, target)) == wanted
                    found += len(wanted)
    assert found > 50


def test_the_same_points_are_the_same_object() -> None:
    points = _points(60)
    first = fitting(points, SESSION, "lstm")
    beside = replace(SESSION, setting=replace(SESSION.setting, sizes={**SESSION.sizes, "w": 7}))
    assert first and fitting(points, beside, "lstm") is first
