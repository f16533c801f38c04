"""Derives and writes the committed formulas: every architecture, mode, backend, dtype, option.

Their index is written last, from the files.

``python -m costlab.derivation.regenerate`` writes them, ``--check`` compares and exits 1 where a
file is missing or another than the code gives now. ``--only NAME`` limits it to some.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from costlab.arch import registry
from costlab.formulas import index
from costlab.formulas.store import dump, file_name

BACKENDS = ("cpu", "cuda")
DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True, slots=True)
class Choice:
    """One committed file."""

    architecture: str
    mode: str
    backend: str
    dtype: str
    options: Mapping[str, bool]

    @property
    def path(self) -> Path:
        name = file_name(self.mode, self.backend, self.dtype, self.options)
        return folder() / self.architecture / name


def folder() -> Path:
    """Where the committed formulas are (a source checkout is needed to write them)."""
    import costlab_profiles

    return Path(costlab_profiles.__path__[0]) / "formulas"


def choices(only: Sequence[str] = ()) -> Iterator[Choice]:
    """Everything that is committed, in a fixed order."""
    for name in only or registry.names():
        spec = registry.spec(name)
        for mode, backend, dtype in itertools.product(spec.modes, BACKENDS, DTYPES):
            flags = spec.flags(mode)
            for values in itertools.product(*flags.values()):
                options = dict(zip(flags, values, strict=True))
                yield Choice(name, mode, backend, dtype, options)


def derive_text(choice: Choice) -> str:
    """The text of the file that the code gives for ``choice``."""
    from costlab.derivation.api import derive

    found = derive(
        choice.architecture,
        mode=choice.mode,
        dtype=choice.dtype,
        backend=choice.backend,
        options={k: v for k, v in choice.options.items() if v},
    )
    return dump(found)


def _attempt(choice: Choice) -> tuple[Choice, str, str, float]:
    start = time.monotonic()
    try:
        return choice, derive_text(choice), "", time.monotonic() - start
    except Exception as error:  # reported by name; the others go on
        return choice, "", f"{type(error).__name__}: {error}", time.monotonic() - start


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the committed formulas; 1 if anything failed or differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(arguments)
    wanted = list(choices(args.only))
    bad = 0
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        for done, (choice, text, problem, seconds) in enumerate(
            pool.imap_unordered(_attempt, wanted), 1
        ):
            verdict = problem or _settle(choice.path, text, check=args.check)
            bad += verdict not in ("", "written", "same")
            print(
                f"{done}/{len(wanted)} {choice.architecture}/{choice.path.stem} "
                f"{seconds:.1f} s {verdict}",
                flush=True,
            )
    verdict = _settle(folder() / index.FILE, index.text(), check=args.check)
    print(f"{index.FILE} {verdict}", flush=True)
    return 1 if bad or verdict not in ("written", "same") else 0


def _settle(path: Path, text: str, *, check: bool) -> str:
    """Write the file, or say how it differs."""
    if check:
        if not path.is_file():
            return "missing"
        return "same" if path.read_text(encoding="utf-8") == text else "differs"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return "written"


if __name__ == "__main__":
    sys.exit(main())
