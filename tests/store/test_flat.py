"""The table of a run, as CSV and as Parquet, and files that are whole or not there."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from costlab.errors import InputError
from costlab.store import Store, files
from costlab.store.exchange import export_run
from tests.store.points import point


@pytest.fixture
def store(path: Path) -> Any:
    with Store(path) as store:
        store.add("r", point("a"))
        store.add("r", point("b", None, "oom"))
        yield store


def test_csv_has_a_row_per_point(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    export_run(store, "r", file)

    with file.open(newline="") as stream:
        first, second = csv.DictReader(stream)

    assert (first["n"], first["d"], first["time_s"]) == ("3", "5", "1.0")
    assert (first["time_low_s"], first["time_high_s"]) == ("0.5", "1.5")
    assert first["flags"] == "drift interference"
    assert (second["status"], second["time_s"]) == ("oom", "")


def test_parquet_without_pyarrow_names_the_command(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(InputError) as caught:
        export_run(store, "r", tmp_path / "run.parquet")

    assert "pip install pyarrow" in str(caught.value)
    assert not (tmp_path / "run.parquet").exists()


def test_parquet_gives_pyarrow_typed_columns(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in that keeps what it is given; missing values must not lose their type."""
    written = {}

    def table(data: dict[str, list[Any]], schema: dict[str, str]) -> dict[str, Any]:
        assert list(data) == list(schema)
        written.update({name: (schema[name], data[name]) for name in data})
        return data

    def write_table(_table: object, sink: SimpleNamespace) -> None:
        sink.getvalue = lambda: b"PAR1"

    arrow, parquet = ModuleType("pyarrow"), ModuleType("pyarrow.parquet")
    vars(arrow).update(
        float64=lambda: "double", int64=lambda: "int64", string=lambda: "string",
        schema=dict, table=table, BufferOutputStream=SimpleNamespace, parquet=parquet,
    )  # fmt: skip
    vars(parquet).update(write_table=write_table)
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)

    export_run(store, "r", tmp_path / "run.parquet")

    assert (tmp_path / "run.parquet").read_bytes() == b"PAR1"
    assert written["time_s"] == ("double", [1.0, None])
    assert written["n"] == ("int64", [3, 3])
    assert written["energy_j"] == ("double", [None, None])
    assert written["status"] == ("string", ["ok", "oom"])


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(
    step: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out" / "run.csv"
    files.write_whole(file, "old")

    def fail(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    owner: object = os if step == "fsync" else Path
    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(InputError, match="No space left on device") as caught:
        export_run(store, "r", file)

    assert str(file) in str(caught.value)
    assert file.read_text() == "old"
    assert [left.name for left in file.parent.iterdir()] == ["run.csv"]
