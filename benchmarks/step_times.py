"""Predicted step times against published runs, rows that were fitted on apart from the others.

``python -m benchmarks.step_times`` prints mean and worst error per set with the committed
constants; ``--rows`` every row; ``--fit`` fits the constants again and prints them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.published_runs import Columns, columns, runs
from benchmarks.tables import markdown_table, write_between
from costlab.planning.software import Software, software
from costlab.planning.step_time import step_time

SETS = {
    "megatron": ("vTrain, many nodes", "vTrain, one node", "Megatron 2021", "Korthikanti 2022"),
    "megatron-flash": ("Kwai H800", "Megatron-Core 2024"),
    "megatron-b200": ("SimuMax B200, dense", "SimuMax B200, experts"),
    "fsdp": ("MPT, A100", "MPT, H100"),
}
"""Which published runs show what each software is worth."""

_FREE = {
    "megatron": ("products", "stored_scores", "launch_s", "evenness", "loss",
                 "inside", "network", "inside_s"),
    "megatron-flash": ("products", "core", "elementwise", "inside"),
    "megatron-b200": ("products", "core", "elementwise", "launch_s", "gradient_exposed", "inside"),
    "fsdp": ("products", "core", "elementwise", "launch_s", "weights_exposed", "inside", "network"),
}  # fmt: skip
_LAST = {"megatron-b200": ("SimuMax B200, experts", ("grouped_rows",))}
"""What is fitted after the rest, on the runs of one set alone, which do not touch the rest."""
_SHARES = ("products", "core", "inside", "network")  # of what the maker states: at most 1
_LINKS = ("inside", "network", "inside_s", "network_s")
_HEAD = ("set", "rows", "fitted on", "mean error", "worst error")
_FEW = 5  # splits below which a rank says little
_USUAL = 0.07  # beyond this an error counts in proportion: a run that went wrong must not rule


@dataclass(frozen=True, slots=True)
class Error:
    """Mean and worst relative error of the rows of one set."""

    family: str
    fitted: bool
    rows: int
    mean: float
    worst: float

    def cells(self) -> list[str]:
        return [
            self.family,
            str(self.rows),
            "yes" if self.fitted else "no",
            f"{100 * self.mean:.1f} %",
            f"{100 * self.worst:.1f} %",
        ]


def predicted(table: Columns, soft: Software) -> np.ndarray:
    """Seconds of a step of every run."""
    return step_time(table.work, table.plans, table.cluster, soft).total


def errors(table: Columns, soft: Software) -> list[Error]:
    """Errors by set, fitted rows and others apart."""
    off = np.abs(predicted(table, soft) / table.step_s - 1)
    families = [run.family for run in table.runs]
    found = []
    for family in dict.fromkeys(families):
        for fitted in (True, False):
            rows = np.array([one == family for one in families]) & (table.fitted == fitted)
            if rows.any():
                found.append(
                    Error(family, fitted, int(rows.sum()), off[rows].mean(), off[rows].max())
                )
    return found


def ranks(table: Columns, soft: Software) -> dict[str, tuple[int, int]]:
    """Where the predictions rank the fastest measured split of each model on many nodes.

    Returns:
        Model and devices to the place (1 is first) and how many splits were measured.
    """
    seconds = predicted(table, soft)
    found: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys(_case(table, i) for i in range(len(table.runs))):
        rows = [i for i in range(len(table.runs)) if _case(table, i) == name]
        if len(rows) < _FEW or table.runs[rows[0]].family != "vTrain, many nodes":
            continue
        fastest = min(rows, key=lambda i: float(table.step_s[i]))
        place = 1 + sum(bool(seconds[i] < seconds[fastest]) for i in rows)
        found[name] = (place, len(rows))
    return found


def _case(table: Columns, index: int) -> str:
    run = table.runs[index]
    return f"{run.family}: {run.model} on {run.plan.devices}"


def fit(table: Columns, start: Software) -> Software:
    """The constants that fit the fitted rows best, from ``start``."""
    family, last = _LAST.get(start.name, ("", ()))
    special = np.array([run.family == family for run in table.runs])
    found = _fit(table, start, _FREE[start.name], table.fitted & ~special)
    return _fit(table, found, last, table.fitted & special) if last else found


def _fit(table: Columns, start: Software, free: tuple[str, ...], fitted: np.ndarray) -> Software:
    def with_values(logs: np.ndarray) -> Software:
        named = dict(zip(free, np.exp(logs).tolist(), strict=True))
        named |= {name: min(named[name], 1.0) for name in _SHARES if name in named}
        if "core" not in free and "products" in free:
            named["core"] = named["products"]
        links = {name: named.pop(name) for name in _LINKS if name in named}
        return replace(start, links=replace(start.links, **links), **named)

    def loss(logs: np.ndarray) -> float:
        if np.abs(logs).max() > 60:
            return np.inf
        off = np.abs(np.log(predicted(table, with_values(logs)) / table.step_s))[fitted]
        near = off * off / (2 * _USUAL) + _USUAL / 2
        return float(np.where(off < _USUAL, near, off).mean())

    first = [getattr(start.links if name in _LINKS else start, name) for name in free]
    return with_values(_descend(loss, np.log(np.array(first))))


def _descend(
    loss: Callable[[np.ndarray], float], start: np.ndarray, rounds: int = 3000
) -> np.ndarray:
    """Nelder and Mead's simplex, restarted once around its own answer."""
    for _restart in range(2):
        points = [start, *(start + 0.3 * step for step in np.eye(len(start)))]
        values = [loss(point) for point in points]
        for _round in range(rounds):
            order = np.argsort(values)
            points, values = [points[i] for i in order], [values[i] for i in order]
            middle = np.mean(points[:-1], axis=0)
            away = middle - points[-1]
            tried = [(loss(middle + away), middle + away)]
            if tried[0][0] < values[0]:
                tried.append((loss(middle + 2 * away), middle + 2 * away))
            elif tried[0][0] >= values[-2]:
                tried.append((loss(middle - away / 2), middle - away / 2))
            best = min(tried, key=lambda one: one[0])
            if best[0] < values[-1]:
                values[-1], points[-1] = best
            else:
                points = [points[0], *((points[0] + point) / 2 for point in points[1:])]
                values = [values[0], *(loss(point) for point in points[1:])]
        start = points[int(np.argmin(values))]
    return start


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", action="store_true", help="every row, the worst first")
    parser.add_argument("--fit", action="store_true", help="fit the constants again")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args(argv)
    everything = runs()
    found: list[Error] = []
    for name, families in SETS.items():
        table = columns([run for run in everything if run.family in families])
        soft = software(name)
        if args.fit:
            soft = fit(table, soft)
            print(soft, end="\n\n")
        found += errors(table, soft)
        for case, (place, among) in ranks(table, soft).items():
            print(f"{case}: the fastest measured split is ranked {place} of {among}")
        if args.rows:
            off = predicted(table, soft) / table.step_s - 1
            for i in np.argsort(-np.abs(off)):
                print(f"{100 * off[i]:7.1f} %  {table.runs[i].id}  {table.runs[i].plan.text()}")
    text = markdown_table(_HEAD, [error.cells() for error in found])
    print(text)
    if args.write:
        write_between("step times", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
