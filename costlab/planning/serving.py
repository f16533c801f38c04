"""Serving a model: prefill, decode, how many sequences and how long ones fit, at what rate.

Times are what the makers' rates allow: products at the matrix rate or weights at the memory's
bandwidth, whichever takes longer, then the state, then the links. Starting of kernels and a
server's own work are not in them, so that they are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from costlab.errors import InputError
from costlab.formulas.evaluate import evaluate
from costlab.i18n import _
from costlab.planning.cluster import Cluster
from costlab.planning.communication import Links, group
from costlab.planning.formulas import expression
from costlab.planning.memory import divided
from costlab.planning.model import ModelConfig, Part
from costlab.planning.passes import chunked, guessed, plain
from costlab.planning.precision import FORMATS, Format
from costlab.planning.request import Pass, Request, Timed
from costlab.planning.totals import parameters, state_bytes, value
from costlab.planning.workload import workload
from costlab.units import format_value

_WIDE = FORMATS["bf16"]
_RESERVE = 1.5 * 2**30  # context, library, and what one pass holds for a moment
_DECODED = {"attention_core": "attention_core", "cross_attention_core": "attention_core",
            "latent_core": "latent_core", "lstm": "lstm", "state_space": "state_space",
            "short_convolution": "short_convolution"}  # fmt: skip
_CORES = ("attention_core", "cross_attention_core", "latent_core")


def rank_model(model: ModelConfig, tp: int) -> ModelConfig:
    """What one of ``tp`` ranks holds, as a model."""

    def shares(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(divided(item, tp) for item in parts)

    return replace(
        model, before=shares(model.before), after=shares(model.after),
        layers=tuple(replace(layer, parts=shares(layer.parts)) for layer in model.layers),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Server:
    """One replica of a model on ``tp`` devices."""

    model: ModelConfig
    rank: ModelConfig
    cluster: Cluster
    tp: int
    request: Request
    memory: float
    draft: Server | None = None

    @property
    def weight_bytes(self) -> Fraction:
        """Bytes of weights of one device."""
        inside = sum((layer.count * self._stored(layer.parts) for layer in self.rank.layers),
                     Fraction(0))  # fmt: skip
        ends = sum(parameters(item) for item in (*self.rank.before, *self.rank.after))
        return inside + _WIDE.bytes(ends)

    def _stored(self, parts: tuple[Part, ...]) -> Fraction:
        return sum((self._format(item).bytes(parameters(item)) for item in parts), Fraction(0))

    def _format(self, item: Part) -> Format:
        return self.request.weights if item.entry in ("linear", "lstm") else _WIDE

    @property
    def free_bytes(self) -> float:
        """Bytes of one device that are left for sequences."""
        guessing = float(self.draft.weight_bytes) if self.draft else 0.0
        return self.memory * self.request.share - float(self.weight_bytes) - guessing - _RESERVE

    def sequence_bytes(self, context: int) -> float:
        """Bytes that a sequence of ``context`` tokens holds on one device, in whole blocks."""
        block = self.request.block
        tokens = ceil(context / block) * block
        own = float(state_bytes(self.rank, 1, tokens, m=self.request.prompt,
                                kept_in=self.request.kv))  # fmt: skip
        return own + (self.draft.sequence_bytes(context) if self.draft else 0.0)

    @property
    def blocks(self) -> int | None:
        """Paged blocks that fit; None where no layer attends to all of the context."""
        one = self.sequence_bytes(2**20 + self.request.block) - self.sequence_bytes(2**20)
        return int(self.free_bytes // one) if one > 0 else None

    @property
    def most_sequences(self) -> int:
        """Finished requests that fit at the same time."""
        return max(int(self.free_bytes // self.sequence_bytes(self.request.context)), 0)

    @property
    def longest(self) -> int | None:
        """Tokens of the longest single sequence that fits; None where length costs nothing."""
        block = self.request.block
        if self.sequence_bytes(block) > self.free_bytes:
            return 0
        if self.blocks is None:
            return None
        low, high = 1, 2
        while self.sequence_bytes(high * block) <= self.free_bytes:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.sequence_bytes(middle * block) <= self.free_bytes
            low, high = (middle, high) if fits else (low, middle)
        return low * block

    def prefill(self) -> dict[str, float]:
        """Seconds by cause of one prompt; only its last position gets logits."""
        return self.seconds(self.prompt_pass(self.request.cached, self.request.prompt))

    def prompt_pass(self, start: int, stop: int) -> Pass:
        """Positions ``start`` to ``stop`` of a prompt, those before them done.

        Raises:
            InputError: if a part is asked for of a prompt that an encoder reads.
        """
        if start and any(layer.stream == "source" for layer in self.rank.layers):
            raise InputError(
                _("an encoder reads a prompt as a whole"), given=self.model.name,
                advice=_("leave out cached tokens and chunks"),
            )  # fmt: skip
        products = cores = 0.0
        for item, count, stream in self.rank.parts():
            length = int(stop == self.request.prompt) if item.name == "head" else stop - start
            m = stop if stream == "target" else 0
            if item.entry in _CORES:
                before = value(item, "flop_useful", "forward", 1, start, start) if start else 0
                cores += count * (value(item, "flop_useful", "forward", 1, stop, m) - before)
            elif length:
                products += count * value(item, "flop_matmul", "forward", 1, length, m)
        held = state_bytes(self.rank, 1, start, kept_in=self.request.kv) if start else 0
        return Pass(products, cores, float(held), stop - start)

    def decode(self, sequences: int) -> dict[str, float]:
        """Seconds by cause of one token of each of ``sequences`` half-finished requests."""
        return self.seconds(self.decode_pass(sequences))

    def decode_pass(self, sequences: int, positions: int = 1) -> Pass:
        """``positions`` tokens at once of each of ``sequences`` half-finished requests."""
        context = self.request.prompt + self.request.output // 2
        products = cores = 0.0
        for item, count in self._decoded():
            found = count * self._token_flop(item, sequences, context) * positions
            core = item.entry in _CORES
            products, cores = (products, cores + found) if core else (products + found, cores)
        state = sequences * float(state_bytes(
            self.rank, 1, context, m=self.request.prompt, kept_in=self.request.kv))  # fmt: skip
        return Pass(products, cores, state, sequences * positions)

    def _decoded(self) -> Iterator[tuple[Part, int]]:
        """Parts that a decoded token passes: not the encoder, nor the source's keys and values."""
        for item, count, stream in self.rank.parts():
            if stream == "target" and item.name not in ("cross_attention.k", "cross_attention.v"):
                yield item, count

    def _token_flop(self, item: Part, b: int, context: int) -> float:
        if item.entry not in _DECODED:
            return value(item, "flop_matmul", "forward", b, 1)
        keys = min(item.window, context) if item.window else context
        if item.entry == "cross_attention_core" and not item.window:
            keys = self.request.prompt
        formula = expression(_DECODED[item.entry], "flop_matmul", "decode")
        return float(evaluate(formula, {**item.size, "b": b, "n": keys}))

    def _read(self, tokens: int) -> Fraction:
        """Bytes of weights that a pass of ``tokens`` tokens reads: of the experts, those hit."""
        total = Fraction(0)
        for item, count, _stream in self.rank.parts():
            if item.entry in ("embedding", "table"):
                continue
            number = count * parameters(replace(item, tied=False))
            kept = self._format(item) if item.name != "head" else _WIDE
            missed = (1 - item.active / item.copies) ** tokens
            total += kept.bytes(number) * Fraction(1 - missed)
        return total

    def seconds(self, work: Pass) -> dict[str, float]:
        """Seconds by cause of a pass."""
        rate, bandwidth = self.cluster.flop_per_s("bfloat16"), self.cluster.profile.bandwidth.value
        compute, memory = work.products / rate, float(self._read(work.tokens)) / bandwidth
        cores, state = work.cores / rate, work.state / bandwidth
        links = 0.0
        if self.tp > 1:
            ring = group(self.cluster, Links(), np.array(float(self.tp)), np.array(1.0))
            one = ring.all_reduce(np.array(2.0 * work.tokens * self.model.width))
            links = 2 * self.model.depth * float(one)
        return {
            "products": compute if compute >= memory else 0.0,
            "weights": memory if compute < memory else 0.0,
            "attention": cores if cores >= state else 0.0,
            "state": state if cores < state else 0.0,
            "links": links,
        }

    def row(self, sequences: int) -> dict[str, Any]:
        """TTFT, TPOT and throughput at a concurrency, of one replica."""
        timed = self._timed(sequences)
        first, token = timed.first, timed.token
        return {
            "concurrency": sequences,
            "ttft_s": timed.ttft_s,
            "tpot_s": timed.tpot_s,
            "stall_s": timed.stall_s,
            "tokens_per_s": timed.tokens_per_s,
            "state_bytes": sequences * self.sequence_bytes(self.request.context),
            "prefill_limiter": max(first, key=lambda name: first[name]),
            "decode_limiter": max(token, key=lambda name: token[name]),
            "fits": sequences <= self.most_sequences,
        }

    def _timed(self, sequences: int) -> Timed:
        if self.request.chunk:
            return chunked(self, sequences)
        return guessed(self, sequences) if self.draft else plain(self, sequences)


