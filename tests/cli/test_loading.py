"""``profile`` on files that cannot be loaded: one line, exit code 2, nothing stored."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from costlab.cli import loading
from costlab.cli.__main__ import main
from costlab.store import Store


def _profile(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    file = tmp_path / "mine.py"
    file.write_text(text)
    code = main(["profile", f"{file}:build", "n=3", "--store", str(tmp_path / "runs.sqlite")])
    return code, capsys.readouterr().err


def test_a_file_that_never_ends_at_import_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "LOAD_TIMEOUT_S", 0.5)

    code, err = _profile(tmp_path, "while True:\n    pass\n", capsys)

    assert code == 2
    assert err.startswith("costlab: the target could not be loaded")
    assert "mine.py:build" in err and "0.5 s" in err
    assert err.count("\n") == 1
    with Store(tmp_path / "runs.sqlite") as store:
        assert store.runs() == []


def test_a_file_that_kills_its_process_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = _profile(tmp_path, "import os\nos._exit(7)\n", capsys)

    assert (code, err.count("\n")) == (2, 1)
    assert "exit code 7" in err


def test_ctrl_c_while_a_file_loads_ends_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = tmp_path / "begun"
    loop = f"open({str(begun)!r}, 'w').close()\nwhile True:\n    pass\n"

    def interrupt() -> None:
        while not begun.exists():
            if over.wait(0.01):
                return
        signal.raise_signal(signal.SIGINT)

    over = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        code, err = _profile(tmp_path, loop, capsys)
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)

    assert (code, err) == (130, "costlab: cancelled\n")
