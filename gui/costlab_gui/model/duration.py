"""About how long a measurement takes, from the predicted time of its calls."""

from __future__ import annotations

from costlab.i18n import _
from costlab.units import format_value

# How long the parts of a point take beside the calls, in seconds; measured on two cores. The
# estimate is these and the predicted time of a call, so it is about right and no more.
START_S = 3.0
_PROCESS_S = 0.15
_DESCRIBE_S = 0.1
_RESIDENT_S = 2.3
_ENERGY_S = 17.0
_UNKNOWN_CALL_S = 0.1
# As in a process's timing plan: warming up, and sampling.
_WARM_CALLS, _WARM_S = 8, 1.0
_SAMPLES, _LEAST_S, _MOST_S = 10, 0.3, 3.0
_PROCESS_LIMIT_S = 120.0


def seconds_of(call_s: float | None, repeats: int, energy: bool) -> float:
    """What the processes of a point may take together.

    Args:
        call_s: predicted time of a call; None if there is none.
        repeats: timed processes.
        energy: whether there is an energy pass.
    """
    call = _UNKNOWN_CALL_S if call_s is None else call_s
    # Making the inputs and the first call take about two calls.
    build = _PROCESS_S + 2 * call
    warm = min(_WARM_CALLS * call, _WARM_S + call)
    sampling = max(min(max(_LEAST_S, _SAMPLES * call), _MOST_S), call)
    timed = min(build + warm + sampling, _PROCESS_LIMIT_S)
    # The first process also calls with other inputs, to see that no answer is kept.
    other_inputs = min(10 * call, _WARM_S + 4 * call)
    parts = [_DESCRIBE_S, repeats * timed, other_inputs, 2 * build, _RESIDENT_S]
    return sum(parts) + (_ENERGY_S if energy else 0.0)


def about(seconds: float) -> str:
    """A duration that is only about right, with two digits."""
    scale = 60 if seconds >= 120 else 1
    return format_value(scale * float(f"{seconds / scale:.2g}"), "s")


def basis() -> str:
    """How the duration is estimated, for whoever asks."""
    return _(
        "For each point: the predicted time of a call, as often as it is called, {process} s for "
        "each process, and {resident} s for the resident peak; {start} s to start. Quick calls "
        "are repeated for {least} s, long ones for {most} s at most. Other load adds to it."
    ).format(process=_PROCESS_S, resident=_RESIDENT_S, start=START_S, least=_LEAST_S, most=_MOST_S)
