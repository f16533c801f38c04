"""What gloo really sends for each collective, for the distributed checks."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist

from benchmarks.distributed_count import wire_bytes

_ELEMENTS = 1 << 20


def wire(ranks: int) -> dict[str, float | None]:
    """Bytes that this rank sends over its connections, as multiples of the whole array.

    None where the system does not tell how much a connection has carried.
    """
    whole, part = torch.zeros(_ELEMENTS), torch.zeros(_ELEMENTS // ranks)
    peer, last = (dist.get_rank() + 1) % ranks, (dist.get_rank() - 1) % ranks

    def pass_on() -> None:
        received = dist.irecv(torch.empty_like(whole), last)
        sent = dist.isend(whole, peer)
        for one in (sent, received):
            if one is not None:
                one.wait()

    programs: dict[str, Callable[[], object]] = {
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
        "all_to_all": lambda: dist.all_to_all_single(torch.empty_like(whole), whole),
        "broadcast": lambda: dist.broadcast(whole, 0),
        "send": pass_on,
    }
    found: dict[str, float | None] = {}
    for name, program in programs.items():
        program()
        before = _delivered()
        program()
        after = _delivered()
        moved = None if before is None or after is None else after - before
        found[name] = None if moved is None else moved / whole.nbytes
    return found


def _delivered() -> int | None:
    """Bytes sent so far, once every rank is done with what came before."""
    dist.barrier()
    found = wire_bytes()
    dist.barrier()
    return found
