"""What is measured (a point's specification) and what came out (a point's result). Plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from costlab.errors import InputError, SizeError
from costlab.i18n import _

SCHEMA = "costlab.profile/1"
MODES = ("forward", "train", "prefill", "decode")
DTYPES = ("float32", "bfloat16", "float16", "float64")
STATUSES = ("ok", "noisy", "oom", "oom_suspected", "timeout", "crash", "cancelled")


@dataclass(frozen=True, slots=True)
class PointSpec:
    """One program at one size on one device: everything a result depends on but the machine.

    Raises:
        InputError: for an unknown mode, dtype or device, or a thread count below 1.
        SizeError: for a size that is not a positive integer.
    """

    target: str
    sizes: Mapping[str, int]
    mode: str = "forward"
    dtype: str = "float32"
    device: str = "cpu"
    threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, MODES)
        _one_of("dtype", self.dtype, DTYPES)
        kind, _colon, index = self.device.partition(":")
        if kind not in ("cpu", "cuda") or (index and not index.isdigit()):
            raise InputError(_("unknown device"), given=self.device, allowed="cpu, cuda, cuda:N")
        if self.threads < 1:
            raise InputError(_("too few threads"), given=str(self.threads), allowed=">= 1")
        for name, value in self.sizes.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SizeError(
                    _("a size is not a positive integer"),
                    given=f"{name}={value}",
                    allowed=_("integers from 1"),
                )

    def to_json(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    def digest(self, code: str, environment: str) -> str:
        """Content hash of the point with a hash of its code and the environment's id."""
        content = {**self.to_json(), "code": code, "environment": environment}
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def _one_of(kind: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise InputError(_("unknown") + f" {kind}", given=given, allowed=", ".join(allowed))


@dataclass(frozen=True, slots=True)
class ProcessTiming:
    """What one fresh process measured.

    ``samples_s`` are times of one call each (the mean over a block where a call is too short for
    the clock), warm-up left out, with the caches as the calls leave them ("hot");
    ``cold_samples_s`` are single calls after the caches were emptied. ``cpu_share`` is CPU time
    over wall time per thread, below 1 where others ran in between; ``drift`` is late over early
    samples minus 1; ``timer_share`` is what timing costs, as a share of a sample.

    ``settled`` says whether the warm-up ended by itself; ``start_s`` and ``end_s`` are the
    moments of :func:`time.monotonic` between which the hot samples lie; ``called_s`` is the time
    in all calls together; ``host_s`` is what the CPU took to issue one call.

    ``probes_s`` holds for each hot sample what a fixed piece of work took beside it, the longer of
    before and after, and ``probe_quickest_s`` the quickest ever seen (see ``shared_core``); empty
    and None on a GPU and with several threads. ``shared_shares`` is for long calls the share of
    looks within each sample that found the core shared (see ``lookout``), else empty.
    """

    median_s: float
    samples_s: tuple[float, ...]
    first_call_s: float
    warmup_calls: int
    calls_per_sample: int
    cpu_share: float | None
    drift: float
    relative_iqr: float
    settled: bool = True
    timer_share: float | None = None
    cold_samples_s: tuple[float, ...] = ()
    start_s: float | None = None
    end_s: float | None = None
    called_s: float | None = None
    host_s: float | None = None
    probes_s: tuple[float, ...] = ()
    probe_quickest_s: float | None = None
    shared_shares: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PassRecord:
    """One process of a point: what it was for, how it ended, and what went on besides.

    Attributes:
        name: "describe", "timing", "memory", "resident" or "energy"; no two share a process.
        status: how it ended, as of a point.
        wall_s: from asking for the process to its answer.
        profiled: whether a profiler was on while it timed; None where nothing was timed.
        others_cpus: CPUs that all other processes kept busy on average; None if unknown.
        costlabs: how many other CostLabs were measuring.
        watch_cpu_s: CPU time that watching took.
        readings: of the device: least and largest value by name, or the reason of none.
    """

    name: str
    status: str
    wall_s: float
    profiled: bool | None = None
    others_cpus: float | None = None
    costlabs: int = 0
    watch_cpu_s: float = 0.0
    readings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PointResult:
    """A measured point. A field that is None has its reason in ``reasons``.

    Attributes:
        point: content hash of what was measured, its code and the environment.
        status: one of ``STATUSES``; all but "ok" and "noisy" have no time.
        time_s: median of the process medians, with everything the call frees; the caches are as
            the calls leave them ("hot").
        time_interval_s: where the median of a second study of as many processes lies, with a
            probability of 95 % (see ``statistics.repeat_interval``).
        samples: the process medians that count, in the order they were measured.
        quick_samples: of the same processes the tenth percentile of their calls, which neighbours
            disturb less than the median: what runs are compared by.
        shared: share of the samples taken while somebody else used the same core. They do not count
            for ``time_s`` unless nearly all of them were (flag "shared_core"); None where it was
            not looked for (a GPU, several threads).
        within_spread: typical interquartile range within one process over its median; it says
            nothing about the next process.
        cold_time_s: like ``time_s``, of calls each after the caches were emptied.
        host_time_s: what the CPU takes to issue one call; on a CPU the same as ``time_s``.
        stopped: which way timing ended, a key of ``stopping.EXITS``; "" if it failed.
        peak_bytes: most bytes of tensor storage alive at one moment of the mode, kernel scratch,
            parameters, buffers and inputs included (in training also the upstream gradient).
        rss_peak_bytes: highest resident size (VmHWM) of a fresh process, runtime included.
        rss_baseline_bytes: the same before the program was built.
        allocated_bytes: ``peak_bytes`` after the device allocator's rounding.
        reserved_bytes: what the device's allocator had taken from the driver.
        device_bytes: what the driver had given the process on the device.
        energy_j: of one call, everything the device takes included; ``power_w`` its mean power.
        wall_s: everything the point took; ``called_s`` the part in which the program ran to be
            timed. The difference is overhead.
        processes: raw samples per process.
        timed_at: when each timed process ended, in seconds since the epoch (in a sweep).
        passes: every process of the point.
        energy_windows: raw figures of the energy pass.
        rules: version of the rules it was judged by, see ``judge.RULES``.
    """

    point: str
    architecture: str
    mode: str
    dtype: str
    device: str
    sizes: Mapping[str, int]
    threads: int
    status: str
    environment: str
    time_s: float | None = None
    time_interval_s: tuple[float, float] | None = None
    samples: tuple[float, ...] = ()
    quick_samples: tuple[float, ...] = ()
    shared: float | None = None
    within_spread: float | None = None
    cold_time_s: float | None = None
    host_time_s: float | None = None
    stopped: str = ""
    peak_bytes: int | None = None
    rss_peak_bytes: int | None = None
    rss_baseline_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    device_bytes: int | None = None
    energy_j: float | None = None
    power_w: float | None = None
    flags: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    wall_s: float | None = None
    called_s: float | None = None
    processes: tuple[ProcessTiming, ...] = ()
    timed_at: tuple[float, ...] = ()
    passes: tuple[PassRecord, ...] = ()
    energy_windows: tuple[Mapping[str, Any], ...] = ()
    rules: int = 0
    run: str = ""

    def to_json(self, *, raw: bool = False) -> dict[str, Any]:
        """The contract's point object; ``raw`` adds every process's samples and readings."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if not raw:
            for name in _RAW:
                del data[name]
        return {"schema": SCHEMA, "kind": "point", **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PointResult:
        """Inverse of :meth:`to_json` (with or without raw samples)."""
        other = ("schema", "kind", "asked")  # what the store adds
        fields = {key: value for key, value in data.items() if key not in other}
        interval = fields.get("time_interval_s")
        fields["time_interval_s"] = (interval[0], interval[1]) if interval else None
        for name in ("samples", "quick_samples", "flags", "timed_at"):
            fields[name] = tuple(fields.get(name, ()))
        fields["processes"] = tuple(timing_from(process) for process in fields.get("processes", ()))
        fields["passes"] = tuple(PassRecord(**one) for one in fields.get("passes", ()))
        fields["energy_windows"] = tuple(fields.get("energy_windows", ()))
        return cls(**fields)


_RAW = ("processes", "passes", "energy_windows")


def timing_from(data: Mapping[str, Any]) -> ProcessTiming:
    """Inverse of ``asdict`` of a :class:`ProcessTiming` after a way through JSON."""
    names = ("samples_s", "cold_samples_s", "probes_s", "shared_shares")
    lists = {name: tuple(data.get(name, ())) for name in names}
    return ProcessTiming(**{**data, **lists})
