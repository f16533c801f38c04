"""Which file a target names, to notice that it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from costlab.sweep.turn import content_of


@pytest.mark.parametrize("form", ["{}", "{}:build", "hf:{}"])
def test_a_named_file_is_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    target = form.format(path)
    assert content_of(target) == b""
    path.write_text("one")
    first = content_of(target)
    path.write_text("two")

    assert first != b""
    assert content_of(target) not in (b"", first)


def test_a_name_of_the_catalogue_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lstm").write_text("something else")
    monkeypatch.chdir(tmp_path)

    assert content_of("lstm") == b""
