"""Derivations written and read back exactly, and what is said of files that are not there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from costlab.algebra import as_expr
from costlab.errors import InputError, UnknownNameError
from costlab.formulas import store
from costlab.formulas.record import Derivation
from tests.derivation.programs import derived

REAL = [
    ("arch full_attention", "forward"),
    ("arch sliding_window", "forward"),
    ("lstm", "train"),
    ("cell_loop", "train"),
]


@pytest.mark.parametrize(("name", "mode"), REAL)
def test_round_trip_is_exact(name: str, mode: str) -> None:
    found = derived(name, mode)
    text = store.dump(found)
    back = store.unpack(json.loads(text))
    assert back == found
    assert store.dump(back) == text
    assert store.unpack(store.pack(found)) == found


def test_what_is_read_has_the_types_of_what_was_derived() -> None:
    back = store.unpack(json.loads(store.dump(derived("arch full_attention"))))
    for item in back.classes:
        assert all(q.expr is None or q.expr == as_expr(q.expr) for q in item.cost.values())
        assert all(isinstance(c.right, (int, str)) for c in item.domain)
        assert isinstance(item.groups[0].shapes, tuple)
        assert [str(c) for c in item.domain]
    sizes = {"b": 3, "n": 100, "d": 24, "h": 4, "k": 6}
    ours, theirs = (
        d.select(sizes).cost["flop"].expr for d in (back, derived("arch full_attention"))
    )
    assert ours is not None
    assert theirs is not None
    assert ours.evaluate(sizes) == theirs.evaluate(sizes)


def test_a_file_is_read_line_by_line() -> None:
    """One quantity, group or moment a line, so that a changed formula is one changed line."""
    text = store.dump(derived("arch full_attention"))
    lines = text.splitlines()
    count = len(derived("arch full_attention").classes)
    assert sum(line.startswith('    "flop": ') for line in lines) == count
    assert text.endswith("}\n")


def test_files_are_read_without_torch(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(store.dump(derived("arch full_attention")), encoding="utf-8")
    code = (
        "import json, sys; from costlab.formulas.store import unpack; "
        f"d = unpack(json.load(open({str(file)!r}))); "
        "print(d.classes[0].cost['flop_matmul'].expr, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "4*b*d*n**2 + 8*b*d**2*n False"


@pytest.mark.parametrize("schema", ["costlab.formulas/0", "costlab.derive/1", None])
def test_another_schema_is_refused(schema: str | None) -> None:
    packed = {**store.pack(derived("arch full_attention")), "schema": schema}
    with pytest.raises(InputError, match=re.escape(store.SCHEMA)):
        store.unpack(packed)


def test_text_of_a_file_is_never_executed(tmp_path: Path) -> None:
    packed = json.loads(store.dump(derived("arch full_attention")))
    harmful = f"__import__('pathlib').Path({str(tmp_path / 'made')!r}).touch()"
    packed["classes"][0]["cost"]["flop"][0] = harmful
    with pytest.raises(Exception, match="formula"):
        _ = store.unpack(packed).classes[0].cost["flop"]
    assert not (tmp_path / "made").exists()


def test_file_names_tell_the_choice() -> None:
    assert store.file_name("train", "cpu", "float32", {}) == "train-cpu-float32.json"
    assert (
        store.file_name("forward", "cuda", "bfloat16", {"gated": True, "causal": True, "x": False})
        == "forward-cuda-bfloat16-causal-gated.json"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A profile folder with one committed derivation of full_attention."""
    home = tmp_path / "full_attention"
    home.mkdir()
    name = store.file_name("forward", "cpu", "float32", {})
    (home / name).write_text(store.dump(derived("arch full_attention")), encoding="utf-8")
    monkeypatch.setattr(store, "_folder", lambda: tmp_path)
    store.names.cache_clear()
    yield tmp_path
    store.names.cache_clear()


def test_load_finds_the_committed_formulas(folder: Path) -> None:
    assert store.names() == ("full_attention",)
    assert store.available("full_attention") == ("forward-cpu-float32",)
    found = store.load("full_attention")
    assert isinstance(found, Derivation)
    assert found == derived("arch full_attention")
    assert store.load("full_attention") is found


def test_load_says_what_there_is(folder: Path) -> None:
    with pytest.raises(UnknownNameError) as unknown:
        store.load("full_atention")
    assert unknown.value.nearest == ("full_attention",)
    with pytest.raises(InputError, match="forward-cpu-float32") as missing:
        store.load("full_attention", mode="train")
    assert missing.value.given == "train-cpu-float32"
    with pytest.raises(InputError) as option:
        store.load("full_attention", options={"causal": True})
    assert option.value.given == "forward-cpu-float32-causal"


def test_no_folder_means_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_folder", lambda: tmp_path / "nothing")
    store.names.cache_clear()
    assert store.names() == ()
    store.names.cache_clear()
