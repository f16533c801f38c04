"""The public way to a prediction: an architecture or a derivation, sizes and a machine."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from costlab.errors import SizeError
from costlab.formulas.record import CONVENTION, CostClass, Derivation
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import CALIBRATED, DATASHEET, Machine
from costlab.i18n import _
from costlab.prediction.record import DOUBLED, SCHEMA, Prediction
from costlab.prediction.sizes import complete_sizes, select_class
from costlab.prediction.timing import Times, time_of, unrated_kinds

_SEGMENT = 2 * 2**20  # smallest block that torch's CUDA allocator asks the driver for


def predict(
    program: str | Derivation,
    sizes: Mapping[str, int],
    machine: Machine | str,
    *,
    mode: str = "forward",
    dtype: str = "float32",
    threads: int | None = None,
    doubled: Collection[str] | None = None,
) -> Prediction:
    """Predict the cost of ``program`` at ``sizes`` on ``machine``.

    Args:
        program: a derivation, or what ``costlab.derive`` takes by name (committed formulas are
            read where there are); ``mode`` and ``dtype`` matter only for a name.
        sizes: symbol to positive integer; what is left out takes its default.
        machine: a machine, or the name or path of a device profile (a bound).
        threads: threads of the run on a CPU; None: those the machine was measured with.
        doubled: sizes for which ``doubling`` is wanted; None: all.

    Raises:
        SizeError: if a size is missing, unknown or outside the domain; names the nearest allowed.
        UnknownNameError: if there is no such architecture or device.

    Example:
        >>> predict("full_attention", {"b": 1, "n": 4096, "d": 512}, "L4").limiter  # doctest: +SKIP
        'compute'
    """
    if isinstance(machine, str):
        known = program.dtype if isinstance(program, Derivation) else dtype
        machine = Machine.from_profile(load_profile(machine), known)
    derivation = _derivation(program, mode, dtype, machine.backend)
    threads = machine.threads if threads is None else threads
    full = complete_sizes(derivation, sizes)
    cost_class = select_class(derivation, full)
    values = {**full, "threads": threads}
    times = time_of(cost_class, values, machine, derivation.mode)
    peak = _exact(cost_class, "peak_bytes", values)
    basis, interval = _basis(derivation, machine, threads, times)
    reserved, device, reasons = _allocated(machine, peak)
    return Prediction(
        architecture=derivation.architecture,
        mode=derivation.mode,
        dtype=derivation.dtype,
        device=machine.name,
        sizes={name: full[name] for name in derivation.sizes},
        threads=threads,
        flop=_exact(cost_class, "flop", values),
        flop_useful=_exact(cost_class, "flop_useful", values),
        bytes=_exact(cost_class, "bytes", values),
        peak_bytes=peak,
        state_bytes=_exact(cost_class, "state_bytes", values),
        reserved_bytes=reserved,
        device_bytes=device,
        launches=_exact(cost_class, "launches", values),
        steps=_exact(cost_class, "steps", values),
        time_s=float(times.total_s),
        time_interval_s=interval,
        basis=basis,
        limiter=times.limiter(),
        shares={
            "compute": float(times.compute_s),
            "memory": float(times.memory_s),
            "launch": float(times.launch_s),
            "latency": float(times.latency_s),
        },
        energy_j=None,
        energy_reason=_("no power was measured with these rates"),
        doubling=_doubling(derivation, full, machine, threads, doubled),
        assumptions=_assumptions(derivation, machine, cost_class, threads, sizes),
        gaps=derivation.gaps,
        reasons=reasons,
    )


def to_json(predictions: list[Prediction]) -> dict[str, Any]:
    """The answer of ``costlab predict --json``."""
    return {"schema": SCHEMA, "points": [prediction.to_json() for prediction in predictions]}


def _derivation(program: str | Derivation, mode: str, dtype: str, backend: str) -> Derivation:
    """The formulas of ``backend``; the CPU's for a backend that has none of its own."""
    if isinstance(program, Derivation):
        return program
    from costlab.formulas.store import available, load, names

    backend = "cuda" if backend == "cuda" else "cpu"
    if program in names() and f"{mode}-{backend}-{dtype}" in available(program):
        return load(program, mode, dtype, backend)
    from costlab.derivation.api import derive

    return derive(program, mode=mode, dtype=dtype, backend=backend)


