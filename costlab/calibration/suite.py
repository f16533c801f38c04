"""What a calibration times: plain data, one case per kernel and shape. No torch.

Each level holds the cases of those before it; "trial" has a handful that only show that a
calibration works here. Held-out cases give no rate; they tell how well
the rates predict what they were not taken from, above all whole passes of small programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from costlab.errors import InputError
from costlab.i18n import _

ROUNDS = 3  # how often every case is timed where there is time
LEVELS = ("trial", "quickest", "quick", "full")
SHAPED, BANDWIDTH, PASS = "shaped", "bandwidth", "pass"


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one shape.

    Attributes:
        table: which part of the record it feeds: "shaped", "bandwidth" or "pass" (a program).
        name: key in that table: a kind, a suffixed kind, or an operator packet.
        kernel: the builder in ``kernels`` that makes the call.
        shape: dimensions, in the meaning the builder documents.
        held_out: whether it only checks the others.
        rank: the lower, the sooner it is measured where time is short.
    """

    table: str
    name: str
    kernel: str
    shape: tuple[int, ...]
    held_out: bool = False
    rank: int = 0


# Per shaped kernel: (level from which on, shape), then shapes that are held out.
_MATMUL = (
    (0, (1, 1, 8, 8)), (0, (1, 1, 8, 32)), (0, (1, 4, 8, 24)), (0, (2, 4, 4, 4)),
    (0, (1, 2, 32, 64)), (0, (1, 4, 64, 16)), (0, (1, 8, 96, 256)), (0, (1, 32, 64, 64)),
    (0, (1, 128, 128, 128)), (0, (1, 512, 256, 256)),
    (0, (1, 512, 512, 512)), (0, (1, 1024, 512, 2048)), (0, (1, 1, 512, 512)),
    (0, (1, 1, 64, 192)), (0, (1, 8, 256, 256)), (0, (1, 2048, 64, 64)), (0, (1, 64, 4096, 64)),
    (0, (1, 1024, 1024, 256)), (0, (1, 32, 512, 2048)),
    (0, (16, 128, 64, 128)), (0, (16, 512, 64, 512)), (0, (16, 512, 512, 64)),
    (0, (256, 64, 32, 64)), (0, (32, 1, 64, 512)), (0, (32, 1, 512, 64)), (0, (8, 16, 16, 16)),
    (0, (4, 128, 1024, 16)), (0, (512, 16, 16, 16)), (0, (16, 16, 256, 16)),
    (1, (1, 4, 32, 96)), (1, (1, 96, 2, 32)), (1, (1, 256, 8, 256)), (1, (1, 16, 64, 16)),
    (1, (1, 1, 1024, 4096)), (1, (1, 4, 1024, 1024)), (1, (1, 256, 1024, 1024)),
    (1, (1, 4096, 128, 128)), (1, (1, 128, 2048, 512)), (1, (1, 512, 16, 512)),
    (1, (1, 1024, 32, 1024)), (1, (1, 16, 1024, 64)), (1, (1, 2048, 512, 32)),
    (1, (8, 1024, 64, 1024)), (1, (8, 1024, 1024, 64)), (1, (64, 64, 64, 64)),
    (1, (64, 1, 512, 64)), (1, (64, 16, 128, 16)), (1, (8, 256, 16, 256)), (1, (8, 256, 256, 16)),
    (1, (4, 32, 512, 32)), (1, (4, 1, 2048, 64)), (1, (4, 1, 64, 2048)), (1, (1024, 32, 32, 64)),
    (2, (1, 2048, 1024, 1024)), (2, (1, 4096, 512, 1024)), (2, (1, 32, 2048, 2048)),
    (2, (1, 128, 512, 8192)), (2, (2, 512, 8, 512)),
    (2, (256, 8, 8, 64)), (2, (2048, 16, 8, 16)), (2, (128, 1, 32, 1024)),
    (1, (300, 20, 1, 20)), (1, (64, 64, 1, 64)),
    # Scores of long sequences, and what they weigh.
    (1, (4, 2048, 32, 2048)), (1, (4, 2048, 2048, 32)),
    # Weights that the last cache holds and the others do not.
    (1, (1, 1, 1024, 1024)), (1, (1, 1, 1536, 1536)), (1, (1, 32, 384, 384)),
)  # fmt: skip
_MATMUL_HELD_OUT = ((0, (1, 300, 200, 520)), (0, (12, 200, 48, 200)), (1, (1, 900, 700, 300)),
                    (1, (1, 3, 700, 700)), (1, (24, 90, 90, 40)))  # fmt: skip
