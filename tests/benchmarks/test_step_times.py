"""Published training runs against the predicted step."""

from __future__ import annotations

import statistics

from benchmarks.published_runs import runs
from benchmarks.reference_rows import may_fit
from benchmarks.step_times import errors, rows


def test_rows_are_divided_by_their_names_alone() -> None:
    """Of 1000 names five sixteenths are kept from fitting: 312, give or take 15."""
    kept = sum(not may_fit(f"row-{number}") for number in range(1000))

    assert 240 < kept < 390
    assert may_fit("a") == may_fit("a")


def test_runs_with_stored_scores_that_nothing_was_fitted_on_are_predicted() -> None:
    """Megatron 2021 and vTrain's runs on many nodes ran the program that is modelled."""
    chosen = [
        run
        for run in runs()
        if not run.fitted and run.family in ("Megatron 2021", "vTrain, many nodes")
    ]

    found = errors(chosen)

    assert len(found) > 25
    assert abs(statistics.median(found)) < 0.1
    assert statistics.fmean(map(abs, found)) < 0.12


def test_every_set_has_a_row_for_what_was_kept_from_fitting() -> None:
    table = rows(runs())

    assert sum(int(row[1]) for row in table) == len(runs())
    assert {row[0] for row in table} == {run.family for run in runs()}
