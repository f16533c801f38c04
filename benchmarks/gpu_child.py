"""The jobs of ``gpu_check`` that touch the device, each in a process of its own.

``python -m benchmarks.gpu_child`` serves one request as ``costlab.measurement.worker`` does. The
process may crash or hang: its parent ends it and goes on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from costlab.measurement.worker import die_with_parent


def facts(request: Mapping[str, Any]) -> dict[str, Any]:
    """What CUDA and torch say of the device and of themselves."""
    import torch

    from costlab.measurement.backend import open_backend

    backend = open_backend(request["device"])
    found: dict[str, Any] = {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "uuid": backend.uuid,
        "matmul_precision": torch.get_float32_matmul_precision(),
    }
    if request["device"] == "cpu":
        return found
    backends: Any = torch.backends  # its functions have no types
    properties = torch.cuda.get_device_properties(request["device"])
    names = (
        "name", "major", "minor", "total_memory", "multi_processor_count", "L2_cache_size",
        "clock_rate", "memory_clock_rate", "memory_bus_width", "max_threads_per_multi_processor",
    )  # fmt: skip
    free, total = torch.cuda.mem_get_info(request["device"])
    return found | {
        "device": {name: getattr(properties, name, None) for name in names},
        "free_bytes": free,
        "total_bytes": total,
        "cudnn": backends.cudnn.version(),
        "allow_tf32": backends.cuda.matmul.allow_tf32,
        "cudnn_allow_tf32": backends.cudnn.allow_tf32,
        "allocator": torch.cuda.get_allocator_backend(),
        "memory_stats_keys": sorted(torch.cuda.memory_stats(request["device"])),
        "attention": {
            "flash": backends.cuda.flash_sdp_enabled(),
            "efficient": backends.cuda.mem_efficient_sdp_enabled(),
            "cudnn": backends.cuda.cudnn_sdp_enabled(),
            "math": backends.cuda.math_sdp_enabled(),
        },
        "variables": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(("CUDA_", "CUBLAS", "PYTORCH_", "TORCH_", "NVIDIA_"))
        },
    }


def operators(request: Mapping[str, Any]) -> dict[str, Any]:
    """One traced run of a program on the device: what its operators cost by the rules."""
    import torch

    from costlab.algebra import as_expr
    from costlab.derivation.totals import concrete_call, price
    from costlab.measurement.backend import open_backend
    from costlab.measurement.point import PointSpec
    from costlab.measurement.program import build_runnable
    from costlab.trace.run import quiet_collector, trace

    device = request["device"]
    open_backend(device)
    backend = "cpu" if device == "cpu" else "cuda"
    found = []
    end_s = time.monotonic() + request["seconds"]
    for name, mode, dtype, sizes in request["programs"]:
        if time.monotonic() > end_s:
            break
        row: dict[str, Any] = {"architecture": name, "mode": mode, "dtype": dtype, "sizes": sizes}
        found.append(row)
        try:
            runnable = build_runnable(PointSpec(name, sizes, mode, dtype, device))
            with quiet_collector():
                traced = trace(runnable.program, mode, sizes)
            priced = [price(concrete_call(record, backend)) for record in traced.ops]
            row["operators"] = dict(Counter(record.op for record in traced.ops))
            row["gaps"] = sorted({item.call.op for item in priced if item.cost is None})
            for quantity in ("flop", "bytes", "launches"):
                total = sum(as_expr(item.quantity(quantity)).evaluate({}) for item in priced)
                row[quantity] = round(total)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:500]
            if isinstance(error, torch.OutOfMemoryError):
                break  # the exception keeps tensors alive
    return {"programs": found}


def load(request: Mapping[str, Any]) -> dict[str, Any]:
    """Matrix products for so many seconds; when they ran, by the system's monotonic clock."""
    import torch

    from costlab.measurement.backend import open_backend

    backend = open_backend(request["device"])
    size = request["size"]
    dtype = torch.float32 if request["device"] == "cpu" else torch.bfloat16
    a = torch.randn(size, size, device=request["device"], dtype=dtype)
    b = torch.randn(size, size, device=request["device"], dtype=dtype)
    for _warm in range(3):
        a @ b
    backend.synchronize()
    calls, start_s = 0, time.monotonic()
    while time.monotonic() - start_s < request["seconds"]:
        for _call in range(10):
            a @ b
        calls += 10
        backend.synchronize()
    end_s = time.monotonic()
    return {
        "start_s": start_s, "end_s": end_s, "calls": calls, "dtype": str(dtype),
        "flop_per_s": 2 * size**3 * calls / (end_s - start_s),
    }  # fmt: skip


def hang(request: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel that does not end within the parent's patience, and a wait for it."""
    seconds = 10 * request["seconds"]
    if request["device"] == "cpu":
        time.sleep(seconds)
    else:
        import torch

        torch.cuda.set_device(request["device"])
        torch.cuda._sleep(int(2e9 * seconds))  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
    return {"ended": True}


_JOBS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "facts": facts, "operators": operators, "load": load, "hang": hang,
}  # fmt: skip


def main() -> None:
    """Serve one request with stdout reserved for the answer."""
    protocol = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    die_with_parent(request["parent"])
    try:
        answer = {"kind": request["job"], **_JOBS[request["job"]](request)}
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:500]
        answer = {"kind": "failed", "status": "crash", "reason": reason}
    print(json.dumps(answer), file=protocol, flush=True)


if __name__ == "__main__":
    main()
