"""Tensors made from nothing: allocation is free, a fill writes every element once.

Also the operators that move no tensor data: checks, scalars read back, storage bookkeeping.
"""

from __future__ import annotations

from costlab.algebra import total
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule
from costlab.rules.elementwise import list_launches, outputs

_FREE = Cost("none", launches=0)


@rule(
    "aten.empty", "aten.empty_like", "aten.empty_strided", "aten.empty_permuted",
    "aten.new_empty", "aten.new_empty_strided", "aten.resize_", "aten.resize_as_", "aten.set_",
    "aten.lift_fresh", "aten.lift",
    "aten._efficientzerotensor",
)  # fmt: skip
def _allocate(call: Call) -> Cost:
    return _FREE


@rule(
    "aten.transpose_", "aten.t_", "aten.squeeze_", "aten.unsqueeze_", "aten.swapaxes_",
    "aten.swapdims_", "aten.as_strided_", "aten.detach_", "aten.requires_grad_",
)  # fmt: skip
def _view_in_place(call: Call) -> Cost:
    return _FREE


@rule(
    "aten._assert_async", "aten._functional_assert_async", "aten._assert_scalar",
    "aten._functional_assert_scalar", "aten._assert_tensor_metadata",
    "aten.sym_size", "aten.sym_stride", "aten.sym_numel", "aten.sym_storage_offset",
    "aten.sym_constrain_range", "aten.sym_constrain_range_for_size", "aten.is_same_size",
    "aten.record_stream", "aten._has_compatible_shallow_copy_type",
    "aten._version", "aten.is_pinned", "aten.numel", "profiler._record_function_enter_new",
    "profiler._record_function_enter", "profiler._record_function_exit",
)  # fmt: skip
def _bookkeeping(call: Call) -> Cost:
    return _FREE


@rule("aten._local_scalar_dense", "aten.item", "aten.is_nonzero")
def _read_scalar(call: Call) -> Cost:
    """One element is copied to the host, which waits for it."""
    return Cost("copy", bytes_read=call.tensor("self").itemsize)


@rule(
    "aten.zeros", "aten.ones", "aten.full", "aten.zeros_like", "aten.ones_like", "aten.full_like",
    "aten.new_zeros", "aten.new_ones", "aten.new_full", "aten.scalar_tensor", "aten.eye",
    "aten.fill_", "aten.zero_", "aten.tril_indices", "aten.triu_indices", "aten.zero",
)  # fmt: skip
def _fill(call: Call) -> Cost:
    return Cost("copy", bytes_written=total(t.nbytes for t in outputs(call)))


@rule("aten.fill")
def _filled(call: Call) -> Cost:
    return Cost("copy", bytes_read=bytes_of(call, "value"), bytes_written=call.outs[0].nbytes)


@rule("aten._foreach_zero_")
def _zero_list(call: Call) -> Cost:
    written = total(t.nbytes for t in outputs(call))
    return Cost("copy", bytes_written=written, launches=list_launches(call))


@rule(
    "aten.arange", "aten.range", "aten.linspace", "aten.logspace", "aten.fft_fftfreq",
    "aten.fft_rfftfreq",
)  # fmt: skip
def _sequence(call: Call) -> Cost:
    """``start + i * step``: a multiplication and an addition each."""
    out = call.outs[0]
    return Cost("elementwise", flop_other=2 * out.numel, bytes_written=out.nbytes)
