"""The cost of writing: the prefill of a prompt, then one decode step for each new token."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from costlab.errors import InputError, SizeError
from costlab.formulas.record import Derivation
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.prediction.api import predict
from costlab.prediction.decode_steps import Steps
from costlab.prediction.record import Prediction
from costlab.prediction.sizes import known_sizes
from costlab.prediction.timing import LIMITERS

MODE = "generate"
LONGEST = 2**20
"""More steps than this are not summed."""

_SUMMED = ("flop", "flop_useful", "bytes", "launches", "steps")


@dataclass(frozen=True, slots=True)
class Generation:
    """``new`` tokens written after a prompt of ``prompt``.

    Attributes:
        total: what the prefill and all steps cost together; its peak is the largest of them, its
            state that after the last step.
        prefill: the prompt alone.
        first, last: the steps at contexts ``prompt`` and ``prompt + new - 1``.
        decode_s: seconds of all steps.
    """

    prompt: int
    new: int
    total: Prediction
    prefill: Prediction
    first: Prediction
    last: Prediction
    decode_s: float

    @property
    def tokens_per_s(self) -> float:
        """New tokens of all sequences of the batch per second, the prefill's time included."""
        return self._tokens / self.total.time_s

    @property
    def decode_tokens_per_s(self) -> float:
        """The same while decoding alone."""
        return self._tokens / self.decode_s

    @property
    def _tokens(self) -> int:
        return self.new * self.total.sizes.get("b", 1)

    def to_json(self) -> dict[str, Any]:
        """A point of schema ``costlab.predict/1`` with the parts under ``generate``."""
        return {
            **self.total.to_json(),
            "generate": {
                "prompt": self.prompt,
                "new": self.new,
                "prefill_s": self.prefill.time_s,
                "decode_s": self.decode_s,
                "first_step_s": self.first.time_s,
                "last_step_s": self.last.time_s,
                "tokens_per_s": self.tokens_per_s,
                "decode_tokens_per_s": self.decode_tokens_per_s,
            },
        }


def generate(
    prefill: Derivation,
    decode: Derivation,
    sizes: Mapping[str, int],
    machine: Machine,
    *,
    prompt: int,
    new: int,
    threads: int | None = None,
) -> Generation:
    """Predict the writing of ``new`` tokens after ``prompt`` tokens.

    Every new token is one step: the first at context ``prompt``, the last at
    ``prompt + new - 1``. Counts are exact: in closed form where a formula is a polynomial of the
    context, step by step elsewhere.

    Args:
        prefill: formulas of the mode "prefill".
        decode: formulas of the mode "decode" of the same module.
        sizes: the other sizes; the length is the prompt's.
        machine: where it runs.
        prompt: tokens of the prompt, at least 1.
        new: tokens that are written, 1 to ``LONGEST``.
        threads: as :func:`costlab.prediction.api.predict` takes it.

    Raises:
        SizeError: if a size is missing, unknown or outside the domain at any context, or the
            length is among ``sizes``.
        InputError: if the module has no length n.
    """
    for program in (prefill, decode):
        if "n" not in program.sizes:
            raise InputError(
                _("{name} has no length n that a prompt could give").format(
                    name=program.architecture
                ),
                given=" ".join(program.sizes),
            )
    if "n" in sizes:
        raise SizeError(
            _("the length of a generation is that of its prompt"),
            given=f"n={sizes['n']}",
            advice=_("leave n out, or say --prompt {n}").format(n=sizes["n"]),
        )
    if not 1 <= new <= LONGEST or prompt < 1:
        raise SizeError(
            _("a generation writes at least one token after at least one"),
            given=f"prompt={prompt} new={new}",
            allowed=f"prompt >= 1, new = 1 .. {LONGEST}",
        )

    def at(program: Derivation, n: int) -> Prediction:
        own = {name: size for name, size in sizes.items() if name in known_sizes(program)}
        return predict(program, {**own, "n": n}, machine, threads=threads, doubled=())

    whole = at(prefill, prompt)
    first, last = at(decode, prompt), at(decode, prompt + new - 1)
    steps = Steps(decode, sizes, machine, whole.threads, prompt, new)
    times = steps.times()
    shares = {name: whole.shares[name] + times[name] for name in LIMITERS}
    low, high = whole.time_interval_s
    if low is not None:
        low += times["low"]
        high = None if high is None else high + times["high"]
    if not math.isfinite(times["high"]):
        high = None
    decode_s = sum(times[name] for name in LIMITERS)
    found: dict[str, Any] = {name: steps.total(name, getattr(whole, name)) for name in _SUMMED}
    reserved, peak = whole.reserved_bytes, steps.peak(whole.peak_bytes)
    if first.reserved_bytes is not None and last.reserved_bytes is not None:
        reserved = max(first.reserved_bytes, last.reserved_bytes, reserved or 0)
    total = replace(
        whole,
        mode=MODE,
        peak_bytes=peak,
        reserved_bytes=reserved,
        state_bytes=steps.state_after(),
        time_s=whole.time_s + decode_s,
        time_interval_s=(low, high),
        limiter=max(LIMITERS, key=lambda name: shares[name]),
        shares=shares,
        doubling={},
        assumptions=_joined(
            whole.assumptions,
            last.assumptions,
            _("each of the {new} new tokens is one step, at contexts {first} .. {last}").format(
                new=new, first=prompt, last=prompt + new - 1
            ),
        ),
        gaps=tuple(dict.fromkeys((*whole.gaps, *last.gaps))),
        **found,
    )
    return Generation(prompt, new, total, whole, first, last, decode_s)


def _joined(first: tuple[str, ...], second: tuple[str, ...], more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second, more)))
