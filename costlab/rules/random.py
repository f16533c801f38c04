"""Random numbers and dropout.

A uniform number counts 1; a Bernoulli draw compares one (2); an exponential takes the logarithm
of one and scales it (3). Normal numbers come in pairs from two uniform ones by Box-Muller:
logarithm, root, sine, cosine and four products (1 + 4 each), then scale and shift.
"""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Size, exact_log2
from costlab.graph import Call
from costlab.rules.base import Cost, bytes_of, rule, written_bytes
from costlab.rules.elementwise import outputs
from costlab.rules.promotion import number_bytes

UNIFORM, BERNOULLI, EXPONENTIAL, NORMAL = 1, 2, 3, 7


def _draw(call: Call, per_element: int, *read: str) -> Cost:
    out = outputs(call)[0]
    return Cost(
        "elementwise",
        flop_other=out.numel * per_element,
        bytes_read=bytes_of(call, *read),
        bytes_written=out.nbytes,
    )


@rule(
    "aten.rand", "aten.rand_like", "aten.uniform_", "aten.uniform", "aten.randint",
    "aten.randint_like", "aten.random_", "aten.random",
)  # fmt: skip
def _uniform(call: Call) -> Cost:
    return _draw(call, UNIFORM)


@rule("aten.randn", "aten.randn_like", "aten.normal_", "aten.log_normal_")
def _normal(call: Call) -> Cost:
    return _draw(call, NORMAL)


@rule("aten.normal", "aten.normal_functional")
def _normal_given(call: Call) -> Cost:
    """Drawn as standard numbers apart, then scaled and shifted into the result."""
    return replace(_draw(call, NORMAL, "mean", "std"), scratch_bytes=call.outs[0].nbytes)


@rule("aten.exponential_", "aten.exponential", "aten.geometric_", "aten.cauchy_")
def _exponential(call: Call) -> Cost:
    return _draw(call, EXPONENTIAL)


@rule("aten.bernoulli")
def _bernoulli(call: Call) -> Cost:
    return _draw(call, BERNOULLI, *(() if call.has("p") else ("self",)))


@rule("aten.bernoulli_")
def _bernoulli_into(call: Call) -> Cost:
    """Probabilities may be a tensor."""
    return _draw(call, BERNOULLI, "p")


@rule("aten.native_dropout", "aten.dropout", "aten._fused_dropout")
def _dropout(call: Call) -> Cost:
    """A draw, then two products: with the mask and with the scale.

    On a CPU the mask is drawn as numbers of the input's type.
    """
    out = call.outs[0]
    return Cost(
        "elementwise",
        flop_other=out.numel * (BERNOULLI + 2),
        bytes_read=bytes_of(call, "input", "self"),
        bytes_written=written_bytes(call),
        scratch_bytes=out.nbytes if call.backend == "cpu" else 0,
    )


@rule("aten.native_dropout_backward", "aten._masked_scale")
def _dropout_backward(call: Call) -> Cost:
    """On a CPU made of products: gradient, mask as numbers, scale."""
    out = call.outs[0]
    scratch: Size = 0
    if call.backend == "cpu":
        scratch = out.nbytes + number_bytes(1.0, out.dtype)
    return Cost(
        "elementwise",
        flop_other=2 * out.numel,
        bytes_read=bytes_of(call, "grad_output", "self", "mask"),
        bytes_written=out.nbytes,
        scratch_bytes=scratch,
    )


@rule("aten.randperm")
def _permutation(call: Call) -> Cost:
    """Shuffled by one draw and one exchange per element."""
    out = call.outs[0]
    return Cost(
        "gather",
        flop_other=out.numel,
        bytes_read=out.nbytes,
        bytes_written=2 * out.nbytes,
        scratch_bytes=out.itemsize if call.backend == "cpu" else 0,
    )


@rule("aten.multinomial")
def _multinomial(call: Call) -> Cost:
    """Cumulated probabilities (add, divide), then one binary search per draw."""
    weights, out = call.tensor("self"), call.outs[0]
    return Cost(
        "gather",
        flop_other=2 * weights.numel + out.numel * (UNIFORM + exact_log2(weights.shape[-1])),
        bytes_read=weights.nbytes,
        bytes_written=out.nbytes,
    )
