"""Sessions survive a file and a move to another folder; bad files are one clear line."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.errors import InputError
from costlab_gui.model.session import DTYPES, METRICS, MODES, Budget, Session, Setting, ToMeasure
from costlab_gui.model.session_file import from_json, load, save, to_json
from costlab_gui.model.to_plan import ToPlan

settings = st.builds(
    Setting,
    mode=st.sampled_from(MODES),
    dtype=st.sampled_from(DTYPES),
    device=st.sampled_from(["this", "L4", "H100-80G-SXM"]),
    threads=st.none() | st.integers(1, 64),
    options=st.dictionaries(st.sampled_from(["causal", "bias"]), st.booleans()),
    sizes=st.dictionaries(st.sampled_from("bndhw"), st.integers(1, 2**20)),
)
positive = st.none() | st.floats(1e-9, 1e15)
sessions = st.builds(
    Session,
    colours=st.dictionaries(st.sampled_from(["lstm", "gru"]), st.integers(0, 30)),
    hidden=st.lists(st.sampled_from(["lstm", "gru"])).map(tuple),
    setting=settings,
    reference=st.none() | settings,
    metrics=st.lists(st.sampled_from(METRICS), min_size=1).map(tuple),
    low=st.integers(1, 100),
    high=st.integers(101, 2**30),
    budget=st.builds(Budget, positive, positive, positive),
    hands=positive,
    measure=st.builds(
        ToMeasure,
        over=st.sampled_from(["", "n", "d"]),
        sizes=st.sampled_from(["", "256:8k:x2, 5000"]),
        repeats=st.integers(3, 20),
        budget=st.sampled_from(["", "2m"]),
        energy=st.booleans(),
        all=st.booleans(),
    ),
)


@given(sessions)
def test_a_session_comes_back_as_it_was(session: Session) -> None:
    data = json.loads(json.dumps(to_json(session)))

    assert from_json(data) == (session, ())


def test_paths_move_with_the_file(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    module, config, device = here / "own.py", here / "config.json", here / "mine.toml"
    for file in (module, config, device):
        file.write_text("")
    target, other = f"{module}:build", f"hf:{config}"
    session = Session(
        programs=("lstm", target, other),
        selected=target,
        setting=Setting(device=str(device)),
        opened={target: "0" * 64, other: "1" * 64},
    )
    save(session, here / "s.costlab.json")
    assert str(tmp_path) not in (here / "s.costlab.json").read_text()
    shutil.move(here, there)

    found, missing = load(there / "s.costlab.json")

    assert missing == ()
    assert found.programs == ("lstm", f"{there / 'own.py'}:build", f"hf:{there / 'config.json'}")
    assert found.selected == f"{there / 'own.py'}:build"
    assert found.setting.device == str(there / "mine.toml")
    assert set(found.opened) == set(found.programs[1:])


def test_what_is_missing_is_named_and_the_rest_opens(tmp_path: Path) -> None:
    target = f"{tmp_path / 'gone.py'}:build"
    session = Session(programs=("lstm", target), opened={target: "0" * 64})
    save(session, tmp_path / "s.json")

    found, missing = load(tmp_path / "s.json")

    assert found == session
    assert len(missing) == 1
    assert str(tmp_path / "gone.py") in missing[0]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"schema": "costlab.session/9"}, "another version"),
        ({"schema": None}, "not a session"),
        ({"low": 0}, "low"),
        ({"low": "many"}, "low"),
        ({"high": True}, "high"),
        ({"page": "cellar"}, "cellar"),
        ({"metrics": ["smell"]}, "smell"),
        ({"hands": -1}, "hands"),
        ({"setting": {"mode": "sideways"}}, "sideways"),
        ({"setting": {"sizes": {"n": -4}}}, "n"),
        ({"setting": {"sizes": {"n": 2.5}}}, "n"),
        ({"setting": 3}, "setting"),
        ({"measure": {"repeats": 2}}, "repeats"),
        ({"measure": {"sizes": 5}}, "sizes"),
        ({"colour": "red"}, "colour"),
        ({"colours": {"lstm": -1}}, "colours"),
        ({"map_over": ["n"]}, "map_over"),
        ({"plan": {"job": "daydream"}}, "daydream"),
        ({"plan": {"gpus": 8}}, "gpus"),
        ({"plan_view": "sideways"}, "plan_view"),
    ],
)
def test_impossible_contents_are_one_clear_error(change: dict[str, Any], word: str) -> None:
    data = {**to_json(Session()), **change}

    with pytest.raises(InputError, match=word) as caught:
        from_json(data)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00\xff", '"a"'])
def test_a_file_that_is_no_session(text: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(InputError):
        load(path)
    with pytest.raises(InputError):
        load(tmp_path / "none.json")


def test_fields_that_a_file_lacks_take_their_defaults() -> None:
    assert from_json({"schema": "costlab.session/1"}) == (Session(), ())
    narrow = {"schema": "costlab.session/1", "setting": {"mode": "train"}}
    assert from_json(narrow)[0] == replace(Session(), setting=Setting(mode="train"))


def test_a_plan_comes_back_and_its_files_move_along(tmp_path: Path) -> None:
    config = tmp_path / "mine" / "config.json"
    config.parent.mkdir()
    config.write_text("{}", encoding="utf-8")
    wish = ToPlan(model=str(config), job="serve", gpus="4", prompt="2k", tpot="40ms")
    session = Session(page="plan", plan=wish, plan_view="b", plan_quantity="tpot_s")
    save(session, tmp_path / "a.costlab.json")

    assert load(tmp_path / "a.costlab.json") == (session, ())
    assert json.loads((tmp_path / "a.costlab.json").read_text())["plan"]["model"] == (
        "mine/config.json"
    )
    config.unlink()
    assert load(tmp_path / "a.costlab.json")[1] == (f"missing: {config}",)