_ATTENTION = (
    (0, (2, 4, 4, 4)), (0, (2, 16, 16, 16)), (0, (16, 128, 128, 64)), (0, (16, 512, 512, 64)),
    (0, (8, 1024, 1024, 64)), (0, (16, 1, 512, 64)), (0, (64, 64, 64, 32)),
    (0, (4, 256, 256, 8)), (0, (256, 32, 96, 32)), (0, (128, 1, 128, 16)),
    (1, (4, 2048, 2048, 64)), (1, (16, 512, 512, 128)), (1, (16, 256, 256, 32)),
    (1, (2, 1024, 1024, 16)), (1, (32, 16, 16, 64)), (1, (1, 128, 128, 64)),
    (1, (8, 1, 2048, 128)), (1, (64, 1, 1024, 32)), (1, (16, 128, 384, 32)),
    (1, (2048, 16, 48, 16)), (2, (16, 1, 4096, 64)), (2, (2, 4096, 4096, 64)),
    (2, (32, 256, 256, 64)),
    (0, (2, 800, 800, 8)), (1, (1, 3000, 3000, 12)), (1, (2, 2000, 2000, 24)),
    (1, (24, 512, 512, 10)), (1, (12, 1200, 1200, 20)), (1, (80, 1, 200, 64)),
)  # fmt: skip
_ATTENTION_BACKWARD = (
    (0, (2, 16, 16, 16)), (0, (16, 128, 128, 64)), (0, (16, 512, 512, 64)), (0, (4, 256, 256, 8)),
    (1, (64, 32, 96, 32)), (1, (4, 1024, 1024, 32)), (1, (64, 64, 64, 32)),
    (1, (2, 700, 700, 8)), (1, (1, 1500, 1500, 16)), (0, (4, 96, 96, 64)), (1, (12, 32, 32, 48)),
)  # fmt: skip
_ATTENTION_HELD_OUT = ((0, (12, 300, 300, 48)), (1, (6, 700, 700, 64)))
_RECURRENT = (
    (0, (1, 1, 16, 16)), (0, (16, 32, 64, 64)), (0, (16, 64, 256, 256)), (0, (16, 1, 512, 512)),
    (0, (2, 512, 32, 32)),
    (1, (32, 64, 128, 128)), (1, (4, 128, 512, 512)), (1, (1, 64, 128, 128)),
    (1, (1, 1, 1024, 1024)), (1, (32, 1, 128, 128)), (1, (2, 256, 64, 64)), (1, (8, 1024, 48, 48)),
    # A step alone packs its weights anew: how long that takes follows from where they lie.
    (1, (1, 1, 128, 128)), (1, (4, 1, 288, 288)), (1, (2, 1, 608, 608)), (2, (8, 1, 1408, 1408)),
    (1, (64, 1, 384, 384)),
    (1, (6, 512, 176, 176)), (1, (1, 256, 384, 384)), (1, (8, 256, 96, 96)), (1, (2, 64, 640, 640)),
    (1, (1, 512, 24, 24)),
)  # fmt: skip
_RECURRENT_BACKWARD = (
    (0, (1, 4, 16, 16)), (0, (16, 32, 64, 64)), (0, (8, 64, 256, 256)), (0, (2, 512, 32, 32)),
    (1, (32, 64, 128, 128)), (1, (2, 64, 128, 128)), (1, (8, 512, 48, 48)),
    (1, (4, 1024, 56, 56)), (1, (1, 128, 96, 96)), (1, (4, 128, 288, 288)), (1, (4, 64, 32, 32)),
    (1, (1, 512, 24, 24)),
)  # fmt: skip
_RECURRENT_HELD_OUT = ((0, (12, 40, 160, 160)),)
_CONVOLUTION = ((0, (4, 64, 64, 512, 3)), (0, (4, 256, 256, 512, 3)), (1, (4, 128, 128, 2048, 5)))
_CONVOLUTION_HELD_OUT = ((1, (3, 96, 160, 700, 3)),)

