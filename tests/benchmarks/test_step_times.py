"""Published training runs against the predicted step."""

from __future__ import annotations

import statistics

import pytest

from benchmarks.published_runs import columns, runs
from benchmarks.reference_rows import may_fit
from benchmarks.step_times import SETS, errors, main, predicted
from costlab.planning.software import software


def test_rows_are_divided_by_their_names_alone() -> None:
    """Of 1000 names five sixteenths are kept from fitting: 312, give or take 15."""
    kept = sum(not may_fit(f"row-{number}") for number in range(1000))

    assert 240 < kept < 390


@pytest.mark.parametrize("name", sorted(SETS))
def test_runs_that_nothing_was_fitted_on_are_predicted(name: str) -> None:
    chosen = [run for run in runs() if not run.fitted and run.family in SETS[name]]
    table = columns(chosen)

    off = (predicted(table, software(name)) / table.step_s - 1).tolist()

    assert len(off) >= 9
    assert abs(statistics.median(off)) < 0.1
    assert statistics.fmean(map(abs, off)) < 0.12


def test_every_run_counts_in_one_set(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        error
        for name, families in SETS.items()
        for error in errors(columns([r for r in runs() if r.family in families]), software(name))
    ]

    assert sum(error.rows for error in found) == len(runs())
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(run.family in text for run in runs())
    assert "48 x 8192 on 512: the fastest measured split is ranked" in text
