"""A calibration record with made-up but plausible rates."""

from __future__ import annotations

from costlab.devices import Environment
from costlab.hardware.calibration_record import CalibrationRecord, Curve, Residual, ShapedRate


def environment() -> Environment:
    return Environment(
        cpu="Example CPU",
        physical_cores=2,
        logical_cores=2,
        affinity=(0, 1),
        caches=(),
        memory_bytes=8 * 2**30,
        cgroup_cpus=None,
        cgroup_memory_bytes=4 * 2**30,
        system="Linux",
        release="6",
        machine="x86_64",
        python="3.11.2",
        torch="2.13.0",
    )


def calibration(residuals: tuple[Residual, ...] = ()) -> CalibrationRecord:
    matmuls = tuple(
        ShapedRate((batch, m, k, n), 5e10 * min(1.0, (m * k * n / 64**3) ** 0.2))
        for batch in (1, 8)
        for m in (16, 128, 1024)
        for k in (32, 512)
        for n in (32, 512, 1024)
    )
    points = ((1e4, 4e10), (1e6, 2e10), (1e8, 8e9))
    return CalibrationRecord(
        device="cpu",
        dtype="float32",
        threads=1,
        level="quick",
        date="2026-11-29T12:00:00",
        environment=environment(),
        versions={"torch": "2.13.0"},
        shaped={"matmul": matmuls},
        bandwidth={
            "copy": Curve(points),
            "elementwise": Curve(points),
            "softmax": Curve(tuple((size, rate / 3) for size, rate in points)),
            "aten.exp": Curve(tuple((size, rate / 5) for size, rate in points)),
        },
        launch_s={"forward": 2e-6, "train_forward": 4e-6, "backward": 5e-6},
        step_s=1e-7,
        residuals=residuals,
        spread=0.02,
    )
