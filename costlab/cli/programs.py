"""From words of the command line to derivations and machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, TypeVar

from costlab.cli.progress import Progress
from costlab.errors import InputError, UnknownNameError
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation

V = TypeVar("V")


def load_program(
    target: str,
    mode: str,
    dtype: str,
    backend: str = "cpu",
    *,
    fixed: Mapping[str, int] | None = None,
    flags: Mapping[str, bool] | None = None,
    progress: Progress | None = None,
) -> Derivation:
    """The formulas of ``target``: the committed ones where there are, else derived now.

    A file of the user's is tried in a child process first, so that one that hangs or ends the
    process is an error in one line.

    Raises:
        UnknownNameError, InputError: for a bad target, mode, size or flag.
        ModuleError, DerivationError: if the user's module fails or has no closed form.
    """
    from costlab.formulas import store
    from costlab.sources.check import check_in_child
    from costlab.sources.user import check_file, names_file

    sizes, options = dict(fixed or {}), dict(flags or {})
    if names_file(target):
        check_file(target)
    elif is_entry(target):
        check_entry(target, mode, sizes, options)  # before torch is imported
        if not sizes:
            with suppress(InputError):
                return store.load(target, mode, dtype, backend, options)
    if progress is not None:
        progress(_("deriving {target}").format(target=target))
    if names_file(target):
        check_in_child(
            target,
            sizes,
            mode="train" if mode.startswith("optimizer") else mode,
            options=options,
            dtype=dtype,
        )
    from costlab.derivation.api import derive

    with prints_on_stderr():
        return derive(target, mode=mode, dtype=dtype, backend=backend, sizes=sizes, options=options)


def own_flags(targets: Sequence[str], flags: Mapping[str, bool]) -> dict[str, dict[str, bool]]:
    """For each target the flags that it has; a user's module keeps all, as does one alone.

    Raises:
        UnknownNameError: for a flag that none of several architectures has.
    """
    from costlab.arch import registry

    if len(targets) == 1 or not flags:
        return {target: dict(flags) for target in targets}
    names = set(registry.names())
    known = {
        t: {*registry.spec(t).options, *registry.spec(t).decode_options} if t in names else flags
        for t in targets
    }
    everyone = set().union(*known.values())
    for name in flags:
        if name not in everyone:
            raise UnknownNameError(_("flag"), name, everyone)
    return {t: {name: flags[name] for name in flags if name in known[t]} for t in targets}


def is_entry(target: str) -> bool:
    """Whether ``target`` can only be a name of the catalogue."""
    from costlab.sources.user import names_file

    return not names_file(target) and not target.startswith("hf:")


def check_entry(
    name: str, mode: str, sizes: Mapping[str, int], options: Mapping[str, bool]
) -> None:
    """Raise unless the catalogue has ``name`` with this mode and sizes and flags of these names."""
    from costlab.arch import registry
    from costlab.sources.resolve import resolve

    if name not in registry.names() and ("." in name or os.sep in name):
        raise InputError(
            _("neither an architecture nor a module"),
            given=name,
            allowed="ARCH, FILE.py:FACTORY, hf:FILE.json",
            advice=_("`costlab list` names the architectures"),
        )
    source = resolve(name)
    source.factory("train" if mode.startswith("optimizer") else mode)
    source.check(sizes)
    source.check_options(options)


def check_device(device: str, threads: int) -> None:
    """Raise ``InputError`` where nothing can run on ``device`` with ``threads``."""
    from costlab.devices import fingerprint

    environment = fingerprint()
    # A GPU without NVML may still run, so torch's build decides.
    if device.startswith("cuda") and (environment.torch or "+cpu").endswith("+cpu"):
        raise InputError(
            _("the installed torch has no CUDA"),
            given=f"{device}, torch {environment.torch}",
            allowed="cpu",
            advice=_("`costlab doctor` says what is missing"),
        )
    if threads > environment.logical_cores:
        raise InputError(
            _("more threads than logical CPUs"),
            given=str(threads),
            allowed=f"1 .. {environment.logical_cores}",
        )


def check_sizes(programs: Sequence[Derivation], names: Iterable[str]) -> None:
    """Raise ``UnknownNameError`` for a size that none of ``programs`` has."""
    from costlab.prediction.sizes import known_sizes

    known = set().union(*map(known_sizes, programs))
    for name in names:
        if name not in known:
            raise UnknownNameError(_("size"), name, known)


def own_sizes(program: Derivation, sizes: Mapping[str, V]) -> dict[str, V]:
    """Those of ``sizes`` that ``program`` has."""
    from costlab.prediction.sizes import known_sizes

    known = known_sizes(program)
    return {name: value for name, value in sizes.items() if name in known}


@contextmanager
def prints_on_stderr() -> Iterator[None]:
    """Send what a module prints to stderr: stdout is for the answer of the command."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
