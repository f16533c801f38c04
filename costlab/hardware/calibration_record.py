"""What a calibration leaves behind: measured rates of one device as plain data. No torch.

Conventions are those of the cost rules: 1 multiply-add = 2 FLOP, FLOP rates are of the *dense*
arithmetic of a call (matmul and other), bytes are elements addressed, read and written. Every
rate has the launch cost already taken out, so the time of one call is
``max(flop / flop_per_s, bytes / bytes_per_s) + launch_s``. Kinds whose arithmetic has no agreed
count (softmax, sort, fft, ...) have a byte rate only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from costlab.errors import InputError
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.devices import Environment

SCHEMA = "costlab.calibrate/3"
KINDS = (
    "matmul", "attention", "elementwise", "softmax", "norm", "reduction", "copy", "gather",
    "sort", "fft", "convolution", "recurrent",
)  # fmt: skip
# The meaning of a shape, per key of `shaped`; a key with a suffix has the shape of its stem.
SHAPES: Mapping[str, tuple[str, ...]] = {
    "matmul": ("batch", "m", "k", "n"),  # batch x (m, k) @ (k, n)
    "attention": ("batch x heads", "queries", "keys", "head size"),
    "convolution": ("batch", "channels in", "channels out", "length", "kernel"),
    "recurrent": ("batch", "steps", "width in", "hidden width"),
}
_LONG_S = 1e3  # longer than any call: no call warms by itself
PHASES = ("forward", "train_forward", "backward")
# How a call is launched: one of a few operators of a layer, from a loop over steps in Python, or
# from the loop of a recurrent layer in C++. Keys of ``launch_s`` are a style and a phase.
STYLES = ("", "loop_", "fused_")
# What comes on top: a product with a bias prepares more than another call (on a CPU it copies the
# bias), and a pass of a loop in Python calls a module. Keys of ``launch_s`` like styles.
EXTRAS = ("product_", "pass_")


@dataclass(frozen=True, slots=True)
class Curve:
    """A rate over a size, read by ``rates.CalibratedRates``.

    ``points`` are (size, rate), sizes ascending, both positive.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        sizes = [size for size, _rate in self.points]
        if not sizes or sizes != sorted(set(sizes)) or min(map(min, self.points)) <= 0:
            raise ValueError("a curve needs positive points with ascending sizes")

    @property
    def peak(self) -> float:
        return max(rate for _size, rate in self.points)


@dataclass(frozen=True, slots=True)
class ShapedRate:
    """Dense FLOP per second that one call of ``shape`` (see ``SHAPES``) reached."""

    shape: tuple[int, ...]
    flop_per_s: float


# Vectors of today's processors hold a divisor of so many elements.
PERIOD = 16


@dataclass(frozen=True, slots=True)
class Ragged:
    """Time at a width over the time that a line through the multiples of ``PERIOD`` has there.

    Attributes:
        rows: rows of the calls that showed it.
        near: factors at widths from 1 to ``2 * PERIOD``.
        far: factors at widths from ``far_width`` on, ``PERIOD`` of them.
        far_width: a multiple of ``PERIOD``.
    """

    rows: int
    near: tuple[float, ...]
    far: tuple[float, ...]
    far_width: int

    def __post_init__(self) -> None:
        right = (len(self.near), len(self.far)) == (2 * PERIOD, PERIOD)
        if not right or self.far_width % PERIOD or min(*self.near, *self.far) <= 0:
            raise ValueError("a ragged table needs positive factors at every width of a period")


