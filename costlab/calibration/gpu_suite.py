"""What a calibration of a GPU times besides the common cases: shapes that fill thousands of lanes.

The common cases end where a few cores are busy. Here are the large ones, and operands beyond a
cache of 50 MiB; they come first, where time is short. What a small device has no memory for is
skipped there with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from costlab.calibration.suite import BANDWIDTH, LEVELS, PASS, SHAPED, Case, cases

_SHAPES: tuple[tuple[str, str, tuple[tuple[int, tuple[int, ...]], ...]], ...] = (
    ("matmul", "matmul", (
        (0, (1, 2048, 2048, 2048)), (0, (1, 4096, 4096, 4096)), (0, (1, 8192, 1024, 4096)),
        (0, (64, 1024, 64, 1024)), (0, (64, 1024, 1024, 64)),
        (1, (1, 8192, 8192, 8192)), (1, (1, 16, 8192, 8192)), (1, (256, 512, 64, 512)),
    )),
    ("attention", "attention", (
        (0, (64, 1024, 1024, 64)), (0, (32, 4096, 4096, 64)), (0, (64, 1, 8192, 64)),
        (1, (32, 2048, 2048, 128)), (1, (16, 8192, 8192, 64)),
    )),
    ("attention_causal", "attention_causal", ((1, (32, 4096, 4096, 64)),)),
    ("attention_backward", "attention_backward", ((0, (32, 2048, 2048, 64)),)),
    ("recurrent", "lstm", ((0, (64, 256, 512, 512)),)),
    ("recurrent_backward", "lstm_backward", ((0, (64, 128, 512, 512)),)),
)  # fmt: skip
_SHAPES_HELD_OUT = (
    ("matmul", "matmul", (1, 3000, 2000, 5000)),
    ("matmul", "matmul", (40, 900, 96, 900)),
    ("attention", "attention", (24, 3000, 3000, 64)),
)

# Kernels that stream: (name in the record, kernel), at these numbers of elements.
_STREAMS = (
    ("elementwise", "add"), ("aten.gelu", "gelu"), ("softmax", "softmax"),
    ("norm", "layer_norm"), ("reduction", "sum"), ("copy", "clone"),
    ("aten.clone", "clone_heads"), ("gather", "index_select"),
)  # fmt: skip
_ELEMENTS = ((0, 2**25), (0, 2**27), (1, 2**28))
_ELEMENTS_HELD_OUT = 50_000_000 // 512 * 512

_PASSES = (
    (0, "block_pass", (4, 1024, 1024, 16)), (0, "block_train_pass", (4, 1024, 1024, 16)),
    (0, "scores_pass", (4, 1024, 512, 8)), (1, "block_pass", (8, 4096, 1024, 16)),
)  # fmt: skip


def device_cases(level: str, device: str) -> list[Case]:
    """Every case of ``level`` on ``device`` ("cpu", "cuda", "cuda:N"), the most needed first.

    Raises:
        InputError: if there is no such level.
    """
    common = cases(level)
    if not device.startswith("cuda") or level == "trial":
        return common
    large = _large(LEVELS.index(level) - 1)
    return sorted([*large, *common], key=lambda case: case.rank)


def _large(depth: int) -> Iterator[Case]:
    for name, kernel, shapes in _SHAPES:
        for rank, shape in shapes:
            if rank <= depth:
                yield Case(SHAPED, name, kernel, shape, rank=rank)
    for name, kernel, shape in _SHAPES_HELD_OUT:
        yield Case(SHAPED, name, kernel, shape, held_out=True)
    for name, kernel in _STREAMS:
        for rank, elements in _ELEMENTS:
            if rank <= depth:
                yield Case(BANDWIDTH, name, kernel, (elements,), rank=rank)
        yield Case(BANDWIDTH, name, kernel, (_ELEMENTS_HELD_OUT,), held_out=True)
    for rank, kernel, shape in _PASSES:
        if rank <= depth:
            yield Case(PASS, "pass", kernel, shape, held_out=True, rank=rank)
