"""A source: a named family of modules, one for each choice of sizes. No torch is imported here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.arch.spec import ArchitectureSpec
from costlab.errors import CostLabError, InputError, SizeError, UnknownNameError
from costlab.i18n import _
from costlab.sources.blame import blame

if TYPE_CHECKING:
    from costlab.sources.program import Program

LOOP_NAMES = frozenset(
    {"L", "layers", "num_layers", "n_layers", "n_layer", "num_hidden_layers", "depth", "blocks",
     "num_blocks", "n_blocks"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """What can be derived, predicted and measured under one name.

    Attributes:
        name: what the user wrote, or the architecture's name.
        kind: "architecture", "file", "hf" or "callable".
        symbols: the sizes the factories take as keywords, in order.
        defaults: values of sizes that may be left out.
        factories: by mode, functions of the sizes that return ``(module, inputs)``, for decode
            ``(module, inputs, state)``.
        fingerprint: hash of the content the module is made from.
        loops: symbols that are, or by their names may be, trip counts of a loop or layer counts.
        constraints: conditions the module itself demands, such as "h divides d".
        options: flags the factories take, with their allowed values (default first).
        file: the user's file, for error messages.
        spec: the catalogue entry of an architecture.
        notes: what the reader of the formulas should know (what a symbol stands for).
    """

    name: str
    kind: str
    symbols: tuple[str, ...]
    defaults: Mapping[str, int]
    factories: Mapping[str, Callable[..., object]]
    fingerprint: str
    loops: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    options: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    file: Path | None = None
    spec: ArchitectureSpec | None = None
    notes: tuple[str, ...] = ()

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(self.factories)

    def factory(self, mode: str = "forward") -> Callable[..., object]:
        """The function that builds the module for ``mode``.

        Raises:
            InputError: if this source has no such mode.
        """
        if mode not in self.factories:
            raise InputError(
                _("{name} has no such mode").format(name=self.name),
                given=mode,
                allowed=", ".join(self.factories),
            )
        return self.factories[mode]

    def check(self, sizes: Mapping[str, int]) -> None:
        """Check names and values of ``sizes``; some may be missing.

        Raises:
            UnknownNameError: for a name that is no symbol of this source.
            SizeError: for a value that is no positive integer.
        """
        for name, value in sizes.items():
            if name not in self.symbols:
                raise UnknownNameError(_("size"), name, self.symbols)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SizeError(
                    _("a size is no positive integer"),
                    given=f"{name}={value}",
                    allowed=_("integers from 1"),
                )

    def check_options(self, options: Mapping[str, bool]) -> None:
        """Raise ``InputError`` for a flag that this source does not have."""
        for name in options:
            if not self.options:
                raise InputError(_("{name} has no flags").format(name=self.name), given=name)
            if name not in self.options:
                raise UnknownNameError(
                    _("flag of {name}").format(name=self.name), name, self.options
                )

    def complete(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """All sizes in the order of ``symbols``, defaults filled in.

        Raises:
            UnknownNameError: for a name that is no symbol of this source.
            SizeError: for a value that is no positive integer, or a missing one.
        """
        self.check(sizes)
        full = {**self.defaults, **sizes}
        missing = [name for name in self.symbols if name not in full]
        if missing:
            raise SizeError(
                _("{name} needs more sizes").format(name=self.name),
                given=", ".join(f"{k}={v}" for k, v in sizes.items()) or _("none"),
                advice=_("give {sizes}").format(sizes=" ".join(f"{m}=.." for m in missing)),
            )
        return {name: full[name] for name in self.symbols}

    def build(
        self, mode: str, sizes: Mapping[str, int], options: Mapping[str, bool] | None = None
    ) -> object:
        """Call the factory for ``mode`` and return its raw result.

        What the factory prints goes to stderr, so that it cannot mix with CostLab's own output.

        Raises:
            InputError: for a size or a flag of another name.
            ModuleError: if the factory raises; names the line of the user's file.
        """
        make = self.factory(mode)
        self.check_options(options or {})
        arguments: dict[str, int] = {**self.complete(sizes), **(options or {})}
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return make(**arguments)
        except CostLabError:
            raise
        except (Exception, SystemExit) as error:
            shown = " ".join(f"{k}={v}" for k, v in arguments.items())
            raise blame(
                error, _("the factory of {name} failed").format(name=self.name), self.file, shown
            ) from error

    def program(
        self, mode: str, sizes: Mapping[str, int], options: Mapping[str, bool] | None = None
    ) -> Program:
        """Build and check the program of ``mode``; raises ``ModuleError`` as ``build`` does."""
        from costlab.sources.program import program_from

        return program_from(self.build(mode, sizes, options), mode)