# Shaped names with their kernel, measured from which level on, at these shapes.
_SHAPED_KERNELS = (
    ("matmul", "matmul", 0, _MATMUL, _MATMUL_HELD_OUT),
    ("attention", "attention", 0, _ATTENTION, _ATTENTION_HELD_OUT),
    ("attention_causal", "attention_causal", 1, _ATTENTION[2:5], ()),
    ("attention_backward", "attention_backward", 0, _ATTENTION_BACKWARD, _ATTENTION_HELD_OUT[:1]),
    ("recurrent", "lstm", 0, _RECURRENT, _RECURRENT_HELD_OUT),
    ("recurrent_backward", "lstm_backward", 0, _RECURRENT_BACKWARD, ()),
    ("convolution", "convolution", 0, _CONVOLUTION, _CONVOLUTION_HELD_OUT),
    ("convolution_backward", "convolution_backward", 1, _CONVOLUTION[:2], ()),
)

# Elements of the largest operand: next to no work, inside L1, L2 and L3, and outside.
_ELEMENTS = (
    (0, 2**9), (0, 2**14), (0, 2**18), (0, 2**20), (0, 6 * 2**20),
    (1, 2**12), (1, 2**16), (1, 5 * 2**19),
)  # fmt: skip
# Also far below: the gates of a recurrent layer work on a few dozen elements.
_TINY = 2**5
_TINY_KERNELS = frozenset({"add", "mul", "tanh", "sigmoid", "relu", "exp", "silu", "gelu", "clone"})
_LARGE = 2**20
_ELEMENTS_HELD_OUT = 700_000

# Name in the record, kernel, level from which on. A kind's kernel stands for its other operators.
_BANDWIDTH_KERNELS = (
    ("elementwise", "add", 0), ("aten.exp", "exp", 0), ("aten.gelu", "gelu", 0),
    ("aten.silu", "silu", 0), ("aten.tanh", "tanh", 0), ("aten.sigmoid", "sigmoid", 0),
    ("aten.relu", "relu", 1), ("aten.mul", "mul", 1), ("aten.div", "div", 1),
    ("aten.sub", "sub", 1), ("aten.eq", "eq", 1),
    ("aten.masked_fill", "masked_fill", 0), ("aten.where", "where", 1),
    ("aten.elu", "elu", 1), ("aten.softplus", "softplus", 1), ("aten.rsqrt", "rsqrt", 1),
    ("aten.pow", "pow", 1), ("aten.native_dropout", "dropout", 1),
    ("aten.gelu_backward", "gelu_backward", 1), ("aten.elu_backward", "elu_backward", 1),
    ("softmax", "softmax", 0), ("aten._softmax_backward_data", "softmax_backward", 0),
    ("aten.logsumexp", "logsumexp", 1),
    ("norm", "layer_norm", 0), ("aten.native_layer_norm_backward", "layer_norm_backward", 0),
    ("reduction", "sum", 0), ("aten.sum", "column_sum", 0),
    ("aten.amax", "amax", 1), ("aten.cumsum", "cumsum", 1),
    ("copy", "clone", 0), ("aten.clone", "clone_heads", 0), ("aten.cat", "cat", 1),
    ("aten.constant_pad_nd", "pad", 0),
    ("aten.zeros", "zeros", 1), ("aten.fill", "fill", 1),
    ("gather", "index_select", 0), ("aten.gather", "gather", 1),
    ("aten.scatter", "scatter", 0), ("aten.scatter_add", "scatter_add", 1),
    ("aten.index_put", "index_put", 1),
    ("sort", "sort", 0), ("aten.topk", "topk", 1), ("fft", "fft", 0),
)  # fmt: skip
# Measured beyond the caches at the quickest level too; the others are capped by their kind.
_LARGE_KERNELS = frozenset({"add", "gelu", "softmax", "layer_norm", "sum", "clone", "index_select"})
_SLOW_KERNELS = frozenset({"sort", "topk", "fft", "scatter", "scatter_add", "index_put", "dropout"})
_HELD_OUT_KERNELS = ("add", "gelu", "softmax", "layer_norm", "sum", "clone_heads", "index_select")

