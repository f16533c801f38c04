"""What the app knows beside the session: the catalogue, formulas, machines and opened modules.

Formulas of the catalogue are read from the committed files; those of the user's own modules are
put in by whoever derived them in a child process, since torch stays out of this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from costlab.arch import registry
from costlab.calibration.choice import load_machine
from costlab.calibration.records import load_latest
from costlab.errors import CostLabError, InputError
from costlab.formulas import index
from costlab.formulas import store as formulas
from costlab.formulas.record import Derivation
from costlab.hardware.catalogue import load_profile, profile_names
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab_gui.model import own_devices
from costlab_gui.model.curves import Curves
from costlab_gui.model.session import THIS_MACHINE, Setting


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the architecture list."""

    target: str
    title: str
    family: str
    order: str
    modes: tuple[str, ...]
    own: bool = False


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """One line of the device menu; ``usable`` is False where nothing can be predicted for it."""

    name: str
    title: str
    basis: str
    usable: bool = True


class NotDerived(InputError):
    """Formulas of an opened module are not here yet; ``key`` says which."""

    def __init__(self, key: Key) -> None:
        super().__init__(_("no formulas yet"), given=key.target, advice=_("deriving"))
        self.key = key


@dataclass(frozen=True, slots=True)
class Key:
    """What formulas of an opened module are known by."""

    target: str
    mode: str
    dtype: str
    backend: str
    options: tuple[tuple[str, bool], ...] = ()


class Workspace:
    """Answers what formulas and machines a setting means; keeps what was read.

    ``version`` counts how often the answers may have changed.
    """

    def __init__(self) -> None:
        self.version = 0
        self._own: dict[Key, Derivation | CostLabError] = {}
        self._committed: dict[Key, Derivation] = {}
        # Asked for in every frame, many times.
        self._answered: dict[tuple[object, ...], Derivation] = {}
        self._titles: dict[str, str] = {}
        self.curves = Curves()
        self._machines: dict[tuple[str, str, int | None], Machine | CostLabError] = {}
        self._entries: tuple[Entry, ...] | None = None

    def apart(self) -> Workspace:
        """One for another thread: it knows what this one knows now, and keeps its own curves."""
        made = Workspace()
        made._own, made._committed = dict(self._own), dict(self._committed)
        made._machines, made._entries = dict(self._machines), self._entries
        return made

    def entries(self) -> tuple[Entry, ...]:
        """The catalogue's architectures that have formulas, by family."""
        if self._entries is None:
            known = [registry.spec(name) for name in formulas.names()]
            found = [
                Entry(spec.name, spec.title, spec.family, order_text(spec.name), spec.modes)
                for spec in known
            ]
            self._entries = tuple(sorted(found, key=lambda entry: (entry.family, entry.title)))
        return self._entries

    def title(self, target: str) -> str:
        """The short name of a program: its title without what follows a comma."""
        if target not in self._titles:
            named = target in registry.names()
            self._titles[target] = (
                registry.spec(target).title.partition(",")[0]
                if named
                else target.rpartition("/")[2]
            )
        return self._titles[target]

    def modes(self, target: str) -> tuple[str, ...]:
        """Modes of a program; an opened module has what its factory allows, tried when asked."""
        if target in registry.names():
            return registry.spec(target).modes
        return ("forward", "train", "decode")

    def devices(self) -> tuple[DeviceChoice, ...]:
        """This machine, every published profile that has operator formulas, own profiles."""
        calibrated = load_latest() is not None
        this = DeviceChoice(
            THIS_MACHINE,
            _("This machine"),
            _("calibrated") if calibrated else _("not calibrated"),
            calibrated,
        )
        profiles = [load_profile(name) for name in profile_names()]
        found = [
            DeviceChoice(p.name, p.title, _("datasheet bound"))
            for p in profiles
            if p.backend in ("cpu", "cuda")
        ]
        return (this, *found, *(_own_device(path) for path in own_devices.recent()))

    def machine(self, setting: Setting) -> Machine:
        """The machine of a setting.

        Raises:
            InputError: if this machine has no calibration, or the profile cannot be read.
        """
        key = (setting.device, setting.dtype, setting.threads)
        if key not in self._machines:
            try:
                self._machines[key] = load_machine(*key)
            except CostLabError as error:  # looking again takes longer than a frame
                self._machines[key] = error
        found = self._machines[key]
        if isinstance(found, CostLabError):
            raise found.with_traceback(None)
        return found

    def forget_machines(self) -> None:
        """Read calibrations and profiles again: one of them has changed."""
        self._machines.clear()
        self._answered.clear()
        self.version += 1

    def backend(self, setting: Setting) -> str:
        """Whose operators the formulas of a setting count."""
        try:
            backend = self.machine(setting).backend
        except CostLabError:
            backend = "cpu"
        return "cuda" if backend == "cuda" else "cpu"

    def threads(self, setting: Setting) -> int:
        """Threads of a run: the setting's, else the machine's; 1 where there is no machine."""
        if setting.threads is not None:
            return setting.threads
        try:
            return self.machine(setting).threads
        except CostLabError:
            return 1

    def derivation(self, target: str, setting: Setting) -> Derivation:
        """Formulas of a program.

        Raises:
            NotDerived: if it is an opened module that nobody derived for this setting yet.
            CostLabError: if there are none, or the derivation failed.
        """
        asked = (target, setting.mode, setting.dtype, setting.device, setting.threads,
                 tuple(setting.options.items()))  # fmt: skip
        if asked in self._answered:
            return self._answered[asked]
        if target not in registry.names():
            key = self.key(target, setting)
            found = self._own.get(key)
            if found is None:
                raise NotDerived(key)
            if isinstance(found, CostLabError):
                raise found
            return found
        spec = registry.spec(target)
        options = {
            name: value
            for name, value in setting.options.items()
            if value and value in spec.options.get(name, ())
        }
        backend = self.backend(setting)
        key = Key(target, setting.mode, setting.dtype, backend, _flags(options))
        if key not in self._committed:
            self._committed[key] = formulas.load(
                target, setting.mode, setting.dtype, backend, options
            )
        self._answered[asked] = self._committed[key]
        return self._committed[key]

    def key(self, target: str, setting: Setting) -> Key:
        """What the formulas of an opened module are known by."""
        flags = _flags(setting.options)
        return Key(target, setting.mode, setting.dtype, self.backend(setting), flags)

    def has(self, key: Key) -> bool:
        """Whether the formulas of an opened module are here, or why there are none."""
        return key in self._own

    def forget(self, target: str) -> None:
        """Drop all formulas of an opened module: its file has changed."""
        self._own = {key: found for key, found in self._own.items() if key.target != target}
        self.version += 1

    def put(self, key: Key, found: Derivation | CostLabError) -> None:
        """Keep the formulas of an opened module, or why there are none."""
        self._own[key] = found
        self.version += 1


