"""Exports come back whole, shards join by content, and torn or damaged files say so."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from costlab.errors import InputError
from costlab.store import Store
from costlab.store.exchange import FORMATS, export_run
from costlab.store.merge import import_file
from tests.store.points import point

_ENVIRONMENTS = ({"id": "one", "release": "6.1"}, {"id": "two", "release": "6.1"})


def _everything(path: Path) -> list[tuple[str, str, Any, Any]]:
    """Every result of every run with its time, in no order."""
    with Store(path, read_only=True) as store:
        found = [
            (info.run, info.created, added, json.dumps(row))
            for info in store.runs()
            for added, row in store.rows(info.run)
        ]
    return sorted(found)


@pytest.fixture
def full(path: Path) -> Path:
    """The store with a point that failed and was measured again, and one that failed."""
    with Store(path) as store:
        store.add("r", point("a", None, "timeout"))
        store.add("r", point("a"))
        store.add("r", point("b", None, "oom"))
    return path


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".sqlite"])
def test_a_run_comes_back_whole_and_once(full: Path, tmp_path: Path, suffix: str) -> None:
    file, other = tmp_path / f"run{suffix}", tmp_path / "other.sqlite"
    with Store(full) as store:
        if suffix == ".sqlite":
            file = full
        else:
            export_run(store, "r", file)

    with Store(other) as store:
        assert [(i.run, i.added, i.torn) for i in import_file(store, file)] == [("r", 3, False)]
        assert [i.added for i in import_file(store, file)] == [0]
        assert store.info("r").plan == {"seed": 7}
        assert store.statuses("r") == {"a": "ok", "b": "oom"}
    assert _everything(other) == _everything(full)


def test_the_order_of_shards_does_not_matter(tmp_path: Path) -> None:
    shards = []
    for number, (environment, status) in enumerate(itertools.product(_ENVIRONMENTS, ["oom", "ok"])):
        shard = tmp_path / f"{number}.sqlite"
        with Store(shard) as store:
            store.start_run("r", {"seed": 7}, environment, "2026-01-01T00:00:00+00:00")
            store.add("r", point("a", float(number), status), f"2026-01-0{number + 2}")
        shards.append(shard)

    merged = set()
    for order in itertools.permutations(shards):
        path = tmp_path / "merged.sqlite"
        with Store(path) as store:
            first = import_file(store, order[0])[0].run
            for shard in (*order[1:], *order):
                import_file(store, shard)
            results = {
                info.environment["id"]: (store.points(info.run)[0]["time_s"], info.statuses)
                for info in store.runs()
            }
            assert first == "r"
        merged.add(json.dumps(results, sort_keys=True))
        path.unlink()

    assert merged == {json.dumps({"one": [1.0, {"ok": 1}], "two": [3.0, {"ok": 1}]})}


def test_a_run_of_another_machine_or_plan_is_kept_apart(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with Store(other) as store:
        store.start_run("r", {"seed": 7}, {"id": "another"})
        store.add("r", point("a", 2.0))
    third = tmp_path / "third.sqlite"
    with Store(third) as store:
        store.start_run("r", {"seed": 8}, {"id": "e"})
        store.add("r", point("a", 3.0))

    with Store(path) as store:
        store.add("r", point("a", 1.0))
        names = [import_file(store, file)[0].run for file in (other, third, other, third)]
        times = {info.run: store.points(info.run)[0]["time_s"] for info in store.runs()}

    assert names[:2] == names[2:]
    assert times == {"r": 1.0, names[0]: 2.0, names[1]: 3.0}
    assert all(name.startswith("r~") for name in names)


def test_a_file_cut_anywhere_in_its_last_line_gives_the_lines_before(
    full: Path, tmp_path: Path
) -> None:
    file = tmp_path / "run.jsonl"
    with Store(full) as store:
        export_run(store, "r", file)
    content = file.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1

    for cut in range(last, len(content), 7):
        file.write_bytes(content[:cut])
        with Store(tmp_path / f"{cut}.sqlite") as store:
            (came,) = import_file(store, file)
        assert (came.added, came.torn) == (2, cut > last)

    file.write_bytes(content[:-1])  # whole but for the newline
    with Store(tmp_path / "whole.sqlite") as store:
        assert [(i.added, i.torn) for i in import_file(store, file)] == [(3, False)]


def test_a_line_torn_in_the_middle_is_damage(full: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with Store(full) as store:
        export_run(store, "r", file)
        lines = file.read_text().splitlines()
        lines[2] = lines[2][:20]
        file.write_text("\n".join(lines) + "\n")

        with pytest.raises(InputError, match=r"run\.jsonl: line 3"):
            import_file(store, file)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("wrong.json", "[1, 2]", r"costlab\.run/1"),
        ("wrong.json", "{", "JSON"),
        ("wrong.json", '{"schema": "costlab.run/1", "run": 3}', "run"),
        ("wrong.jsonl", "", r"costlab\.shard/1"),
        ("wrong.jsonl", '{"schema": "costlab.sh', r"costlab\.shard/1"),
        ("wrong.jsonl", '{"schema": "costlab.shard/1", "run": "r", "plan": {}}\n', "environment"),
        (
            "wrong.jsonl",
            '{"schema": "costlab.shard/1", "run": "r", "plan": {}, "environment": {}}\n{"a": 1}\n',
            "line 2",
        ),
        (
            "wrong.json",
            '{"schema": "costlab.run/1", "run": "r", "plan": {}, "environment": {}, '
            '"points": [{"point": "a"}]}',
            "points",
        ),
    ],
)
def test_a_file_that_is_no_export_is_refused(
    name: str, text: str, says: str, path: Path, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(text)

    with Store(path) as store:
        with pytest.raises(InputError, match=says) as caught:
            import_file(store, file)
        assert len(store.runs()) == 1
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_an_unknown_format(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        with pytest.raises(InputError, match=r"none\.json: No such file"):
            import_file(store, tmp_path / "none.json")
        with pytest.raises(InputError) as caught:
            export_run(store, "r", tmp_path / "run.txt")

    assert all(suffix in caught.value.allowed for suffix in FORMATS)
