"""Cost rules of the operators, by family. Importing this package registers all of them."""

from costlab.rules import (
    attention,
    convolution,
    copy,
    creation,
    elementwise,
    encoder,
    fourier,
    index,
    linalg,
    loss,
    matmul,
    norm,
    optimizer,
    pool,
    random,
    recurrent,
    reduction,
    scan,
    scatter,
    softmax,
    sort,
)

__all__ = [
    "attention", "convolution", "copy", "creation", "elementwise", "encoder", "fourier", "index",
    "linalg", "loss", "matmul", "norm", "optimizer", "pool", "random", "recurrent", "reduction",
    "scan", "scatter", "softmax", "sort",
]  # fmt: skip
