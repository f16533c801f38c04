"""Derives the whole catalogue, each program once: ``python -m benchmarks.catalogue``.

The programs are shared among ``--processes`` new processes; :func:`one_by_one` times each alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterable, Sequence
from functools import partial

from benchmarks.clock import Took, timed
from costlab.arch import registry

Program = tuple[str, str]  # architecture, mode


def programs(modes: Iterable[str] = ()) -> list[Program]:
    """Every architecture in each of its modes, or in those of ``modes`` that it has."""
    wanted = tuple(modes)
    return [
        (name, mode)
        for name in registry.names()
        for mode in registry.spec(name).modes
        if not wanted or mode in wanted
    ]


def derive(program: Program) -> Program:
    """Derive one program."""
    import costlab

    name, mode = program
    costlab.derive(name, mode=mode)
    return program


def one_by_one(modes: Iterable[str]) -> dict[Program, Took]:
    """The time of each derivation; torch and what derives are imported before the first."""
    import costlab.derivation.work  # noqa: F401

    return {program: timed(partial(derive, program))[0] for program in programs(modes)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Derive everything; print how many programs that were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(arguments)
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        done = list(pool.imap_unordered(derive, programs()))
    print(f"{len(done)} programs derived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
