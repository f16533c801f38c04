"""``costlab predict --mode decode --stream``: whether a step keeps up with tokens that arrive."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from costlab.cli.common import parsed
from costlab.cli.prediction_text import sizes_text
from costlab.i18n import _
from costlab.units import format_count, format_value, parse_frequency

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation
    from costlab.prediction.record import Prediction
    from costlab.prediction.streaming import Stream


def streams_of(
    args: argparse.Namespace, programs: Sequence[Derivation], found: Sequence[Prediction]
) -> list[Stream]:
    """What becomes of the stream at each prediction; empty without ``--stream``."""
    if args.stream is None:
        return []
    from costlab.calibration.choice import load_machine
    from costlab.prediction.streaming import stream

    rate = parsed(parse_frequency, "--stream", args.stream)
    machine = load_machine(args.device, args.dtype, args.threads)
    named = {program.architecture: program for program in programs}
    return [stream(named[point.architecture], point, machine, rate) for point in found]


def stream_lines(streams: Sequence[Stream], found: Sequence[Prediction]) -> list[str]:
    """A line for each stream, under a title."""
    if not streams:
        return []
    title = _("stream of {rate} tokens/s: {budget} for each").format(
        rate=format_count(streams[0].rate_per_s), budget=format_value(streams[0].budget_s, "s")
    )
    lines = [
        f"  {point.architecture} {sizes_text(point)}: {_line(stream, point)}"
        for stream, point in zip(streams, found, strict=True)
    ]
    return [title, *lines]


def _line(stream: Stream, point: Prediction) -> str:
    verdict = _("keeps up") if stream.keeps_up else _("does not keep up")
    parts = [
        _("{verdict} (a step takes {time})").format(
            verdict=verdict, time=format_value(stream.step_s, "s")
        ),
        _from_where(stream, bound=point.time_interval_s[1] is None),
    ]
    if stream.memory_ends_at is not None:
        at = format_count(stream.memory_ends_at)
        parts.append(_("memory holds contexts up to {at}").format(at=at))
    return "; ".join(parts)


def _from_where(stream: Stream, *, bound: bool) -> str:
    at = stream.falls_behind_from
    if at is None:
        if bound:
            return _("never certain to fall behind: only a bound is known")
        return _("never falls behind, whatever the context")
    if at == 1:
        return _("nor does it at any other context")
    if bound:
        return _("falls behind from context {at} on at the latest").format(at=format_count(at))
    first, last = stream.interval
    span = " .. ".join(_("never") if end is None else format_count(end) for end in (first, last))
    return _("falls behind from context {at} on ({span})").format(at=format_count(at), span=span)