def _exact(cost_class: CostClass, quantity: str, values: Mapping[str, int]) -> int | None:
    """The formula's value, exact; a logarithm makes it a float, which is rounded."""
    found = cost_class.cost.get(quantity)
    if found is None or found.expr is None:
        return None
    return round(found.expr.evaluate(values))


def _basis(
    derivation: Derivation, machine: Machine, threads: int, times: Times
) -> tuple[str, tuple[float | None, float | None]]:
    if machine.basis == DATASHEET:
        return DATASHEET, (float(times.low_s), None)
    if (derivation.dtype, threads) == (machine.dtype, machine.threads):
        return CALIBRATED, (float(times.low_s), float(times.high_s))
    return "transferred", (None, None)


def _allocated(machine: Machine, peak: int | None) -> tuple[int | None, int | None, dict[str, str]]:
    """Bytes that the allocator holds and that the device shows, with reasons for None."""
    no_context = _("the runtime's context on this device was not measured")
    if peak is None:
        return None, None, {"reserved_bytes": _("the peak has no closed form")}
    if machine.backend != "cuda":
        reasons = {
            "reserved_bytes": _("the CPU allocator keeps no pool"),
            "device_bytes": _("runs in main memory"),
        }
        return None, None, reasons
    return math.ceil(peak / _SEGMENT) * _SEGMENT, None, {"device_bytes": no_context}


def _doubling(
    derivation: Derivation,
    full: Mapping[str, int],
    machine: Machine,
    threads: int,
    wanted: Collection[str] | None,
) -> dict[str, dict[str, float | None]]:
    names = [name for name in derivation.sizes if wanted is None or name in wanted]
    if not names:
        return {}
    base = _quantities(derivation, full, machine, threads)
    factors: dict[str, dict[str, float | None]] = {}
    followed = {k for k, v in derivation.auxiliary.items() if v.evaluate(full) == full[k]}
    free = [size for size in derivation.sizes if size not in followed]
    for name in names:
        changed = {size: full[size] for size in free} | {name: 2 * full[name]}
        try:
            doubled = _quantities(derivation, complete_sizes(derivation, changed), machine, threads)
        except SizeError:
            doubled = dict.fromkeys(DOUBLED)
        factors[name] = {
            quantity: _ratio(doubled[quantity], base[quantity]) for quantity in DOUBLED
        }
    return factors


def _quantities(
    derivation: Derivation, full: Mapping[str, int], machine: Machine, threads: int
) -> dict[str, float | None]:
    cost_class = select_class(derivation, full)
    values = {**full, "threads": threads}
    found: dict[str, float | None] = {
        quantity: _exact(cost_class, quantity, values) for quantity in DOUBLED if quantity != "time"
    }
    found["time"] = float(time_of(cost_class, values, machine, derivation.mode).total_s)
    return found


def _ratio(doubled: float | None, base: float | None) -> float | None:
    return None if doubled is None or not base else doubled / base


def _assumptions(
    derivation: Derivation,
    machine: Machine,
    cost_class: CostClass,
    threads: int,
    given: Mapping[str, int],
) -> tuple[str, ...]:
    found = [CONVENTION, *machine.assumptions]
    taken = {k: v for k, v in derivation.defaults.items() if k not in given and "k" not in given}
    if taken:
        text = ", ".join(f"{name}={value}" for name, value in taken.items())
        found.append(_("sizes not given take their defaults: {sizes}").format(sizes=text))
    if machine.basis != DATASHEET and derivation.dtype != machine.dtype:
        found.append(
            _("rates measured in {measured} stand in for {wanted}: no interval").format(
                measured=machine.dtype, wanted=derivation.dtype
            )
        )
    if machine.basis != DATASHEET and threads != machine.threads:
        found.append(
            _("rates measured with {measured} thread(s) stand in for {wanted}: no interval").format(
                measured=machine.threads, wanted=threads
            )
        )
    if derivation.backend != machine.backend:
        found.append(
            _("operators as the {backend} backend calls them").format(backend=derivation.backend)
        )
    unrated = unrated_kinds(cost_class, machine)
    if unrated:
        found.append(
            _("no rate for {kinds}: taken as a copy of the same bytes").format(
                kinds=", ".join(unrated)
            )
        )
    return (*found, *derivation.notes)
