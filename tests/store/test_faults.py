"""Damaged, locked, read-only and full: one line each, and what was confirmed is kept."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from costlab.cli.__main__ import main
from costlab.errors import StoreError
from costlab.store import Store, connection
from tests.store.points import point

_ROOT = Path(__file__).parents[2]
_FILLER = """
import resource, signal, sys
from pathlib import Path
from costlab.errors import StoreError
from costlab.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store(Path(sys.argv[1])) as store:
    store.start_run("r", {}, {})
    for number in range(1000):
        try:
            store.add("r", {"point": str(number), "status": "ok", "sizes": {}, "pad": "x" * 3000})
        except StoreError as error:
            print(error)
            break
        print(number)
"""


def _line(error: StoreError, path: Path) -> str:
    """The error's text: one line that names the file."""
    text = str(error)
    assert "\n" not in text
    assert str(path) in text
    return text


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database, and long enough to have a header " * 50)

    for read_only in (False, True):
        with pytest.raises(StoreError) as caught:
            Store(path, read_only=read_only)
        assert "no store" in _line(caught.value, path)


def test_a_damaged_store_says_so_when_the_damage_is_met(path: Path) -> None:
    with Store(path) as store:
        for number in range(200):
            store.add("r", point(str(number)))
    with path.open("r+b") as file:
        for page in range(8, 40):
            file.seek(4096 * page)
            file.write(b"\xff" * 4096)

    with Store(path) as store, pytest.raises(StoreError) as caught:
        store.points("r")

    assert "damaged" in _line(caught.value, path)


def test_a_store_that_another_program_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_MS", 20)
    holder = sqlite3.connect(path, isolation_level=None)
    with Store(path) as store:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            store.add("r", point("a"))
        assert "another program holds" in _line(caught.value, path)
        holder.execute("COMMIT")

        assert store.add("r", point("a"))
    holder.close()


@pytest.fixture
def folder(path: Path) -> Iterator[Path]:
    """A folder with a closed store of one point that this process may read and not write."""
    with Store(path) as store:
        store.add("r", point("a"))
    folder = Path(tempfile.mkdtemp())
    shutil.copy(path, folder / "runs.sqlite")
    (folder / "runs.sqlite").chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:  # which may write everywhere
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_store_can_be_read_and_refuses_to_be_written(folder: Path) -> None:
    path = folder / "runs.sqlite"
    with Store(path, read_only=True) as store:
        assert store.statuses("r") == {"a": "ok"}

    with pytest.raises(StoreError) as caught, Store(path) as store:
        store.add("r", point("b"))
    assert "cannot be written" in _line(caught.value, path)


def test_a_folder_that_cannot_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "run.json", "--store", str(folder / "new" / "runs.sqlite")]) == 2

    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert str(folder) in captured.err


def _fill(store: Store, confirmed: list[str]) -> None:
    for number in range(1000):
        store.add("r", point(str(number)))
        confirmed.append(str(number))


def test_a_full_disk_keeps_what_was_confirmed(path: Path) -> None:
    with Store(path) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        confirmed: list[str] = []
        with pytest.raises(StoreError) as caught:
            _fill(store, confirmed)
        assert "the disk takes no more" in _line(caught.value, path)
        assert "--resume" in str(caught.value)
        # Room was made.
        store._connection.execute("PRAGMA max_page_count = 100000")
        assert store.add("r", point("later"))

    with Store(path) as store:
        assert list(store.statuses("r")) == [*confirmed, "later"]
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_size_limit_keeps_what_was_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    filler = subprocess.run(
        [sys.executable, "-c", _FILLER, str(path)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )  # fmt: skip
    *confirmed, error = filler.stdout.splitlines()

    assert error.startswith("the disk takes no more")
    assert len(confirmed) > 5
    with Store(path) as store:
        assert list(store.statuses("r")) == confirmed


def test_an_error_in_a_transaction_takes_the_whole_back(path: Path) -> None:
    with Store(path) as store:
        store.add_pass("r", "a", {"pass": "timing"})
        with pytest.raises(TypeError):
            store.add("r", {**point("a"), "reasons": {1, 2}})
        with pytest.raises(StoreError):
            store.add("r", {**point("a"), "status": None})

        assert len(store.passes("r", "a")) == 1
        assert store.add("r", point("a"))
