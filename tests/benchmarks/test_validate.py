"""Published figures and the formulas that have to give them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import validate
from benchmarks.published import Published, published
from benchmarks.validate import Result

CATALOGUED = [row for row in published() if row.architecture]


@pytest.mark.parametrize("row", CATALOGUED, ids=lambda row: str(row.id))
def test_the_committed_formula_gives_the_published_figure(row: Published) -> None:
    assert row.derived() == row.expected()


def test_every_row_has_a_source_and_says_what_it_adds() -> None:
    assert all(row.source and row.what for row in published())
    assert all(bool(row.adds_why) == (row.adds != "0") for row in published())


def test_ids_are_unique() -> None:
    ids = [row.id for row in published()]
    assert len(set(ids)) == len(ids)


def test_a_figure_that_differs_is_shown_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = CATALOGUED[0]
    wrong = replace(first, formula=f"{first.formula} + 1")
    monkeypatch.setattr(validate, "published", lambda: [wrong])

    assert not Result(wrong, wrong.expected(), wrong.derived()).equal
    assert validate.main(["--only", wrong.id]) == 1
    assert "DIFFERS" in capsys.readouterr().out
