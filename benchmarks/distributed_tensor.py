"""Tensor parallelism by DTensor, alone and under FSDP2, for the distributed checks."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

from benchmarks.distributed_cases import Counted, mesh_of, names_of, shard, train
from benchmarks.distributed_model import Model, Sizes
from costlab.planning.parallel import Plan


def divide(model: Model, mesh: DeviceMesh, *, sequence: bool = False) -> Model:
    """Column and row products over the ranks of ``mesh``; the sequence too, outside of them."""
    outside = Shard(1) if sequence else Replicate()
    whole = PrepareModuleInput(input_layouts=(outside,), desired_input_layouts=(Replicate(),))
    ways: dict[str, Any] = {
        "attention": whole,
        "attention.q": ColwiseParallel(),
        "attention.k": ColwiseParallel(),
        "attention.v": ColwiseParallel(),
        "attention.o": RowwiseParallel(output_layouts=outside),
        "feed_forward": whole,
        "feed_forward.up": ColwiseParallel(),
        "feed_forward.down": RowwiseParallel(output_layouts=outside),
    }
    if sequence:
        ways |= {
            name: SequenceParallel() for name in ("norm_attention.norm", "norm_feed_forward.norm")
        }
    for block in model.blocks:
        block.attention.heads //= mesh.size()  # type: ignore[union-attr,operator]
        parallelize_module(block, mesh, ways)
    if model.embedding is not None:
        parallelize_module(
            model.embedding, mesh, {"tokens": RowwiseParallel(input_layouts=Replicate())}
        )
    if model.head is not None:
        logits = ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)
        parallelize_module(model.head, mesh, {"logits": logits})
    return model


def tensor(plan: Plan, sizes: Sizes) -> Counted:
    """Each matrix divided over the ranks, the vocabulary too."""
    mesh = mesh_of(tp=plan.tp)
    model = divide(Model(sizes), mesh, sequence=bool(plan.sequence))
    length = sizes.n // plan.tp if plan.sequence else None
    return train(
        model, plan, sizes, names_of(mesh), length=length, around=_divided_loss, after=_sum_partial
    )


def _divided_loss(_given: Tensor, _target: Tensor) -> AbstractContextManager[None]:
    found: AbstractContextManager[None] = loss_parallel()
    return found


def _sum_partial(model: nn.Module) -> None:
    """Sum gradients that each rank has of its positions; Adam would, three times over."""
    for parameter in model.parameters():
        grad = parameter.grad
        if isinstance(grad, DTensor) and any(way.is_partial() for way in grad.placements):
            parameter.grad = grad.redistribute(placements=[Replicate()])


def fsdp_tensor(plan: Plan, sizes: Sizes) -> Counted:
    """FSDP2 over the replicas of tensor-parallel ranks."""
    mesh = mesh_of(dp=plan.dp, tp=plan.tp)
    model = shard(divide(Model(sizes), mesh["tp"]), mesh["dp"])
    return train(model, plan, sizes, names_of(mesh), around=_divided_loss)
