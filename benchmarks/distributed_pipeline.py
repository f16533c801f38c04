"""Pipeline schedules of ``torch.distributed.pipelining`` for the distributed checks."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)

from benchmarks.distributed_cases import Counted, adam, counted_step, mesh_of, names_of
from benchmarks.distributed_count import Traffic
from benchmarks.distributed_model import Model, Sizes, inputs, loss
from costlab.planning.parallel import Plan


def pipeline(plan: Plan, sizes: Sizes) -> Counted:
    """GPipe, 1F1B, or interleaved 1F1B with ``plan.interleave`` chunks of layers per rank."""
    mesh = mesh_of(pp=plan.pp)
    rank, chunks = dist.get_rank(), plan.pp * plan.interleave
    each = sizes.depth // chunks
    models = [Model(sizes, range(i * each, (i + 1) * each)) for i in range(rank, chunks, plan.pp)]
    stages = [
        PipelineStage(model, rank + index * plan.pp, chunks, torch.device("cpu"))
        for index, model in enumerate(models)
    ]
    m = plan.accumulation
    schedule: Any
    if plan.interleave > 1:
        schedule = ScheduleInterleaved1F1B([*stages], m, loss_fn=loss)
    elif plan.gpipe:
        schedule = ScheduleGPipe(stages[0], m, loss_fn=loss)
    else:
        schedule = Schedule1F1B(stages[0], m, loss_fn=loss)

    def passes(traffic: Traffic) -> None:
        traffic.phase = "forward"
        traffic.gradients.clear()
        for stage in stages:
            _tell_gradients(stage, traffic)
        given = (inputs(sizes, plan.micro * m),) if rank == 0 else ()
        target = inputs(sizes, plan.micro * m) if rank == plan.pp - 1 else None
        schedule.step(*given, target=target, losses=[] if rank == plan.pp - 1 else None)

    return counted_step(models, adam(*models), names_of(mesh), passes)


def _tell_gradients(stage: PipelineStage, traffic: Traffic) -> None:
    """Have the count know which tensors that a stage sends are gradients."""
    make = type(stage).get_bwd_send_ops

    def told(index: int) -> Any:
        found = make(stage, index)
        traffic.gradients.update(one.tensor.data_ptr() for one in found)
        return found

    stage.get_bwd_send_ops = told  # type: ignore[assignment,method-assign]
