"""Tables between markers: what a command wrote can be read and replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tables import markdown_table, rows_between, write_between


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- some:begin -->\nold\n<!-- some:end -->\nafter\n")
    rows = [("a", "1", ""), ("b", "", "met")]

    write_between("some", f"\n{markdown_table(('what', 'x', 'y'), rows)}\n\ntext\n", page)

    assert rows_between("some", page) == rows
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")
    assert "old" not in page.read_text()


def test_missing_markers_are_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- some:end -->\n<!-- some:begin -->\n")

    with pytest.raises(ValueError, match="some:begin"):
        rows_between("some", page)
    with pytest.raises(ValueError, match=r"page\.md"):
        write_between("some", "text", page)
