"""What a rank moves in a training step: each collective with its group, direction and bytes.

``bytes`` is always that of the whole array (what an all-gather makes, what a reduce-scatter or an
all-reduce is given); :attr:`Collective.sent` is what a rank sends of it along a ring.

    data, ZeRO 0      all-reduce of the gradients (Li et al. 2020, PyTorch Distributed)
    data, ZeRO 1, 2   reduce-scatter of the gradients, all-gather of the weights
    data, ZeRO 3      all-gather of the weights in forward and in backward, reduce-scatter, each
                      pass (Zhao et al. 2023, FSDP; Rajbhandari et al. 2020, section 7)
    tensor            all-reduce behind each row product forward, before each column product
                      backward (Shoeybi et al. 2019, section 3)
    sequence          the same as reduce-scatter and all-gather, and the inputs of column products
                      gathered once more in backward (Korthikanti et al. 2022, section 4.2.2); the
                      norms' gradients are summed
    loss              three numbers a token, where the vocabulary is divided
    pipeline          an activation to the next stage, its gradient back (Narayanan et al. 2021)
    context           keys and values around the ring; in backward their gradients too
                      (Liu et al. 2023, Ring Attention)
    expert            all-to-all to the experts and back (Lepikhin et al. 2020, GShard)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from costlab.planning.memory import Cut, divided, rank_shapes
from costlab.planning.model import ModelConfig, Part
from costlab.planning.parallel import Plan
from costlab.planning.precision import Precision
from costlab.planning.stages import Stage, stage_of
from costlab.planning.tensors import Shape, elements, row_share, shapes

Kind = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"]
Phase = Literal["forward", "backward", "step"]

_OF_LOSS = 3  # numbers a token: the largest logit, the target's, the sum of exponentials
_LOSS = 4  # bytes of each
_FACTOR = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1, "broadcast": 1}


@dataclass(frozen=True, slots=True)
class Collective:
    """All calls of one kind in a step, as one rank takes part in them.

    Attributes:
        what: what is moved, such as "weights".
        group: the parallelism whose group takes part: dp (with cp), tp, pp, cp or ep.
        ranks: members of the group.
        calls: how many there are in a step; 0 where the program chooses (buckets).
        bytes: of the whole array, all calls together.
    """

    kind: Kind
    what: str
    group: str
    phase: Phase
    ranks: int
    calls: int
    bytes: float

    @property
    def sent(self) -> float:
        """Bytes that a rank sends: 2 (N - 1) / N of an all-reduce, (N - 1) / N, or all."""
        if self.kind == "send":
            return self.bytes
        return _FACTOR[self.kind] * self.bytes * (self.ranks - 1) / self.ranks


def collectives(
    model: ModelConfig,
    plan: Plan,
    n: int,
    precision: Precision,
    *,
    rank: int = 0,
    cut: Cut = "flat",
    regather: bool = True,
) -> tuple[Collective, ...]:
    """What a rank of pipeline stage ``rank`` moves in a step at sequences of ``n``.

    Args:
        cut: how ZeRO divides: a flat buffer, or rows of each tensor (FSDP2).
        regather: whether sequence parallelism keeps its inputs divided and gathers them again in
            backward, as Megatron-LM does; DTensor keeps what it gathered.
    """
    stage = stage_of(model, plan, rank)
    return tuple(
        item
        for found in (
            _data(stage, plan, precision, cut),
            _tensor(stage, plan, n, model, precision, regather),
            _context(stage, plan, n, model, precision),
            _experts(stage, plan, n, model, precision),
            _pipeline(plan, n, model, precision, rank),
        )
        for item in found
        if item.ranks > 1 and item.bytes
    )


def _data(stage: Stage, plan: Plan, precision: Precision, cut: Cut) -> Iterator[Collective]:
    """Gradients and weights among the replicas; routed experts among those that share them."""
    weight = float((precision.gathered or precision.weights).bits_per_element) / 8
    reduced = float((precision.reduced or precision.gradients).bits_per_element) / 8
    for expert in (False, True):
        ranks = plan.dp * plan.cp // (plan.ep if expert else 1)

        def item(
            kind: Kind, what: str, phase: Phase, calls: int, bytes_: float, ranks: int = ranks
        ) -> Collective:
            return Collective(kind, what, "dp", phase, ranks, calls, bytes_)

        if plan.zero < 3:
            tensors = rank_shapes(stage, plan, expert=expert)
            whole = elements(tensors)
            if plan.zero == 0:
                yield item("all_reduce", "gradients", "backward", 0, whole * reduced)
            elif cut == "tensors":
                yield item("all_reduce", "gradients", "backward", 0, whole * reduced)
                yield item("broadcast", "weights", "step", len(tensors), whole * weight)
            else:
                padded = _buffer(tensors, ranks, cut)
                yield item("reduce_scatter", "gradients", "backward", 0, padded * reduced)
                yield item("all_gather", "weights", "step", 0, padded * weight)
            continue
        ends = _buffer(rank_shapes(replace(stage, layers=()), plan, expert=expert), ranks, cut)
        units = [
            _buffer(rank_shapes(Stage((layer,)), plan, expert=expert), ranks, cut)
            for one in stage.layers
            for layer in [replace(one, count=1)] * one.count
        ]
        units = [size for size in units if size]
        layers, m = sum(units), plan.accumulation
        calls = m * (len(units) + (ends > 0))
        yield item("all_gather", "weights", "forward", calls, m * (layers + ends) * weight)
        # The weights of the ends stay from forward to backward.
        yield item("all_gather", "weights", "backward", m * len(units), m * layers * weight)
        yield item("reduce_scatter", "gradients", "backward", calls, m * (layers + ends) * reduced)


def _buffer(tensors: list[Shape], ranks: int, cut: Cut) -> int:
    """Elements of the array that holds the shares of all ranks."""
    if cut == "rows":
        return row_share(tensors, ranks) * ranks
    return ceil(elements(tensors) / ranks) * ranks


def _widths(parts: Iterable[Part]) -> tuple[list[int], list[int]]:
    """Widths of the inputs of column products and of the results of row products."""
    into: list[int] = []
    out: list[int] = []
    for item in parts:
        if item.entry == "linear" and item.place == "column" and item.saves:
            into.append(item.size["d"])
        elif item.entry in ("linear", "embedding") and item.place == "row" and not item.tied:
            out.append(item.size["f" if item.entry == "linear" else "d"])
    return into, out


def _tensor(
    stage: Stage, plan: Plan, n: int, model: ModelConfig, precision: Precision, regather: bool
) -> Iterator[Collective]:
    """Sums over tensor-parallel ranks, per direction. Experts are summed after they are mixed."""
    layers = [_widths(layer.parts) for layer in stage.layers for _i in range(layer.count)]
    into_end, out_end = _widths((*stage.before, *stage.after))
    into_layers = [width for into, _out in layers for width in into]
    out_layers = [width for _into, out in layers for width in out]
    into, out = [*into_layers, *into_end], [*out_layers, *out_end]
    passes = plan.accumulation
    row = plan.micro * n / plan.cp * float(precision.activations.bits_per_element) / 8 * passes

    def item(kind: Kind, phase: Phase, widths: list[int]) -> Collective:
        return Collective(kind, "activations", "tp", phase, plan.tp, passes * len(widths),
                          row * sum(widths))  # fmt: skip

    if any(one.name == "head" for one in stage.after):
        yield Collective("all_reduce", "loss", "tp", "forward", plan.tp, _OF_LOSS * passes,
                         _OF_LOSS * _LOSS * plan.micro * n / plan.cp * passes)  # fmt: skip
    again = plan.recompute == 2
    if not plan.sequence:
        yield item("all_reduce", "forward", out)
        yield item("all_reduce", "backward", [*into, *(out_layers if again else ())])
        return
    yield item("all_gather", "forward", into)
    yield item("reduce_scatter", "forward", out)
    more = [*(into if regather else ()), *(into_layers if again else ())]
    yield item("all_gather", "backward", [*out, *more])
    yield item("reduce_scatter", "backward", [*into, *(out_layers if again else ())])
    whole = sum(layer.count * _seen_in_part(layer.parts) for layer in stage.layers)
    gradient = float(precision.gradients.bits_per_element) / 8
    yield Collective("all_reduce", "gradients", "tp", "backward", plan.tp, 0,
                     (whole + _seen_in_part(stage.ends)) * gradient)  # fmt: skip


def _seen_in_part(parts: Iterable[Part]) -> int:
    """Weights that every rank holds, whose gradients come from its own positions alone."""
    return sum(elements(shapes(item)) for item in parts if item.place == "whole")


def _context(
    stage: Stage, plan: Plan, n: int, model: ModelConfig, precision: Precision
) -> Iterator[Collective]:
    """Keys and values of the whole sequence, which pass every rank of the ring."""
    size = float(precision.activations.bits_per_element) / 8
    row = 0
    calls = 0
    for layer in stage.layers:
        for item in layer.parts:
            if item.entry in ("attention_core", "cross_attention_core"):
                share = divided(item, plan.tp).size
                row += 2 * share["g"] * share["k"] * layer.count
                calls += layer.count
    whole = plan.micro * n * row * size * plan.accumulation
    calls *= plan.accumulation
    yield Collective("all_gather", "keys and values", "cp", "forward", plan.cp, calls, whole)
    yield Collective("all_gather", "keys and values", "cp", "backward", plan.cp, calls, whole)
    yield Collective("reduce_scatter", "gradients of keys and values", "cp", "backward", plan.cp,
                     calls, whole)  # fmt: skip


def _experts(
    stage: Stage, plan: Plan, n: int, model: ModelConfig, precision: Precision
) -> Iterator[Collective]:
    """Tokens to their experts and back."""
    layers = sum(layer.count for layer in stage.layers if any(item.expert for item in layer.parts))
    tokens = plan.micro * n / plan.cp * model.experts_per_token
    bytes_ = tokens * model.width * float(precision.activations.bits_per_element) / 8
    calls = 2 * layers * plan.accumulation
    phases: tuple[Phase, ...] = ("forward", "backward")
    for phase in phases:
        repeats = 2 if phase == "backward" and plan.recompute == 2 else 1
        yield Collective("all_to_all", "tokens of experts", "ep", phase, plan.ep, repeats * calls,
                         repeats * calls * bytes_)  # fmt: skip


def _pipeline(
    plan: Plan, n: int, model: ModelConfig, precision: Precision, rank: int
) -> Iterator[Collective]:
    """Activations to the next stage and gradients to the one before."""
    hops = plan.micro * n / plan.cp * model.width / (plan.tp if plan.sequence else 1)
    bytes_ = hops * float(precision.activations.bits_per_element) / 8
    chunks = plan.interleave * plan.accumulation
    ends = plan.accumulation
    forward = chunks - (ends if rank == plan.pp - 1 else 0)
    backward = chunks - (ends if rank == 0 else 0)
    yield Collective("send", "activations", "pp", "forward", plan.pp, forward, forward * bytes_)
    yield Collective("send", "gradients", "pp", "backward", plan.pp, backward, backward * bytes_)
