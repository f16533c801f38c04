"""Derives and writes the formulas of the planner's parts, for CUDA's kernels in bfloat16.

``python -m costlab.derivation.parts`` writes them, ``--only NAME`` some of them; ``derive_part``
gives the text of one, which the tests compare with what is committed.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from costlab.formulas.store import dump, file_name

BACKEND, DTYPE = "cuda", "bfloat16"
_DECODE = "_decode"


@dataclass(frozen=True, slots=True)
class Choice:
    """One committed file: a factory in one mode with its flags."""

    factory: str
    mode: str
    options: Mapping[str, bool]

    @property
    def part(self) -> str:
        return self.factory.removesuffix(_DECODE)

    @property
    def path(self) -> Path:
        name = file_name(self.mode, BACKEND, DTYPE, self.options)
        return folder() / "parts" / self.part / name


def folder() -> Path:
    """The profiles (a source checkout is needed to write there)."""
    import costlab_profiles

    return Path(costlab_profiles.__path__[0])


def choices(only: Sequence[str] = ()) -> Iterator[Choice]:
    """Everything that is committed, in the order of the programs."""
    programs = ast.parse((folder() / "programs" / "parts.py").read_text(encoding="utf-8"))
    for node in programs.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if only and node.name not in only:
            continue
        flags = [a.arg for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                 if isinstance(d, ast.Constant)]  # fmt: skip
        modes = ("decode",) if node.name.endswith(_DECODE) else ("forward", "train")
        for mode, values in itertools.product(
            modes, itertools.product((False, True), repeat=len(flags))
        ):
            yield Choice(node.name, mode, dict(zip(flags, values, strict=True)))


def derive_part(choice: Choice) -> str:
    """The text of the file that the programs give for ``choice``."""
    from dataclasses import replace

    from costlab.derivation.api import derive

    found = derive(
        f"{folder() / 'programs' / 'parts.py'}:{choice.factory}",
        mode=choice.mode,
        dtype=DTYPE,
        backend=BACKEND,
        options={k: v for k, v in choice.options.items() if v},
        prove=False,
    )
    return dump(replace(found, architecture=choice.part))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of factories")
    args = parser.parse_args(arguments)
    for choice in choices(args.only):
        choice.path.parent.mkdir(parents=True, exist_ok=True)
        choice.path.write_text(derive_part(choice), encoding="utf-8")
        print(f"{choice.part}/{choice.path.name} written", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
