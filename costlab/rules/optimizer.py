"""Fused optimizer steps: every parameter and state is read once and written once.

Adam per element: first moment ``m + (1 - b1) * (g - m)`` 3, second moment
``b2 * v + (1 - b2) * g * g`` 4, denominator ``sqrt(v) / c + eps`` 3, step
``p - lr * m / denominator`` 3; weight decay 2 as part of the gradient, 1 apart from it (AdamW);
the running maximum of AMSGrad 1. SGD: step 2, momentum 3, weight decay 2, Nesterov 2.
"""

from __future__ import annotations

from costlab.algebra import Size, total
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, scalar_is, tensors_of

ADAM_OPERATIONS = 13


def _step(call: Call, per_element: int, states: tuple[str, ...]) -> Cost:
    parameters: Size = total(t.numel for t in tensors_of(call, "self"))
    updated = bytes_of(call, "self", *states)
    return Cost(
        "elementwise",
        flop_other=parameters * per_element,
        bytes_read=updated + bytes_of(call, "grads"),
        bytes_written=updated,
    )


def _decays(call: Call) -> bool:
    return call.has("weight_decay") and not scalar_is(call, "weight_decay", 0)


def _adam_states(call: Call) -> tuple[str, ...]:
    amsgrad = ("max_exp_avg_sqs",) if call.args.get("amsgrad") is True else ()
    return ("exp_avgs", "exp_avg_sqs", *amsgrad)


@rule("aten._fused_adam_", "aten._fused_adam")
def _adam(call: Call) -> Cost:
    states = _adam_states(call)
    return _step(call, ADAM_OPERATIONS + 2 * _decays(call) + len(states) - 2, states)


@rule("aten._fused_adamw_", "aten._fused_adamw")
def _adamw(call: Call) -> Cost:
    states = _adam_states(call)
    return _step(call, ADAM_OPERATIONS + _decays(call) + len(states) - 2, states)


@rule("aten._fused_sgd_", "aten._fused_sgd")
def _sgd(call: Call) -> Cost:
    momentum = call.has("momentum") and not scalar_is(call, "momentum", 0)
    per_element = 2 + 2 * _decays(call) + 3 * momentum
    per_element += 2 * (momentum and call.args.get("nesterov") is True)
    return _step(call, per_element, ("momentum_buffer_list",) if momentum else ())


@rule("aten._fused_adagrad_", "aten._fused_adagrad")
def _adagrad(call: Call) -> Cost:
    """Square and add; root, add, divide, scale, subtract."""
    return _step(call, 7 + 2 * _decays(call), ("state_sums",))
