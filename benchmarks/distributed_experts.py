"""Experts divided over ranks, with FSDP2 for what is not theirs, for the distributed checks.

Tokens go in equal numbers to all experts, so that the all-to-alls have the size that a plan
assumes. A trained router does not keep to it; capacity factors are no part of a plan.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributed._functional_collectives import all_to_all_single_autograd, wait_tensor
from torch.distributed.fsdp import fully_shard

from benchmarks.distributed_cases import Counted, mesh_of, names_of, train
from benchmarks.distributed_model import Model, Sizes
from costlab.planning.parallel import Plan


class Expert(nn.Module):
    """silu(gate) * up, and back to the width."""

    def __init__(self, d: int, f: int) -> None:
        super().__init__()
        self.up = nn.Linear(d, f, bias=False)
        self.gate = nn.Linear(d, f, bias=False)
        self.down = nn.Linear(f, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(nn.functional.silu(self.gate(x)) * self.up(x))
        return y


class Routed(nn.Module):
    """A router over experts, of which each rank has an equal share."""

    def __init__(self, sizes: Sizes, group: ProcessGroup) -> None:
        super().__init__()
        self.sizes, self.group = sizes, group
        self.router = nn.Linear(sizes.d, sizes.experts, bias=False)
        self.experts = nn.ModuleList(
            Expert(sizes.d, sizes.f) for _ in range(sizes.experts // group.size())
        )

    def forward(self, x: Tensor) -> Tensor:
        rows, t, e = x.flatten(0, 1), self.sizes.per_token, self.sizes.experts
        chosen = torch.arange(len(rows) * t).view(-1, t) % e
        shares = self.router(rows).softmax(-1).gather(1, chosen)
        order = chosen.flatten().argsort(stable=True)
        arrived = self._exchange(rows.repeat_interleave(t, 0)[order])
        # From each rank, for each expert of this one, as many rows.
        parted = arrived.view(self.group.size(), len(self.experts), -1, self.sizes.d)
        made = [
            expert(parted[:, i].flatten(0, 1)).view_as(parted[:, i])
            for i, expert in enumerate(self.experts)
        ]
        back = self._exchange(torch.stack(made, 1).flatten(0, 2))
        outputs = torch.empty_like(back).index_copy(0, order, back).view(-1, t, self.sizes.d)
        mixed: Tensor = (outputs * shares.unsqueeze(-1)).sum(1).view_as(x)
        return mixed

    def _exchange(self, rows: Tensor) -> Tensor:
        moved = all_to_all_single_autograd(rows, None, None, self.group)
        found: Tensor = wait_tensor(moved)  # type: ignore[no-untyped-call]
        return found


def experts(plan: Plan, sizes: Sizes) -> Counted:
    """Each rank sees sequences of its own and has a share of every layer's experts."""
    mesh = mesh_of(dp=plan.dp)
    group = dist.new_group(list(range(plan.ep)))  # of its own, to be told from the replicas'
    model = Model(sizes)
    theirs: set[nn.Parameter] = set()
    for block in model.blocks:
        routed = Routed(sizes, group)
        block.feed_forward = routed
        theirs |= set(routed.experts.parameters())
        fully_shard(block, mesh=mesh, ignored_params=theirs)
    fully_shard(model, mesh=mesh, ignored_params=theirs)
    return train(model, plan, sizes, names_of(mesh) | {group.group_name: "ep"})
