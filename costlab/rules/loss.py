"""Losses and their gradients, as operators of their own.

Per element: squared error 2, absolute error 2, binary cross-entropy 7 (two logarithms, a
complement each of input and target, two products, a sum), and one addition to reduce.
"""

from __future__ import annotations

from costlab.algebra import Size
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, written_bytes
from costlab.rules.layout import copy_bytes
from costlab.rules.promotion import number_bytes
from costlab.rules.reduction import mean_scratch

NONE, MEAN = 0, 1
"""Values of ``reduction``; 2 is the sum."""

_LOSS_OPERATIONS = {
    "mse_loss": 2,
    "l1_loss": 2,
    "smooth_l1_loss": 5,  # difference, absolute, compare, square, scale
    "huber_loss": 5,
    "binary_cross_entropy": 7,
    "binary_cross_entropy_with_logits": 8,
    "soft_margin_loss": 4,
    "kl_div": 4,
}
_GRADIENT_OPERATIONS = {
    "mse_loss_backward": 3,  # difference, two products
    "smooth_l1_loss_backward": 5,
    "huber_loss_backward": 5,
    "binary_cross_entropy_backward": 6,
    "soft_margin_loss_backward": 6,
}


def _is_reduced(call: Call) -> bool:
    return call.args.get("reduction", MEAN) != NONE


def _loss_scratch(call: Call) -> Size:
    """Terms before they are reduced, and what the mean takes.

    Binary cross-entropy leaves its terms in the result's own storage; with logits it holds a
    second tensor of terms.
    """
    source, reduction = call.tensor("self"), call.args.get("reduction", MEAN)
    terms = source.nbytes if reduction != NONE else 0
    if call.op.startswith("aten.binary_cross_entropy_with_logits"):
        terms = terms + source.nbytes
    elif call.op.startswith("aten.binary_cross_entropy"):
        terms = source.itemsize if reduction != NONE else 0
    return terms + mean_scratch(source, 1) if reduction == MEAN else terms


def _gradient_scratch(call: Call) -> int:
    """Binary cross-entropy divides by the count."""
    mean = call.args.get("reduction", MEAN) == MEAN
    counts = mean and call.op.startswith("aten.binary_cross_entropy")
    return number_bytes(1, call.outs[0].dtype) if counts else 0


@rule(*(f"aten.{name}" for name in _LOSS_OPERATIONS))
def _loss(call: Call) -> Cost:
    per_element = _LOSS_OPERATIONS[call.op.split(".")[1]] + _is_reduced(call)
    return Cost(
        "reduction",
        flop_other=call.tensor("self").numel * per_element,
        bytes_read=bytes_of(call, "self", "target", "weight", "pos_weight"),
        bytes_written=written_bytes(call),
        scratch_bytes=_loss_scratch(call) if call.backend == "cpu" else 0,
    )


@rule(*(f"aten.{name}" for name in _GRADIENT_OPERATIONS))
def _loss_gradient(call: Call) -> Cost:
    return Cost(
        "elementwise",
        flop_other=call.tensor("self").numel * _GRADIENT_OPERATIONS[call.op.split(".")[1]],
        bytes_read=bytes_of(call, "grad_output", "self", "target", "weight"),
        bytes_written=written_bytes(call),
        scratch_bytes=_gradient_scratch(call) if call.backend == "cpu" else 0,
    )


@rule("aten.nll_loss_forward", "aten.nll_loss2d_forward", "aten.nll_loss_nd")
def _nll_loss(call: Call) -> Cost:
    """One log-probability per target is read, negated and added (and weighted)."""
    target = call.tensor("target")
    weighted = int(call.has("weight"))
    read = target.nbytes + target.numel * call.tensor("self").itemsize * (1 + weighted)
    return Cost(
        "gather",
        flop_other=target.numel * (1 + _is_reduced(call) + weighted),
        bytes_read=read,
        bytes_written=written_bytes(call),
        scratch_bytes=copy_bytes(call.tensor("self")),
    )


@rule("aten.nll_loss_backward", "aten.nll_loss2d_backward")
def _nll_loss_backward(call: Call) -> Cost:
    """Zeros over all classes, then one element per target."""
    target = call.tensor("target")
    itemsize = call.outs[0].itemsize
    return Cost(
        "gather",
        flop_other=target.numel * (1 + _is_reduced(call)),
        bytes_read=target.nbytes
        + bytes_of(call, "grad_output", "total_weight")
        + target.numel * itemsize * int(call.has("weight")),
        bytes_written=call.outs[0].nbytes + target.numel * itemsize,
    )
