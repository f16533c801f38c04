"""A measured machine with three caches, of which the first is too small to be seen."""

from __future__ import annotations

from costlab.devices.environment import Environment
from costlab.devices.processor import Cache
from costlab.hardware.calibration_record import CalibrationRecord, Curve, ShapedRate


def calibration() -> CalibrationRecord:
    """Rates are 60, 30 and 10 GB/s in L2, L3 and main memory, 100 GFLOP/s in products."""
    environment = Environment(
        cpu="test", physical_cores=2, logical_cores=2, affinity=(0, 1),
        caches=(Cache(1, 2**15), Cache(2, 2**20), Cache(3, 2**25)), memory_bytes=2**34,
        cgroup_cpus=None, cgroup_memory_bytes=None, system="Linux", release="6", machine="x86_64",
        python="3.11", torch="2.13",
    )  # fmt: skip
    bandwidth = {
        "copy": Curve(((2.0**16, 8e10), (2.0**19, 6e10), (2.0**24, 2e10), (2.0**28, 1e10))),
        "elementwise": Curve(((2.0**16, 9e10), (2.0**19, 5e10), (2.0**24, 3e10), (2.0**28, 8e9))),
        "aten.exp": Curve(((2.0**16, 1e12), (2.0**28, 1e12))),
    }
    shaped = {
        "matmul": (ShapedRate((1, 64, 64, 64), 2e10), ShapedRate((1, 512, 512, 512), 1e11)),
        "recurrent": (ShapedRate((1, 64, 64, 64), 9.5e10),),
        "attention": (ShapedRate((8, 512, 512, 64), 4e10),),
        "attention_backward": (ShapedRate((8, 512, 512, 64), 3e10),),
    }
    return CalibrationRecord(
        "cpu", "float32", 1, "quick", "2026-01-01T00:00:00Z", environment, {}, shaped, bandwidth,
        {"forward": 1e-6}, 0.0,
    )  # fmt: skip
