"""The ranks of a distributed check, started by ``benchmarks.distributed_runs``.

``python -m benchmarks.distributed_rank`` loads torch once, reads a request from standard input and
forks one process per rank of gloo. All end when standard input does. With the fake backend it is
the only process, and collectives return at once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # the first fully_shard would load it, on every rank
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore

from benchmarks.distributed_model import Sizes
from benchmarks.distributed_wire import wire
from costlab.planning.parallel import Plan

PROGRAMS = {
    "ddp": "cases",
    "zero1": "cases",
    "fsdp": "cases",
    "fsdp_mixed": "cases",
    "tensor": "tensor",
    "fsdp_tensor": "tensor",
    "pipeline": "pipeline",
    "experts": "experts",
}
"""By the name of a program, the module ``benchmarks.distributed_...`` that has it."""

_STALLED = timedelta(seconds=60)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


def _program(case: Mapping[str, Any]) -> Any:
    module = import_module(f"benchmarks.distributed_{PROGRAMS[case['name']]}")
    return getattr(module, case["name"])


def _counted(case: Mapping[str, Any]) -> dict[str, Any]:
    torch.manual_seed(0)
    found: dict[str, Any] = _program(case)(Plan(**case["plan"]), Sizes(**case["sizes"])).to_json()
    return found


def _rank(request: Mapping[str, Any], rank: int) -> None:
    """Run the cases as one rank of gloo and write what was counted."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    ranks, folder = request["ranks"], Path(request["folder"])
    store = torch._C._distributed_c10d.FileStore(str(folder / "store"), ranks)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=_STALLED)
    found = {case["id"]: _counted(case) for case in request["cases"]}
    if request["wire"]:
        found["wire"] = wire(ranks)
    dist.destroy_process_group()
    (folder / f"rank{rank}.json").write_text(json.dumps(found), encoding="utf-8")


def _alone(request: Mapping[str, Any]) -> None:
    """Run the cases as rank 0 of as many ranks as each plan has, without others."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    found = {}
    for case in request["cases"]:
        ranks = Plan(**case["plan"]).devices
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
        with nullcontext() if case["data"] else FakeTensorMode():
            found[case["id"]] = _counted(case)
        dist.destroy_process_group()
    Path(request["folder"], "rank0.json").write_text(json.dumps(found), encoding="utf-8")


def _fork(request: Mapping[str, Any], rank: int) -> None:
    """Start a rank; it ends without the clean-up of the process it was forked from."""
    if os.fork():
        return
    code = 1
    try:
        _rank(request, rank)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    """Run the request; 1 if a rank fails, as soon as one does."""
    request: dict[str, Any] = json.loads(sys.stdin.readline())
    if request["backend"] == "fake":
        _alone(request)
        return 0
    for case in request["cases"]:
        _program(case)  # loads once what every rank needs
    for rank in range(request["ranks"]):
        _fork(request, rank)
    return int(any(os.wait()[1] for _ in range(request["ranks"])))


if __name__ == "__main__":
    sys.exit(main())
