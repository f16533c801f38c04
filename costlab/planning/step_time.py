"""Time of a training step under many plans at once: arithmetic, memory, links, bubble, optimizer.

A layer's forward takes ``products / rate + traffic / bandwidth`` or its launches, whichever is
longer, with a smooth step between them, and then its links; backward takes twice the arithmetic,
and once more what is computed again. A pipeline of p stages runs
``m + (p - 1) / v`` passes one after another (Narayanan et al. 2021, section 2.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from costlab.planning.cluster import Cluster
from costlab.planning.communication import all_to_all_s, group
from costlab.planning.padding import Padding
from costlab.planning.parallel import Column, Plans
from costlab.planning.software import Software
from costlab.planning.workload import Workload

_ELEMENT = 2.0  # bytes of what travels: bfloat16 or float16
_OPTIMIZER_BYTES = 32.0  # read and written per parameter: weight, gradient, master, two moments
_REDUCES = 2  # of one layer and pass: behind attention and behind the feed-forward


CAUSES = ("arithmetic", "recurrence", "recompute", "tensor", "expert", "pipeline", "bubble",
          "data", "optimizer")  # fmt: skip
"""What the time of a step is spent on."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of a step by cause, one column entry per plan; they add up to ``total``.

    Attributes:
        arithmetic: products and traffic of the passes, without recomputation.
        recurrence: weights that a recurrent layer reads again at every step of the sequence.
        recompute: what recomputation adds.
        tensor: links of tensor and context parallelism.
        expert: all-to-all of the experts.
        pipeline: transfers between stages.
        bubble: ranks that wait for the pipeline to fill and drain.
        data: reduction of gradients, and gathering of weights under ZeRO-3, where not hidden.
        optimizer: the update, or the way to a host that updates and back.
    """

    total: Column
    arithmetic: Column
    recurrence: Column
    recompute: Column
    tensor: Column
    expert: Column
    pipeline: Column
    bubble: Column
    data: Column
    optimizer: Column

    def limiter(self, index: int) -> tuple[str, float]:
        """The largest cause and its share of the step."""
        causes = self.causes(index)
        name = max(causes, key=lambda one: causes[one])
        return name, causes[name] / float(self.total[index])

    def causes(self, index: int) -> dict[str, float]:
        """Seconds of a step of one plan by cause; they add up to its total."""
        return {name: float(getattr(self, name)[index]) for name in CAUSES}


def step_time(
    work: Workload,
    plans: Plans,
    cluster: Cluster,
    soft: Software,
    dtype: str = "bfloat16",
    padded: Padding | None = None,
    host_bytes_per_s: float = 0.0,
) -> StepTime:
    """Seconds of one training step under each plan.

    Args:
        padded: how much more than its share a rank holds and gathers under ZeRO-3, as FSDP2 pads
            (:func:`costlab.planning.padding.padding`); by default nothing, as flat buffers have it.
        host_bytes_per_s: rate at which a device's gradients go to the host, which updates, and the
            weights come back; 0 where the device updates. The host's own update is not timed.
    """
    p = plans
    rate = cluster.flop_per_s(dtype)
    bandwidth = cluster.profile.bandwidth.value
    positions = work.length / p.cp
    tokens = p.micro * positions
    ones = np.ones_like(p.tp)

    core_flop = work.useful_core_flop if soft.causal else work.core_flop
    products = (work.product_flop - work.whole_flop) / p.tp + work.whole_flop
    # An expert gets its share of the tokens of all ranks that it serves.
    rows = np.maximum(tokens * p.ep * work.routes / np.maximum(work.experts, 1), 1.0)
    products = products + work.routed_flop / p.tp * soft.grouped_rows / rows
    compute = p.micro / p.cp * (
        products / (rate * soft.products) + core_flop / p.tp / (rate * soft.core)
    )  # fmt: skip
    whole = np.where(p.sequence > 0, 1 / p.tp, ones)
    traffic = soft.elementwise * _ELEMENT * tokens * work.traffic_width * (whole + 2 / p.tp) / 3
    glue = p.micro / p.cp * work.glue_bytes / p.tp
    scores = soft.stored_scores * _ELEMENT * p.micro * work.scores / (p.tp * p.cp)
    forward = compute + (traffic + glue + scores) / bandwidth
    again_read = work.sequential_steps * work.step_bytes / bandwidth

    tensor = group(cluster, soft.links, p.tp, ones)
    activation = tokens * work.width * _ELEMENT
    sync = np.where(p.tp > 1, _REDUCES * tensor.all_reduce(activation), 0.0)
    ring = group(cluster, soft.links, p.cp, p.tp)
    keys = p.micro * work.kv_bytes / p.tp
    sync = sync + np.where(p.cp > 1, ring.gather(keys), 0.0)
    routed = activation * work.routes
    exchange = 2 * all_to_all_s(cluster, soft.links, routed, p.ep)

    again = np.where(p.recompute == 2, 1.0, np.where(p.recompute == 1, _selective(work), 0.0))
    first = _together(forward, soft.launch_s, soft.evenness)
    back = 2 * first
    redo = again * (first + again_read)
    redo = redo + np.where(p.recompute == 3, work.pointwise_share * traffic / bandwidth, 0.0)
    layers = np.ceil(work.layers / p.pp)
    arithmetic = layers * (first + back)
    recurrence = layers * 3 * again_read * ones
    recompute = layers * redo
    tensor_s = layers * sync * (2 + (p.recompute == 2))
    expert_s = layers * exchange * (2 + (p.recompute == 2))

    stride = p.tp * p.cp * p.dp
    apart = stride * p.pp > cluster.per_node
    link = np.where(apart, cluster.network_bytes_per_s * soft.links.network,
                    cluster.link_bytes_per_s * soft.links.inside)  # fmt: skip
    hop = activation / p.tp / np.maximum(link, 1.0) * soft.pipeline_exposed
    hop = hop + np.where(apart, soft.links.network_s, soft.links.inside_s)
    transfer = np.where(p.pp > 1, 2 * p.interleave * hop, 0.0)

    head = p.micro / (p.tp * p.cp) * (
        3 * work.head_flop / (rate * soft.products) + soft.loss * work.logit_bytes / bandwidth
    )  # fmt: skip
    passes = p.accumulation
    stage = arithmetic + recurrence + recompute + tensor_s + expert_s + transfer
    idle = (p.pp - 1) / p.interleave * stage

    data, optimizer = _data_parallel(
        work, p, cluster, soft, passes * (arithmetic + recurrence + recompute), padded,
        host_bytes_per_s,
    )  # fmt: skip
    total = passes * (stage + head) + idle + data + optimizer
    return StepTime(
        total=total,
        arithmetic=passes * (arithmetic + head),
        recurrence=passes * recurrence,
        recompute=passes * recompute,
        tensor=passes * tensor_s,
        expert=passes * expert_s,
        pipeline=passes * transfer,
        bubble=idle,
        data=data,
        optimizer=optimizer,
    )


def _together(work: Column, launch: float, evenness: float) -> Column:
    """Seconds of kernels of which some wait for their work and others for being launched."""
    longest = np.maximum(work, launch)
    shares = (work / longest) ** evenness + (launch / longest) ** evenness
    return np.asarray(longest * shares ** (1 / evenness))


def _selective(work: Workload) -> float:
    """Share of a layer's forward that selective recomputation repeats: attention's core."""
    return work.core_flop / (work.core_flop + work.product_flop)


def rank_parameters(work: Workload, p: Plans) -> tuple[Column, Column]:
    """Parameters that a rank of the fullest stage holds: shared by all, and of routed experts."""
    layers = np.ceil(work.layers / p.pp)
    shared = work.layer_parameters - work.expert_parameters - work.whole_parameters
    dense = layers * (
        shared / p.tp + work.whole_parameters
    ) + work.end_parameters / p.tp / np.where(p.pp > 1, 2, 1)
    return dense, layers * work.expert_parameters / (p.tp * p.ep)


def _data_parallel(
    work: Workload,
    p: Plans,
    cluster: Cluster,
    soft: Software,
    hidden_behind: Column,
    padded: Padding | None,
    host_bytes_per_s: float,
) -> tuple[Column, Column]:
    """Exposed reduction of gradients (and gathering of weights), and the update."""
    dense, expert = rank_parameters(work, p)
    replicas = group(cluster, soft.links, p.dp * p.cp, p.tp)
    holders = group(cluster, soft.links, p.dp * p.cp / p.ep, p.tp * p.ep)
    reduce = replicas.all_reduce(dense * _ELEMENT) + holders.all_reduce(expert * _ELEMENT)
    reduce = np.where(p.dp * p.cp > 1, reduce, 0.0)
    whole, experts = padded or (np.ones_like(p.tp), np.ones_like(p.tp))
    gather = replicas.gather(dense * whole * _ELEMENT) + holders.gather(expert * experts * _ELEMENT)
    # FSDP gathers the weights for forward and for backward and scatters the gradients, each pass.
    sharded = 3 * gather * p.accumulation
    rest = np.maximum(sharded - (1 - soft.weights_exposed) * hidden_behind, 0.0)
    data = np.where(p.zero >= 3, rest, reduce * soft.gradient_exposed)
    sharers = np.where(p.zero >= 1, p.dp * p.cp, 1.0)
    held = (dense * whole + expert * experts) / sharers
    update = held * _OPTIMIZER_BYTES / cluster.profile.bandwidth.value
    if host_bytes_per_s:
        update = held * 2 * _ELEMENT / host_bytes_per_s
    return np.where(p.dp * p.cp > 1, data, 0.0), update