def servers(
    model: ModelConfig, cluster: Cluster, request: Request, memory: float | None = None
) -> list[Server]:
    """The ways to spread a replica over devices that hold the weights and one request.

    Raises:
        InputError: if none does; says what binds and the smallest change that helps.
    """
    divisor = workload(model, 2).divisor
    capacity = memory or cluster.capacity_bytes
    found = [
        Server(
            model,
            rank_model(model, tp),
            cluster,
            tp,
            request,
            capacity,
            _draft(cluster, tp, request, capacity),
        )
        for tp in range(1, min(cluster.devices, cluster.per_node) + 1)
        if cluster.devices % tp == 0 and divisor % tp == 0
    ]
    fit = [server for server in found if server.most_sequences >= 1]
    if not fit:
        raise _does_not_fit(found[-1], divisor)
    return fit


def _draft(cluster: Cluster, tp: int, request: Request, capacity: float) -> Server | None:
    """The draft model beside a server: divided like it, or a copy on each device."""
    model = request.draft
    if model is None:
        return None
    share = tp if workload(model, 2).divisor % tp == 0 else 1
    alone = replace(request, draft=None)
    return Server(model, rank_model(model, share), cluster, share, alone, capacity)


def _does_not_fit(server: Server, divisor: int) -> InputError:
    weights, request = float(server.weight_bytes), server.request
    sequence = server.sequence_bytes(request.context)
    binds = _("weights") if weights > sequence else _("keys, values and states")
    advice = []
    for tp in range(server.tp + 1, divisor + 1):
        wider = replace(server, tp=tp, rank=rank_model(server.model, tp))
        if divisor % tp == 0 and wider.most_sequences >= 1:
            advice.append(_("{n} such devices would do").format(n=tp))
            break
    for name in ("fp8", "int4-g128"):
        smaller = replace(server, request=replace(request, weights=FORMATS[name]))
        if smaller.most_sequences >= 1:
            advice.append(_("or --weights {name} here").format(name=name))
            break
    shorter = server.longest
    if shorter:
        advice.append(_("or a context of {n} tokens").format(n=shorter))
    return InputError(
        _("the model does not fit"),
        given=_("{model} on {n} devices of {size}: weights {weights}, a request {one} each").format(
            model=server.model.name, n=server.tp, size=format_value(int(server.memory), "B"),
            weights=format_value(int(weights), "B"), one=format_value(int(sequence), "B"),
        ),
        advice=_("{binds} bind; {changes}").format(
            binds=binds,
            changes=", ".join(advice) or _("no single change found: take a smaller model"),
        ),
    )  # fmt: skip


