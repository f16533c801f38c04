"""Bytes and time of collectives, by the group that takes part and the link that binds.

A rank of N sends per byte of the whole array (nccl-tests, PERFORMANCE.md; ZeRO, section 7):

    all-reduce (ring)                 2 (N - 1) / N
    all-gather, reduce-scatter, all-to-all  (N - 1) / N
    broadcast, send                   1

A ring over several nodes leaves and enters each of them once, so its rate is that of one ring's
share of the node's network: rings that run at the same time (one per tensor-parallel rank) share
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from costlab.planning.cluster import Cluster
from costlab.planning.parallel import Column

_NO_LINK = 1.0  # B/s of a link that no plan uses, so that nothing is divided by zero


@dataclass(frozen=True, slots=True)
class Links:
    """What links give in practice.

    Attributes:
        inside: share of the link's rate that a ring within a node gets.
        network: share of the network's rate that a ring between nodes gets.
        inside_s: latency of one step of a ring within a node, s.
        network_s: latency of one step between nodes, s.
    """

    inside: float = 1.0
    network: float = 1.0
    inside_s: float = 0.0
    network_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Group:
    """The groups of one kind of parallelism, one column entry per plan.

    Attributes:
        ranks: members of a group.
        rate: bytes/s that one member sends along the ring.
        step_s: latency of one step, s.
        crosses: whether a group spans nodes.
    """

    ranks: Column
    rate: Column
    step_s: Column
    crosses: Column

    def all_reduce(self, bytes_: Column) -> Column:
        """Seconds of an all-reduce of ``bytes_`` (the whole array)."""
        return 2 * self.gather(bytes_)

    def gather(self, bytes_: Column) -> Column:
        """Seconds of an all-gather or reduce-scatter of ``bytes_`` (the whole array)."""
        moved = bytes_ * (self.ranks - 1) / self.ranks
        return moved / self.rate + (self.ranks - 1) * self.step_s


def all_reduce_bytes(bytes_: Column, ranks: Column) -> Column:
    """Bytes that a rank sends in a ring all-reduce of an array of ``bytes_``.

    >>> float(all_reduce_bytes(np.array(1.0), np.array(8.0)))
    1.75
    """
    return 2 * bytes_ * (ranks - 1) / ranks


def gather_bytes(bytes_: Column, ranks: Column) -> Column:
    """Bytes that a rank sends in an all-gather, reduce-scatter or all-to-all."""
    return bytes_ * (ranks - 1) / ranks


def group(cluster: Cluster, links: Links, ranks: Column, stride: Column) -> Group:
    """The groups of ``ranks`` members that are ``stride`` ranks apart."""
    per_node = cluster.per_node
    members = np.minimum(np.maximum(np.floor(per_node / stride), 1), ranks)
    crosses = members < ranks
    rings = np.minimum(stride, per_node)
    shared = np.minimum(
        cluster.link_bytes_per_s * links.inside,
        cluster.network_bytes_per_s * per_node * links.network / rings,
    )
    inside = cluster.link_bytes_per_s * links.inside
    return Group(
        ranks=ranks,
        rate=np.maximum(np.where(crosses, shared, inside), _NO_LINK),
        step_s=np.where(crosses, links.network_s, links.inside_s),
        crosses=crosses.astype(float),
    )


def all_to_all_s(cluster: Cluster, links: Links, bytes_: Column, ranks: Column) -> Column:
    """Seconds in which each of ``ranks`` neighbours sends ``bytes_`` in all to the others."""
    inside = np.minimum(ranks, cluster.per_node)
    near = bytes_ * (inside - 1) / ranks
    near = near / np.maximum(cluster.link_bytes_per_s * links.inside, _NO_LINK)
    far = bytes_ * np.maximum(ranks - inside, 0) / ranks
    far = far / np.maximum(cluster.network_bytes_per_s * links.network, _NO_LINK)
    step = np.where(ranks > inside, links.network_s, links.inside_s)
    return np.where(ranks > 1, np.maximum(near, far) + step, 0.0)


def bubble(stages: Column, passes: Column, interleave: Column) -> Column:
    """Idle share over the ideal time of a pipeline: (p - 1) / (v m).

    Narayanan et al. 2021, sections 2.2.1 and 2.2.2.

    >>> float(bubble(np.array(8.0), np.array(16.0), np.array(1.0)))
    0.4375
    """
    return (stages - 1) / (interleave * passes)