_TRIAL_KERNELS = frozenset({"matmul", "add", "clone", "softmax", "block_pass", "scores_pass"})
# Of all dimensions multiplied.
_TRIAL_LIMITS = {SHAPED: 2**25, BANDWIDTH: 2**20, PASS: 2**20}

# Programs: (batch, sequence, width, heads).
_PASSES = (
    (0, "block_pass", (2, 96, 64, 4)), (0, "block_pass", (2, 384, 192, 4)),
    (0, "scores_pass", (2, 256, 128, 4)), (0, "block_train_pass", (2, 200, 128, 4)),
    (0, "cell_loop_pass", (8, 40, 96, 1)), (0, "gru_pass", (3, 50, 80, 1)),
    (0, "cache_pass", (6, 500, 192, 6)), (0, "sorted_pass", (3, 260, 96, 4)),
    (0, "gated_train_pass", (3, 150, 96, 1)), (0, "convolved_pass", (4, 300, 64, 1)),
    (1, "block_pass", (4, 700, 320, 8)), (1, "scores_pass", (2, 600, 128, 4)),
    (1, "scores_train_pass", (3, 180, 144, 6)), (1, "gated_pass", (6, 700, 128, 1)),
    (1, "block_train_pass", (2, 500, 256, 4)), (1, "cell_loop_train_pass", (8, 60, 128, 1)),
    (1, "gru_train_pass", (5, 40, 120, 1)), (1, "cache_pass", (2, 3000, 256, 8)),
    (1, "sorted_train_pass", (2, 350, 128, 4)), (1, "convolved_train_pass", (2, 500, 96, 1)),
)  # fmt: skip


def cases(level: str) -> list[Case]:
    """Every case of ``level``, the most needed first.

    Raises:
        InputError: if there is no such level.
    """
    if level not in LEVELS:
        raise InputError(_("unknown calibration level"), given=level, allowed=", ".join(LEVELS))
    if level == "trial":
        return [
            case
            for case in _cases(0)
            if case.kernel in _TRIAL_KERNELS and math.prod(case.shape) <= _TRIAL_LIMITS[case.table]
        ]
    return sorted(_cases(LEVELS.index(level) - 1), key=lambda case: case.rank)


def _limit(kernel: str, depth: int) -> float:
    """The most elements that ``kernel`` is given at a level."""
    if kernel in _SLOW_KERNELS or (depth == 0 and kernel not in _LARGE_KERNELS):
        return _LARGE
    return math.inf


def _cases(depth: int) -> Iterator[Case]:
    for name, kernel, start, shapes, held_out in _SHAPED_KERNELS:
        if start > depth:
            continue
        for rank, shape in shapes:
            if rank <= depth:
                yield Case(SHAPED, name, kernel, shape, rank=max(rank, start))
        for rank, shape in held_out:
            if rank <= depth:
                yield Case(SHAPED, name, kernel, shape, held_out=True, rank=max(rank, start))
    for name, kernel, start in _BANDWIDTH_KERNELS:
        if start > depth:
            continue
        for rank, elements in (*_ELEMENTS, *((0, _TINY),) * (kernel in _TINY_KERNELS)):
            if rank <= depth and elements <= _limit(kernel, depth):
                yield Case(BANDWIDTH, name, kernel, (elements,), rank=max(rank, start))
        if kernel in _HELD_OUT_KERNELS:
            yield Case(BANDWIDTH, name, kernel, (_ELEMENTS_HELD_OUT,), held_out=True, rank=start)
    for rank, kernel, shape in _PASSES:
        if rank <= depth:
            yield Case(PASS, "pass", kernel, shape, held_out=True, rank=rank)
