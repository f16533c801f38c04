"""What ``gpu_check`` measures: points of every architecture, the most telling ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from costlab.arch import registry
from costlab.measurement.point import PointSpec
from costlab.measurement.timing import TimingPlan

SMALL, LARGE, TINY = "small", "large", "tiny"
# Lengths and batches at which a large GPU is busy for between 0.1 and 100 ms.
_SIZES: Mapping[str, Mapping[str, int]] = {
    SMALL: {"b": 4, "n": 1024, "m": 1024, "d": 1024, "h": 16, "g": 4, "k": 64, "f": 4096, "L": 2,
            "V": 32768, "w": 128, "c": 64, "R": 2, "r": 5, "s": 16, "e": 8, "t": 2, "G": 16,
            "p": 32, "q": 512, "a": 2, "u": 64, "E": 16384},
    LARGE: {"b": 4, "n": 4096, "m": 1024, "d": 1024, "h": 16, "g": 4, "k": 64, "f": 4096, "L": 2,
            "V": 32768, "w": 256, "c": 64, "R": 2, "r": 6, "s": 16, "e": 8, "t": 2, "G": 16,
            "p": 32, "q": 512, "a": 4, "u": 64, "E": 65536},
    TINY: {"b": 2, "n": 24, "m": 12, "d": 16, "h": 2, "g": 1, "k": 8, "f": 64, "L": 1, "V": 50,
           "w": 6, "c": 6, "R": 1, "r": 3, "s": 4, "e": 4, "t": 2, "G": 2, "p": 4, "q": 8,
           "a": 2, "u": 4, "E": 100},
}  # fmt: skip
_RECURRENT_SIZES: Mapping[str, Mapping[str, int]] = {
    SMALL: {"b": 32, "n": 512, "d": 512},
    LARGE: {"b": 64, "n": 1024, "d": 1024},
}
_LOOP_SIZES: Mapping[str, Mapping[str, int]] = {
    SMALL: {"b": 32, "n": 128, "d": 512},
    LARGE: {"b": 32, "n": 384, "d": 512},
}
# Where the formulas ask for it: chunks of the scan, and a dilation of 8.
_OWN_SIZES: Mapping[str, Mapping[str, int]] = {
    "mamba": {"c": 16}, "hybrid_block": {"c": 16}, "dilated_window": {"w": 32, "c": 256},
}  # fmt: skip
_ROUNDS = (
    ("forward", "bfloat16", SMALL), ("train", "bfloat16", SMALL), ("decode", "bfloat16", SMALL),
    ("forward", "float32", SMALL), ("forward", "bfloat16", LARGE), ("train", "float32", SMALL),
    ("train", "bfloat16", LARGE), ("decode", "float32", SMALL), ("forward", "float32", LARGE),
)  # fmt: skip
_TINY_ROUNDS = (("forward", "float32", TINY), ("train", "float32", TINY))
_TINY_NAMES = ("full_attention",)
_TRACED_TINY = ("flash_attention", "full_attention", "lsh_attention", "lstm")

BRIEF = TimingPlan(
    warmup_s=0.3, min_samples=5, min_time_s=0.1, max_time_s=0.6, timer_share=1e-3, cold_samples=3
)
TRIAL = TimingPlan(
    warmup_s=0.01, min_samples=2, min_time_s=0.01, max_time_s=0.05, timer_share=1e-2, cold_samples=1
)


def sizes_of(architecture: str, size: str) -> dict[str, int]:
    """Sizes of one of the catalogue at "small", "large" or "tiny"."""
    spec = registry.spec(architecture)
    chosen = dict(_SIZES[size])
    if spec.family == "recurrent":
        by_steps = _LOOP_SIZES if architecture.endswith("_cell_loop") else _RECURRENT_SIZES
        chosen |= by_steps.get(size, {})
    chosen |= _OWN_SIZES.get(architecture, {})
    return {name: chosen[name] for name in spec.symbols}


def points(device: str, dry_run: bool) -> Iterator[PointSpec]:
    """Every point in the order of measuring, so that an early end leaves an even cover."""
    names = _TINY_NAMES if dry_run else registry.names()
    for mode, dtype, size in _TINY_ROUNDS if dry_run else _ROUNDS:
        for name in names:
            if mode in registry.spec(name).modes:
                yield PointSpec(name, sizes_of(name, size), mode, dtype, device)


def traced_programs(dry_run: bool) -> Iterator[tuple[str, str, str, dict[str, int]]]:
    """(architecture, mode, dtype, sizes) whose operators are compared with their formulas."""
    for dtype in ("float32",) if dry_run else ("bfloat16", "float32"):
        for name in _TRACED_TINY if dry_run else registry.names():
            for mode in registry.spec(name).modes:
                if mode == "forward" or (mode != "prefill" and not dry_run):
                    yield name, mode, dtype, sizes_of(name, TINY if dry_run else SMALL)
