"""The best plan and why: thousands of plans priced at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, product

import numpy as np

from costlab.errors import InputError
from costlab.i18n import _
from costlab.planning.budget import Budget, budget
from costlab.planning.cluster import Cluster
from costlab.planning.padding import padding
from costlab.planning.parallel import Plan, Plans
from costlab.planning.software import Software
from costlab.planning.step_time import StepTime, step_time
from costlab.planning.workload import Workload
from costlab.units import format_value

_TRIES = 24  # numbers of devices, each at most an eighth above the one before


@dataclass(frozen=True, slots=True)
class Space:
    """Which plans are tried.

    Attributes:
        batch: sequences of a step; the plans' dp x micro x accumulation equals it.
        zero: stages of ZeRO.
        recompute: levels of recomputation; that of norms and activation functions alone is not
            among the usual ones, for the programs' own versions of it differ.
        micro: most sequences of a pass.
        interleave: most stages of a rank.
        beyond_node: whether a tensor-parallel group may span nodes.
        context: whether sequences may be shared; not where attention's scores are stored, for
            ring attention is flash attention, block by block.
        host_bytes_per_s: rate of a device to its host, where gradients and optimizer lie in the
            host's memory and it updates; 0 where they are the device's.
    """

    batch: int
    zero: tuple[int, ...] = (1, 3)
    recompute: tuple[int, ...] = (0, 1, 2)
    micro: int = 16
    interleave: int = 6
    beyond_node: bool = False
    context: bool = True
    host_bytes_per_s: float = 0.0


def plans_of(work: Workload, cluster: Cluster, space: Space) -> Plans:
    """Every valid plan of the space.

    Raises:
        InputError: if no way to divide the devices is valid; says what binds.
    """
    rows = list(_rows(work, cluster, space))
    if not rows:
        raise InputError(
            _("no plan divides the devices"),
            given=_("{n} devices, {b} sequences a step").format(n=cluster.devices, b=space.batch),
            allowed=_(
                "tensor parallelism divides {d}, at most {l} stages, replicas divide the sequences"
            ).format(d=work.divisor, l=work.layers),
            advice=_nearest(work, cluster, space),
        )
    names = [field.name for field in fields(Plan)]
    flat = np.fromiter(chain.from_iterable(rows), float, len(rows) * len(names))
    columns = flat.reshape(len(rows), len(names)).T.copy()
    return Plans(**dict(zip(names, columns, strict=True)))


def _rows(work: Workload, cluster: Cluster, space: Space) -> Iterator[tuple[int, ...]]:
    most = cluster.devices if space.beyond_node else cluster.per_node
    for tp in _divisors(cluster.devices):
        if tp > most or work.divisor % tp:
            continue
        for pp in _divisors(cluster.devices // tp):
            if pp > work.layers:
                continue
            for dp in _divisors(cluster.devices // tp // pp):
                cp = cluster.devices // tp // pp // dp
                if cp > 1 and not (space.context and work.attends):
                    continue
                if space.batch % dp or work.length % (2 * cp):
                    continue
                yield from _passes(work, space, dp, tp, pp, cp)


def _passes(
    work: Workload, space: Space, dp: int, tp: int, pp: int, cp: int
) -> Iterator[tuple[int, ...]]:
    per_replica = space.batch // dp
    experts = [e for e in _divisors(dp * cp) if work.experts % e == 0] if work.experts else [1]
    even = pp > 1 and work.layers % pp == 0
    chunks = [v for v in _divisors(work.layers // pp) if v <= space.interleave] if even else [1]
    for micro in _divisors(per_replica):
        if micro > space.micro:
            continue
        passes = per_replica // micro
        for ep, v, zero, again in product(experts, chunks, space.zero, space.recompute):
            if v > 1 and passes % pp:
                continue  # Megatron's interleaved schedule needs whole rounds
            if zero >= 3 and pp > 1:
                continue  # weights gathered again for every pass of every stage: never chosen
            yield dp, tp, pp, cp, ep, zero, micro, passes, v, again, int(tp > 1), 0


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _nearest(work: Workload, cluster: Cluster, space: Space) -> str:
    """The nearest number of devices and batch that would divide."""

    def divides(devices: int, batch: int) -> bool:
        tried = replace(cluster, devices=devices)
        return any(True for _row in _rows(work, tried, replace(space, batch=batch)))

    changes = []
    for devices in range(cluster.devices - 1, 0, -1):
        if divides(devices, space.batch):
            changes.append(_("{n} devices would divide it").format(n=devices))
            break
    for times in range(space.batch // cluster.devices + 1, space.batch // cluster.devices + 9):
        if divides(cluster.devices, times * cluster.devices):
            changes.append(_("--batch {n} would").format(n=times * cluster.devices))
            break
    return "; ".join(changes) or _("give another --batch or number of devices")


@dataclass(frozen=True, slots=True)
class Found:
    """Plans of a space with their time and memory, and which fit.

    ``order`` are indices of those that fit, the fastest first.
    """

    work: Workload
    cluster: Cluster
    plans: Plans
    time: StepTime
    memory: Budget
    order: Sequence[int]

    def tokens_per_s(self, index: int) -> float:
        """Tokens of all devices per second."""
        batch = float(self.plans.batch[index])
        return batch * self.work.length / float(self.time.total[index])

    def mfu(self, index: int, dtype: str = "bfloat16") -> float:
        """Model FLOP/s over the peak rate, recomputation not counted."""
        flop = self.work.model_flop * float(self.plans.batch[index])
        peak = self.cluster.flop_per_s(dtype) * self.cluster.devices
        return flop / float(self.time.total[index]) / peak


def search(
    work: Workload,
    cluster: Cluster,
    soft: Software,
    space: Space,
    *,
    limit: float | None = None,
    at: Callable[[int], Workload] | None = None,
) -> Found:
    """Price all plans of the space and rank those that fit.

    Args:
        limit: bytes of memory a device may use; all of it by default.
        at: the work at another length, to find one that fits.

    Raises:
        InputError: if none fits; says what binds and the smallest change that helps.
    """
    plans = plans_of(work, cluster, space)
    padded = padding(work, plans)
    host = space.host_bytes_per_s
    time = step_time(work, plans, cluster, soft, padded=padded, host_bytes_per_s=host)
    memory = budget(work, plans, stored_scores=soft.stored_scores > 0, padded=padded,
                    offload=host > 0)  # fmt: skip
    capacity = limit or cluster.capacity_bytes
    fits = memory.total <= capacity
    if not fits.any():
        raise InputError(
            _("no plan fits"),
            given=_("{work} on {n} devices of {size}").format(
                work=work.name, n=cluster.devices, size=format_value(int(capacity), "B")
            ),
            advice=_what_helps(
                memory, capacity, plans, _Tried(work, cluster, soft, space, capacity), at
            ),
        )
    ranked = np.argsort(np.where(fits, time.total, np.inf), kind="stable")
    order = [int(i) for i in ranked[: int(fits.sum())]]
    return Found(work, cluster, plans, time, memory, order)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A search that found nothing, to be tried with something changed."""

    work: Workload
    cluster: Cluster
    soft: Software
    space: Space
    capacity: float

    def fits(self) -> bool:
        """Whether a plan fits."""
        rows = list(_rows(self.work, self.cluster, self.space))
        if not rows:
            return False
        plans = Plans.of([Plan(*row) for row in rows])
        memory = budget(self.work, plans, stored_scores=self.soft.stored_scores > 0,
                        offload=self.space.host_bytes_per_s > 0)  # fmt: skip
        return bool((memory.total <= self.capacity).any())

    def devices(self, least: float) -> int | None:
        """Devices that do: whole nodes from ``least`` on, the batch a multiple of them."""
        node = self.cluster.per_node
        count = max(self.cluster.devices + 1, int(least))
        for _try in range(_TRIES):
            count = count if count < node else -(-count // node) * node
            batch = -(-self.space.batch // count) * count
            more = replace(self, cluster=replace(self.cluster, devices=count),
                           space=replace(self.space, batch=batch))  # fmt: skip
            if more.fits():
                return count
            count += max(1, count // 8)
        return None


def _what_helps(
    memory: Budget,
    capacity: float,
    plans: Plans,
    tried: _Tried,
    at: Callable[[int], Workload] | None,
) -> str:
    least = int(np.argmin(memory.total))
    kinds = memory.kinds(least)
    binds = max(kinds, key=lambda name: kinds[name])
    need = float(memory.total[least])
    state = kinds["weights"] + kinds["gradients"] + kinds["optimizer"]
    changes = []
    count = tried.devices(tried.cluster.devices * state / capacity)
    if count is not None:
        changes.append(_("{n} such devices would do").format(n=count))
    length = tried.work.length // 2
    while at is not None and state < capacity and length:
        if replace(tried, work=at(length)).fits():
            changes.append(_("or --length {n}").format(n=length))
            break
        length //= 2
    host = replace(tried, space=replace(tried.space, host_bytes_per_s=1.0))
    if not tried.space.host_bytes_per_s and host.fits():
        changes.append(_("or --offload"))
    return _("the smallest plan ({plan}) needs {need}, {over} too much, most of it {binds}; "
             "{changes}").format(
        plan=plans[least].text(), need=format_value(int(need), "B"), binds=binds,
        changes=", ".join(changes) or _("no single change found: take a smaller model"),
        over=format_value(int(need - capacity), "B"),
    )  # fmt: skip