def best(found: list[Server], tpot_s: float | None, ttft_s: float | None) -> tuple[Server, int]:
    """The server and concurrency of most tokens per second and device within the limits.

    Raises:
        InputError: if none meets them; says how near the nearest comes.
    """
    choices = []
    for server in found:
        for sequences in concurrencies(server.most_sequences):
            row = server.row(sequences)
            if (tpot_s and row["tpot_s"] > tpot_s) or (ttft_s and row["ttft_s"] > ttft_s):
                continue
            choices.append((row["tokens_per_s"] / server.tp, server, sequences))
    if not choices:
        rows = [server.row(1) for server in found]
        raise InputError(
            _("no way of serving meets the limits"),
            given=_("at best {tpot} a token and {ttft} to the first").format(
                tpot=format_value(min(row["tpot_s"] for row in rows), "s"),
                ttft=format_value(min(row["ttft_s"] for row in rows), "s"),
            ),
            advice=_("give more devices, smaller --weights, or wider limits"),
        )
    _rate, server, sequences = max(choices, key=lambda choice: choice[0])
    return server, sequences


def concurrencies(most: int) -> list[int]:
    """Powers of two up to ``most``, and ``most``."""
    steps = [2**i for i in range(most.bit_length()) if 2**i < most]
    return [*steps, most]
