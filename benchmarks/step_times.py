"""Predicted against published step times of training runs.

Run ``python -m benchmarks.step_times`` (``--write`` puts the table into README.md). The constants
of ``costlab_profiles/planning/software.toml`` were fitted on some of the rows; errors on the others
stand beside them. All runs are predicted with the one program whose constants are known, stored
attention scores included, although later ones did not store them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from statistics import fmean, median

import numpy as np

from benchmarks.published_runs import Run, columns, runs
from benchmarks.tables import markdown_table, write_between
from costlab.planning.software import software
from costlab.planning.step_time import step_time

PROGRAM = "megatron"
_HEADER = ("runs", "rows", "", "mean", "worst", "bias")


def errors(chosen: Sequence[Run]) -> list[float]:
    """Predicted over published step time, minus 1."""
    side = columns(chosen)
    times = step_time(side.work, side.plans, side.cluster, software(PROGRAM))
    return [float(error) for error in np.asarray(times.total) / side.step_s - 1]


def rows(chosen: Sequence[Run]) -> list[list[str]]:
    """A row for each set of runs and each of fitted and unfitted."""
    groups: dict[tuple[str, bool], list[float]] = {}
    for run, error in zip(chosen, errors(chosen), strict=True):
        groups.setdefault((run.family, run.fitted), []).append(error)
    return [
        [
            family,
            str(len(found)),
            "could be fitted on" if fitted else "unfitted",
            f"{fmean(map(abs, found)):.1%}",
            f"{max(map(abs, found)):.1%}",
            f"{median(found):+.1%}",
        ]
        for (family, fitted), found in sorted(groups.items())
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict every run and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step_times", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args(arguments)
    text = markdown_table(_HEADER, rows(runs()))
    print(text)
    if args.write:
        write_between("step times", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
