"""torch's fused inference path of nn.MultiheadAttention and nn.TransformerEncoderLayer.

The operators do what the modules do with the scores written out: query, key and value in one
product, scores, softmax, values, projection; then the feed-forward part. Scratch follows the order
of allocations in aten/src/ATen/native/transformers/{attention,transformer}.cpp on the CPU; on CUDA
the same operators use fused attention, and the scores are not counted there.
"""

from __future__ import annotations

from dataclasses import dataclass

from costlab.algebra import Size, exact_div, maximum, simplest
from costlab.errors import DerivationError
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, read_bytes, rule, written_bytes
from costlab.rules.elementwise import GELU_OPERATIONS
from costlab.rules.norm import NORMALISE, PER_ROW
from costlab.rules.softmax import SOFTMAX_OPERATIONS

_RELU_OPERATIONS = 1


@dataclass(frozen=True, slots=True)
class _Attention:
    """b sequences of n positions of width d in h heads; ``itemsize`` of the activations."""

    b: Size
    n: Size
    d: Size
    h: Size
    itemsize: int
    mask_bytes: Size | None  # the mask as booleans; None: no mask

    @property
    def elements(self) -> Size:
        return self.b * self.n * self.d

    @property
    def scores(self) -> Size:
        return self.b * self.h * self.n * self.n

    @property
    def flop_per_score(self) -> Size:
        return simplest(exact_div(4 * self.d, self.h))

    @property
    def flop_matmul(self) -> Size:
        return 8 * self.elements * self.d + 4 * self.elements * self.n

    @property
    def flop_other(self) -> Size:
        """Three biases and the scale of the query, softmax and mask, bias of the projection."""
        per_score = SOFTMAX_OPERATIONS + int(self.mask_bytes is not None)
        return 5 * self.elements + self.scores * per_score

    def peak_bytes(self, *, weights: str = "") -> Size:
        """Most bytes alive inside, the result included.

        Query, key and value exist twice while biases are added; then they live to the end. The
        scores go before the two [b, n, d] of the projection come, unless ``weights`` are asked
        for ("average" over the heads or "each" head).
        """
        state = self.elements * self.itemsize
        scores = self.scores * self.itemsize
        masked = 0 if self.mask_bytes is None else scores + self.mask_bytes
        candidates = [6 * state, 3 * state + scores + masked]
        if weights == "average":
            average = self.b * self.n * self.n * self.itemsize
            candidates.append(4 * state + scores + average)
        candidates.append(5 * state + scores if weights else 5 * state)
        return maximum(*candidates)


def _attention(call: Call, source: TensorSpec, heads: str, on: str) -> _Attention:
    b, n, d = source.shape
    h = call.args[heads]
    if isinstance(h, (bool, float, str, tuple, TensorSpec)) or h is None:
        raise DerivationError("the number of heads is unknown", operator=call.op)
    mask = call.tensor(on).numel if call.has(on) else None
    return _Attention(b, n, d, h, source.itemsize, mask)


def _cost(call: Call, attention: _Attention, matmul: Size, other: Size, scratch: Size) -> Cost:
    useful = None
    if call.kept is not None:
        useful = matmul - (attention.scores - call.kept) * attention.flop_per_score
    return Cost(
        kind="attention",
        flop_matmul=matmul,
        flop_other=other,
        flop_useful=useful,
        bytes_read=bytes_of(call, *_distinct(call)),
        bytes_written=written_bytes(call),
        scratch_bytes=scratch if call.backend == "cpu" else 0,
    )


def _distinct(call: Call) -> tuple[str, ...]:
    """Tensor arguments; key and value are the query itself on this path."""
    return tuple(name for name in call.args if name not in ("key", "value"))


@rule("aten._native_multi_head_attention")
def native_attention(call: Call) -> Cost:
    """``need_weights`` returns the weights too, averaged over heads unless told otherwise."""
    attention = _attention(call, call.tensor("query"), "num_head", "mask")
    weights = ""
    if call.args.get("need_weights", True):
        weights = "average" if call.args.get("average_attn_weights", True) else "each"
    scratch = attention.peak_bytes(weights=weights) - written_bytes(call)
    return _cost(call, attention, attention.flop_matmul, attention.flop_other, scratch)


@rule("aten._transformer_encoder_layer_fwd")
def encoder_layer(call: Call) -> Cost:
    """Attention, two normalisations, two residual sums, two products of the feed-forward part."""
    source = call.tensor("src")
    attention = _attention(call, source, "num_heads", "mask")
    rows = attention.b * attention.n
    f = call.tensor("ffn_weight_1").shape[0]
    activation = GELU_OPERATIONS["none"] if call.args["use_gelu"] else _RELU_OPERATIONS
    norm = attention.elements * (NORMALISE + 2) + rows * PER_ROW
    other = attention.flop_other + 2 * norm + 3 * attention.elements + rows * f * (1 + activation)
    matmul = attention.flop_matmul + 4 * attention.elements * f
    state = attention.elements * source.itemsize
    hidden = rows * f * source.itemsize
    if call.args["norm_first"]:
        inside = [state + attention.peak_bytes(), 3 * state + hidden]
    else:
        inside = [attention.peak_bytes(), 2 * state + hidden]
    return _cost(call, attention, matmul, other, maximum(*inside) - state)


@rule("aten._transform_bias_rescale_qkv")
def bias_and_rescale(call: Call) -> Cost:
    """Add the biases of query, key and value, scale the query, split the heads."""
    return Cost(
        kind="elementwise",
        flop_other=call.tensor("qkv").numel + call.outs[0].numel,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
    )