def _own_device(path: Path) -> DeviceChoice:
    try:
        profile = load_profile(path)
    except CostLabError:
        return DeviceChoice(str(path), path.stem, _("no valid profile"), usable=False)
    usable = profile.backend in ("cpu", "cuda")
    return DeviceChoice(str(path), profile.title, _("own profile"), usable)


def order_text(name: str) -> str:
    """The order of an architecture's arithmetic, of the part that mixes positions where it has one.

    For example "n² d"; "" without formulas.
    """
    claims = registry.spec(name).claims
    claimed = any(claim.scope == "core" and claim.quantity == "flop" for claim in claims)
    orders = index.orders(name)
    return superscripts((claimed and orders.get("core")) or orders.get("layer", ""))


_SUPERSCRIPTS: Mapping[str, str] = {str(digit): mark for digit, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}


def superscripts(order: str) -> str:
    """ "b*d*n**2" as "n² d": without the batch, n first."""
    terms = []
    for term in order.split(" + "):
        factors = []
        for factor in _factors(term):
            name, _stars, power = factor.partition("**")
            if name != "b":
                factors.append(name + "".join(_SUPERSCRIPTS.get(c, c) for c in power))
        factors.sort(key=lambda factor: (not factor.startswith("n"), factor))
        terms.append(" ".join(factors) or "1")
    return " + ".join(terms)


def _factors(term: str) -> list[str]:
    """Split at single stars outside brackets."""
    found, depth, start = [], 0, 0
    for at, char in enumerate(term):
        depth += (char == "(") - (char == ")")
        if char == "*" and not depth and "*" not in (term[at - 1], term[at + 1 : at + 2]):
            found.append(term[start:at])
            start = at + 1
    return [*found, term[start:]]


def _flags(options: Mapping[str, bool]) -> tuple[tuple[str, bool], ...]:
    return tuple(sorted((name, True) for name, value in options.items() if value))
