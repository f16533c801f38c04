"""Training steps by ``torch.distributed``'s own means, each counted on one rank.

Every case makes its model, runs steps to warm up (programs exchange shapes in the first ones), and
counts one: bytes of collectives, what is kept for backward, and what the rank holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from benchmarks.distributed_count import Kept, Traffic, storage_bytes
from benchmarks.distributed_model import Model, Sizes, inputs, loss
from costlab.planning.parallel import Plan

_WARM_UP = 2
"""Steps before the one counted: DDP makes its buckets in the first and tells them in the second."""


@dataclass
class Counted:
    """One rank's counts of one step."""

    traffic: list[dict[str, Any]]
    weights: int
    gradients: int
    optimizer: int
    activations: int
    unknown: list[str]

    def to_json(self) -> dict[str, Any]:
        """The counts as plain data."""
        return asdict(self)


def counted_step(
    modules: Sequence[nn.Module],
    optimizer: torch.optim.Optimizer,
    groups: dict[str, str],
    passes: Callable[[Traffic], None],
) -> Counted:
    """Warm up, then count a step whose ``passes`` run forward and backward."""
    parameters = [p for module in modules for p in module.parameters()]
    traffic, kept = Traffic(groups), Kept(parameters)
    held = 0
    real = dist.get_backend() != "fake"  # Adam reads numbers, which tensors without data have not
    warm_up = _WARM_UP if real else 0
    for turn in range(warm_up + 1):
        optimizer.zero_grad()
        with ExitStack() as stack:
            if turn == warm_up:
                stack.enter_context(traffic)
                stack.enter_context(kept.watch())
            passes(traffic)
            traffic.phase = "step"
            held = storage_bytes(p.grad for p in parameters)
            if real:
                optimizer.step()
    return Counted(
        traffic.rows(), storage_bytes(parameters), held, _states(optimizer), kept.most,
        sorted(traffic.unknown),
    )  # fmt: skip


def _states(optimizer: torch.optim.Optimizer) -> int:
    inner = getattr(optimizer, "optim", optimizer)
    values = [value for state in inner.state.values() for value in state.values()]
    return storage_bytes(value for value in values if isinstance(value, Tensor))


def train(
    model: nn.Module,
    plan: Plan,
    sizes: Sizes,
    groups: dict[str, str],
    *,
    optimizer: torch.optim.Optimizer | None = None,
    length: int | None = None,
    around: Callable[[Tensor, Tensor], AbstractContextManager[Any]] = lambda *_: nullcontext(),
    after: Callable[[nn.Module], None] = lambda _model: None,
) -> Counted:
    """Count a step of ``plan.accumulation`` passes of ``plan.micro`` sequences.

    Args:
        length: of the sequences that this rank sees, if not all of it.
        around: where a pass runs, given its input and its target.
        after: what is left to do for the gradients.
    """

    def passes(traffic: Traffic) -> None:
        for index in range(plan.accumulation):
            last = index == plan.accumulation - 1
            hold = isinstance(model, DistributedDataParallel) and not last
            with model.no_sync() if hold else nullcontext():  # type: ignore[operator]
                traffic.phase = "forward"
                given = inputs(sizes, plan.micro, length)
                target = inputs(sizes, plan.micro, length)
                with around(given, target):
                    result = loss(model(given), target)
                    traffic.phase = "backward"
                    result.backward()  # type: ignore[no-untyped-call]
                del result
        after(model)

    return counted_step([model], optimizer or adam(model), groups, passes)


def adam(*modules: nn.Module) -> torch.optim.Optimizer:
    """Adam over the parameters of modules; divided ones and whole ones cannot be in one group."""
    parameters = [p for module in modules for p in module.parameters()]
    kinds = ([p for p in parameters if isinstance(p, DTensor) == kind] for kind in (True, False))
    return torch.optim.Adam([{"params": group} for group in kinds if group], foreach=True)


def mesh_of(**ranks: int) -> DeviceMesh:
    """A mesh of the CPU with named dimensions; its ranks are numbers also where tensors are not."""
    with unset_fake_temporarily():
        return init_device_mesh("cpu", tuple(ranks.values()), mesh_dim_names=tuple(ranks))


def names_of(mesh: DeviceMesh) -> dict[str, str]:
    """Dimension of a mesh by the name of its group."""
    assert mesh.mesh_dim_names is not None
    return {mesh.get_group(name).group_name: name for name in mesh.mesh_dim_names}


def ddp(plan: Plan, sizes: Sizes) -> Counted:
    """Gradients are averaged as backward makes them."""
    return train(DistributedDataParallel(Model(sizes)), plan, sizes, _world())


def zero1(plan: Plan, sizes: Sizes) -> Counted:
    """The optimizer's states are divided by whole parameters, which their owners broadcast."""
    model = DistributedDataParallel(Model(sizes))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam)
    return train(model, plan, sizes, _world(), optimizer=optimizer)


def _world() -> dict[str, str]:
    return {dist.group.WORLD.group_name: "dp"} if dist.group.WORLD else {}


def shard(model: Model, mesh: DeviceMesh, **options: Any) -> Model:
    """FSDP2 on every block, and on what is left."""
    for block in model.blocks:
        fully_shard(block, mesh=mesh, **options)
    fully_shard(model, mesh=mesh, **options)
    return model


def fsdp(plan: Plan, sizes: Sizes) -> Counted:
    """Every block's weights are gathered when they are used."""
    mesh = mesh_of(dp=plan.dp)
    return train(shard(Model(sizes), mesh), plan, sizes, names_of(mesh))


def fsdp_mixed(plan: Plan, sizes: Sizes) -> Counted:
    """The same, weights gathered in bfloat16 and gradients summed in float32."""
    mesh = mesh_of(dp=plan.dp)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = shard(Model(sizes), mesh, mp_policy=policy)
    return train(model, plan, sizes, names_of(mesh))