@dataclass(frozen=True, slots=True)
class Unaligned:
    """What it costs a product that the rows of its result begin at any address.

    Attributes:
        bytes: between two uses of the result's memory.
        seconds: more per element of the result, for each pass over it.
    """

    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Residual:
    """A shape that no rate was taken from: what the record predicts and what was measured.

    ``name`` is a kind or an operator; ``shape`` a label for people.
    """

    name: str
    shape: str
    predicted_s: float
    measured_s: float

    @property
    def relative_error(self) -> float:
        """(predicted - measured) / measured."""
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True, slots=True)
class CalibrationRecord:
    """Measured rates of one device at one thread count and dtype.

    Attributes:
        shaped: FLOP rates by shape for "matmul", "attention", "attention_causal" (in *dense*
            FLOP, so a kernel that skips masked pairs shows a higher rate), "attention_backward",
            "convolution", "recurrent" and "recurrent_backward".
        ragged: what widths that do not fill vectors cost, by name of ``shaped`` ("attention" serves
            "attention_causal" too), for several numbers of rows.
        unaligned: the same for products whose result is not in the nearest caches, beyond what
            ``ragged`` says, the fewest bytes first.
        bandwidth: bytes per second over the bytes one call addresses (its working set; the
            breakpoints lie around the cache sizes), by kind and by operator packet ("aten.exp").
        launch_s: cost of a call that does nothing, by phase of ``PHASES``: "forward" (no_grad),
            "train_forward" (autograd records it), "backward" (autograd runs it); with a prefix of
            ``STYLES`` for calls in loops, of ``EXTRAS`` for what comes on top.
        step_s: what a call costs more when it needs the result of the one before.
        residuals: errors on shapes that were held out.
        spread: relative spread of the timings behind the rates (median over all of them).
        cold_share: share of its bytes that a call of a longer program does not find in the cache
            level where it finds them alone.
        program_factor: what the work of short calls takes in whole programs over what it takes
            alone, as the calibration's own programs show.
        warming_s: how long a call is alone that pays half of that.
    """

    device: str
    dtype: str
    threads: int
    level: str
    date: str
    environment: Environment
    versions: Mapping[str, str]
    shaped: Mapping[str, tuple[ShapedRate, ...]]
    bandwidth: Mapping[str, Curve]
    launch_s: Mapping[str, float]
    step_s: float
    residuals: tuple[Residual, ...] = ()
    spread: float = 0.0
    duration_s: float = 0.0
    notes: tuple[str, ...] = field(default_factory=tuple)
    cold_share: float = 0.0
    program_factor: float = 1.0
    warming_s: float = _LONG_S
    ragged: Mapping[str, tuple[Ragged, ...]] = field(default_factory=dict)
    unaligned: tuple[Unaligned, ...] = ()

    @property
    def identity(self) -> tuple[str, str, int, str, tuple[tuple[str, str], ...]]:
        """What must be equal for the record to speak about a run."""
        versions = tuple(sorted(self.versions.items()))
        return (self.device, self.dtype, self.threads, self.environment.id, versions)

    @property
    def peak_flop_per_s(self) -> float:
        """The best matmul rate that was measured."""
        return max(rate.flop_per_s for rate in self.shaped["matmul"])

    def to_json(self) -> dict[str, Any]:
        """Plain data with its schema."""
        data = json.loads(json.dumps(asdict(self)))
        data["environment"] = self.environment.to_json()
        return {"schema": SCHEMA, **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CalibrationRecord:
        """Inverse of :meth:`to_json`.

        Raises:
            InputError: if ``data`` has another schema.
        """
        from costlab.devices import Environment  # reads the machine, which a profile needs not

        if data.get("schema") != SCHEMA:
            raise InputError(
                _("this is not a calibration record"),
                given=str(data.get("schema")),
                allowed=SCHEMA,
                advice=_("run costlab calibrate again"),
            )
        fields = {key: value for key, value in data.items() if key != "schema"}
        fields["environment"] = Environment.from_json(fields["environment"])
        fields["shaped"] = {
            name: tuple(ShapedRate(tuple(r["shape"]), r["flop_per_s"]) for r in rates)
            for name, rates in fields["shaped"].items()
        }
        fields["bandwidth"] = {
            name: Curve(tuple((size, rate) for size, rate in curve["points"]))
            for name, curve in fields["bandwidth"].items()
        }
        fields["ragged"] = {
            name: tuple(
                Ragged(**{**table, "near": tuple(table["near"]), "far": tuple(table["far"])})
                for table in tables
            )
            for name, tables in fields["ragged"].items()
        }
        fields["unaligned"] = tuple(Unaligned(**one) for one in fields.get("unaligned", ()))
        fields["residuals"] = tuple(Residual(**residual) for residual in fields["residuals"])
        fields["notes"] = tuple(fields["notes"])
        return cls(**fields)
