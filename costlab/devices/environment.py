"""The environment fingerprint: what a measured number depends on besides the program.

Only stable facts enter :attr:`Environment.id`; a clock rate, load or kernel patch level does not,
so that two runs on the same machine compare. A fact that cannot be read is None with a reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib import metadata
from typing import Any

import psutil

from costlab.devices.limits import cgroup_limits
from costlab.devices.nvml import Gpu, list_gpus
from costlab.devices.processor import Cache, cpu_caches, cpu_model

_GIB = 2**30
# Variables that change how threads or allocators behave, hence what is measured.
_VARIABLES = (
    "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_", "OMP_", "MKL_", "KMP_", "GOMP_", "ATEN_", "ONEDNN_",
    "PYTORCH_", "CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE", "CUBLAS_",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Environment:
    """One machine with one Python and one torch; sizes in bytes, ``cgroup_cpus`` in whole CPUs.

    ``affinity`` are the CPUs this process may use, ``variables`` the environment variables that
    change threading or allocation, ``reasons`` says why a field is None or empty.
    """

    cpu: str
    physical_cores: int | None
    logical_cores: int
    affinity: tuple[int, ...]
    caches: tuple[Cache, ...]
    memory_bytes: int
    cgroup_cpus: float | None
    cgroup_memory_bytes: int | None
    system: str
    release: str
    machine: str
    python: str
    torch: str | None
    gpus: tuple[Gpu, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits; equal for two equal environments.

        The kernel release is left out and memory counts in whole GiB, because both change with
        an update of the same machine.
        """
        stable = asdict(self)
        del stable["release"], stable["reasons"]
        stable["memory_bytes"] = round(self.memory_bytes / _GIB)
        text = json.dumps(stable, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the id under ``"id"``."""
        return {"id": self.id, **json.loads(json.dumps(asdict(self)))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Environment:
        """Inverse of :meth:`to_json`; the id is computed anew."""
        fields = {key: value for key, value in data.items() if key != "id"}
        fields["affinity"] = tuple(fields["affinity"])
        fields["caches"] = tuple(Cache(**cache) for cache in fields["caches"])
        fields["gpus"] = tuple(Gpu(**gpu) for gpu in fields["gpus"])
        return cls(**fields)


def fingerprint() -> Environment:
    """Read this machine's environment without importing torch.

    Example:
        >>> fingerprint().id == fingerprint().id
        True
    """
    reasons: dict[str, str] = {}
    limits = cgroup_limits()
    gpus, reason = list_gpus()
    if reason:
        reasons["gpus"] = reason
    torch = _torch_version()
    if torch is None:
        reasons["torch"] = "torch is not installed"
    if limits.reason:
        reasons["cgroup_cpus"] = reasons["cgroup_memory_bytes"] = limits.reason
    return Environment(
        cpu=cpu_model(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count() or 1,
        affinity=_affinity(),
        caches=cpu_caches(),
        memory_bytes=psutil.virtual_memory().total,
        cgroup_cpus=limits.cpus,
        cgroup_memory_bytes=limits.memory_bytes,
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        python=platform.python_version(),
        torch=torch,
        gpus=gpus,
        variables={
            name: value for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES)
        },
        reasons=reasons,
    )


@lru_cache(maxsize=1)
def _torch_version() -> str | None:
    """Read once: it takes longer than all the rest and cannot change in a process."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def _affinity() -> tuple[int, ...]:
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))
