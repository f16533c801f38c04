"""Everything that decides what the app shows, as frozen plain data that a file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from costlab_gui.model.to_plan import ToPlan

METRICS = ("time", "memory", "flop", "bytes", "state", "energy")
MAP_METRICS = ("time", "memory", "flop", "bytes")
PAGES = (
    "curves", "map", "roofline", "timeline", "formula", "structure", "plan", "measure", "monitor",
)  # fmt: skip
MODES = ("forward", "train", "prefill", "decode")
DTYPES = ("float32", "bfloat16", "float16", "float64")
THIS_MACHINE = "this"
REPEATS = (3, 20)
"""Fewest and most timed processes of a point."""

FIRST_SIZES: Mapping[str, int] = MappingProxyType({"b": 1, "n": 4096, "d": 512, "h": 8, "w": 256})


@dataclass(frozen=True, slots=True)
class Setting:
    """What a prediction depends on beside the program.

    Attributes:
        mode: one of ``MODES``.
        dtype: one of ``DTYPES``.
        device: ``THIS_MACHINE``, the name of a device profile, or the path of one (``.toml``).
        threads: on a CPU; None: as calibrated.
        options: flags of architectures ("causal": True); each program takes those it has.
        sizes: symbol to positive integer, shared by all programs; what is missing takes the
            program's default.
    """

    mode: str = "forward"
    dtype: str = "float32"
    device: str = THIS_MACHINE
    threads: int | None = None
    options: Mapping[str, bool] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=lambda: dict(FIRST_SIZES))


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits that are drawn as lines and searched for "what fits"; None: no limit."""

    memory_bytes: float | None = None
    time_s: float | None = None
    energy_j: float | None = None


@dataclass(frozen=True, slots=True)
class ToMeasure:
    """What the Measure page asks for, as it was typed.

    Attributes:
        over: the size that ``sizes`` are of.
        sizes: as on the command line; "": those that are proposed for the axis.
        repeats: timed processes of each point.
        budget: of all points, as a duration; "": no limit.
        energy: whether it is measured too.
        all: whether points are measured that are left out otherwise.
    """

    over: str = ""
    sizes: str = ""
    repeats: int = 5
    budget: str = ""
    energy: bool = False
    all: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """The state of one window.

    Attributes:
        programs: what is compared, in order: a catalogue name, ``FILE.py:FACTORY`` or
            ``hf:FILE.json``.
        colours: indices into the palette of programs, so that they keep their colour when
            others come and go; the place in the list where there is none.
        hidden: those of ``programs`` that the legend has switched off.
        selected: the program whose formula is explained.
        setting: mode, dtype, device, sizes.
        reference: a second setting that is drawn faintly beside the first (A against B).
        opened: the user's own modules by target, with the SHA-256 of their file.
        over: the size on the x axis, from ``low`` to ``high``.
        map_over: the two sizes of the map, x first.
        map_metric: what is cheapest on the map, of ``MAP_METRICS``.
        metrics: the panels shown on the curves page, of ``METRICS``.
        linked: whether panels share their x range when zoomed.
        hands: how many hands share the work ("machine width"); None: the machine's own.
        runs: names of stored runs whose points are drawn; "latest" follows the newest.
        store: file of runs; "" is the default one.
        measure: what the Measure page asks for.
        plan: what the Plan page asks for.
        plan_view, plan_quantity: the picture of the Plan page, and what its curves are of; "":
            the first that there is.
    """

    programs: tuple[str, ...] = ("full_attention", "sliding_window", "linear_attention", "lstm")
    colours: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    selected: str = "full_attention"
    setting: Setting = field(default_factory=Setting)
    reference: Setting | None = None
    opened: Mapping[str, str] = field(default_factory=dict)
    page: str = "curves"
    over: str = "n"
    low: int = 128
    high: int = 65_536
    map_over: tuple[str, str] = ("n", "d")
    map_metric: str = "time"
    metrics: tuple[str, ...] = ("time",)
    log_x: bool = True
    log_y: bool = True
    linked: bool = True
    budget: Budget = field(default_factory=Budget)
    hands: float | None = None
    runs: tuple[str, ...] = ("latest",)
    store: str = ""
    measure: ToMeasure = field(default_factory=ToMeasure)
    plan: ToPlan = field(default_factory=ToPlan)
    plan_view: str = "memory"
    plan_quantity: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The programs that are drawn."""
        return tuple(target for target in self.programs if target not in self.hidden)

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.setting.sizes

    def colour(self, target: str) -> int:
        """Index of a program into the palette."""
        found = self.colours.get(target)
        return self.programs.index(target) if found is None else found
