"""Fourier transforms: ``5 N log2 N`` operations on complex data, half of that on real data.

N is the product of the transformed sizes. This is the customary count of a radix-2 transform;
libraries need somewhat fewer for powers of two and more for large prime factors. On the CPU torch
hands MKL one batch dimension and copies the input where its batch dimensions do not form one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from costlab.algebra import Size, as_expr, exact_log2, maximum, product, simplest
from costlab.errors import DerivationError
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, read_bytes, rule, written_bytes

_TYPICAL_SIZE = 97  # for every symbol, when strides are put in order


def transform_flop(points: Size, signal: Size, *, real: bool) -> Size:
    """Operations for ``points`` values in transforms of ``signal`` values each."""
    per_value = Fraction(5, 2) if real else 5
    return simplest(as_expr(points) * exact_log2(signal) * per_value)


def _dims(call: Call) -> tuple[int, ...]:
    """Transformed dimensions, counted from the front."""
    dims, rank = call.args["dim"], len(call.tensor("self").shape)
    if not isinstance(dims, tuple):
        raise DerivationError("the transformed dimensions must be a list", operator=call.op)
    return tuple(dim % rank for dim in dims if isinstance(dim, int))


@dataclass(frozen=True, slots=True)
class _Plan:
    """One call of MKL: bytes of the input's copy (0 if it is used in place) and how it writes."""

    copy: Size
    out: TensorSpec


def _plan(tensor: TensorSpec, dims: tuple[int, ...], out_shape: tuple[Size, ...]) -> _Plan:
    """Batch dimensions go by falling stride into one; the output is dense in that order."""

    def position(i: int) -> float:
        stride = as_expr(tensor.stride[i])
        return float(stride.evaluate(dict.fromkeys(stride.symbols(), _TYPICAL_SIZE)))

    batch = [i for i in range(len(tensor.shape)) if i not in dims]
    batch.sort(key=position, reverse=True)
    long = [i for i in batch if tensor.shape[i] != 1]
    merges = all(
        as_expr(tensor.stride[outer]) == tensor.shape[inner] * as_expr(tensor.stride[inner])
        for outer, inner in itertools.pairwise(long)
    )
    stride: list[Size] = [1] * len(out_shape)
    step: Size = 1
    for i in reversed([*batch, *dims]):
        stride[i] = step
        step = step * out_shape[i]
    out = TensorSpec(out_shape, tuple(stride), "complex64")
    return _Plan(0 if merges else tensor.nbytes, out)


def _cost(call: Call, flop: Size, scratch: Size) -> Cost:
    return Cost(
        kind="fft",
        flop_other=flop,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
        scratch_bytes=scratch if call.backend == "cpu" else 0,
    )


@rule("aten._fft_c2c")
def complex_to_complex(call: Call) -> Cost:
    tensor, dims = call.tensor("self"), _dims(call)
    signal = product(tensor.shape[i] for i in dims)
    flop = transform_flop(tensor.numel, signal, real=False)
    return _cost(call, flop, _plan(tensor, dims, tensor.shape).copy)


@rule("aten._fft_r2c")
def real_to_complex(call: Call) -> Cost:
    tensor, dims = call.tensor("self"), _dims(call)
    signal = product(tensor.shape[i] for i in dims)
    flop = transform_flop(tensor.numel, signal, real=True)
    return _cost(call, flop, _plan(tensor, dims, call.outs[0].shape).copy)


@rule("aten._fft_c2r")
def complex_to_real(call: Call) -> Cost:
    """Several dimensions: a complex transform of all but the last, then a real one of the last."""
    tensor, dims, out = call.tensor("self"), _dims(call), call.outs[0]
    flop = transform_flop(out.numel, product(out.shape[i] for i in dims), real=True)
    if len(dims) == 1:
        return _cost(call, flop, _plan(tensor, dims, out.shape).copy)
    first = _plan(tensor, dims[:-1], tensor.shape)
    between = TensorSpec(tensor.shape, first.out.stride, tensor.dtype)
    second = _plan(between, dims[-1:], out.shape)
    # The output is born between the two, so it is not alive during the first.
    scratch = between.nbytes + maximum(first.copy - as_expr(out.nbytes), second.copy)
    return _cost(call, flop, scratch)
