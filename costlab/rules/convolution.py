"""Convolutions of any rank, forward and backward.

FLOP are ``2 * b * points * weights``, with the points of the output (of the input where
transposed), padding included, as torch counts them; the two gradients cost as much each. Torch's
counter multiplies the weight gradient by ``groups``, which is work nobody does; it is left out.

Scratch on the CPU is that of oneDNN in float32 (AVX2: channels in blocks of 8): input, weight and
result in blocked layout, and the result a second time. Exact for layers of 8 channels and more per
group and for depthwise layers; an estimate for others. Small inputs go to torch's own kernel,
which writes out the columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from costlab.algebra import Size, at_least, ceil_div, maximum, product, symbol, total
from costlab.errors import DerivationError
from costlab.graph import Call, TensorSpec
from costlab.rules.base import Cost, bytes_of, read_bytes, rule, written_bytes
from costlab.rules.layout import copy_bytes
from costlab.rules.onednn import booked

BLOCK = 8  # channels in one AVX2 vector of float32 (AVX-512: 16)
_DEPTHWISE_PADDING = 4  # most that oneDNN's AVX2 depthwise kernel takes on the left
_DEPTHWISE_KERNEL = 3  # largest that it differentiates by the weight without falling back
_SEQUENCE_RANK = 3  # [b, c, n]
_TORCH_KERNEL_ELEMENTS = 20480  # a single sample of up to this size goes to torch's own kernel


@dataclass(frozen=True, slots=True)
class _Layer:
    """``x`` [b, c, ...], ``weight`` [o, c / groups, ...], ``y`` [b, o, ...] of one call."""

    x: TensorSpec
    weight: TensorSpec
    y: TensorSpec
    groups: Size
    biased: bool
    padding: tuple[Size, ...]
    plain: bool  # neither strided nor dilated
    dilated: bool
    transposed: bool

    @property
    def flop(self) -> Size:
        """Of the forward pass, and of each gradient."""
        points = product((self.x if self.transposed else self.y).shape[2:])
        return 2 * self.x.shape[0] * points * self.weight.numel

    @property
    def kernel(self) -> tuple[Size, ...]:
        return self.weight.shape[2:]

    @property
    def depthwise(self) -> bool:
        return self.groups != 1 and self.x.shape[1] == self.groups == self.y.shape[1]


def _sizes(call: Call, name: str) -> tuple[Size, ...]:
    value = call.args.get(name, ())
    if not isinstance(value, tuple):
        raise DerivationError(f"{name} must be a list", operator=call.op)
    return tuple(v for v in value if not isinstance(v, (str, float, tuple, TensorSpec)) and v)


def _layer(call: Call, x: TensorSpec, y: TensorSpec, biased: bool) -> _Layer:
    groups = call.args.get("groups", 1)
    if groups is None or isinstance(groups, (bool, float, str, tuple, TensorSpec)):
        raise DerivationError("the number of groups is unknown", operator=call.op)
    steps = (*_sizes(call, "stride"), *_sizes(call, "dilation"))
    return _Layer(
        x=x,
        weight=call.tensor("weight"),
        y=y,
        groups=groups,
        biased=biased,
        padding=_sizes(call, "padding"),
        plain=all(step == 1 for step in steps),
        dilated=any(step != 1 for step in _sizes(call, "dilation")),
        transposed=bool(call.args.get("transposed", False)),
    )


# -- scratch on the CPU -------------------------------------------------------------------------


def _blocked(channels: Size) -> Size:
    return BLOCK * ceil_div(channels, BLOCK)


def _activation(tensor: TensorSpec) -> Size:
    """Bytes of [b, c, ...] with channels in blocks."""
    b, channels, *points = tensor.shape
    return b * _blocked(channels) * product(points) * tensor.itemsize


def _weight(layer: _Layer) -> Size:
    """Bytes of the weight with both kinds of channels in blocks, per group."""
    inner, outer = layer.weight.shape[1], layer.weight.shape[0]
    kernel = product(layer.kernel) * layer.weight.itemsize
    if layer.depthwise:
        return _blocked(outer) * kernel
    per_group = outer if layer.groups == 1 else ceil_div(outer, layer.groups)
    return layer.groups * _blocked(per_group) * _blocked(inner) * kernel


def _is_below_block(channels: Size) -> bool:
    return isinstance(channels, int) and channels < BLOCK


def _padded_bias(layer: _Layer) -> Size:
    """A copy of the bias where the channels do not fill their blocks."""
    channels = layer.y.shape[1]
    missing = _blocked(channels) - channels
    return at_least(missing, 1) * booked(_blocked(channels) * 4) if layer.biased else 0


def _forward_scratch(layer: _Layer) -> Size:
    """Reordered operands, then the blocked result beside the plain one."""
    y = _activation(layer.y)
    if layer.depthwise and any(_is_above(p, _DEPTHWISE_PADDING) for p in layer.padding):
        return layer.y.nbytes
    reordered = _weight(layer) + y + _padded_bias(layer)
    if layer.groups == 1 and _is_below_block(layer.x.shape[1]):
        kernel = product(layer.kernel) * layer.x.itemsize
        reordered = _blocked(layer.y.shape[1]) * layer.x.shape[1] * kernel + y
    else:
        reordered = reordered + _activation(layer.x)
    return maximum(reordered - layer.y.nbytes, y)


def _is_above(size: Size, limit: int) -> bool:
    return isinstance(size, int) and size > limit


def _backward_scratch(layer: _Layer, needed: tuple[bool, ...], left: Size) -> Size:
    """The input's gradient, then the weight's; ``left`` are the bytes of all gradients."""
    x, y, weight = _activation(layer.x), _activation(layer.y), _weight(layer)
    levels: list[Size] = [0]
    if needed[0]:
        levels += [y + weight + x, x + layer.x.nbytes]
    if needed[1]:
        bias = layer.y.shape[1] * 4 if layer.biased else 0
        reordered = x + y + _padded_bias(layer)
        if layer.depthwise:
            reordered = x + y if _has_small_kernel(layer) else 0
        before = layer.x.nbytes if needed[0] else 0
        levels.append(before + reordered + weight + bias)
    return maximum(*(level - left for level in levels), 0)


def _has_small_kernel(layer: _Layer) -> bool:
    """Whether oneDNN has a depthwise kernel of its own for the weight's gradient."""
    sizes = all(isinstance(size, int) and size <= _DEPTHWISE_KERNEL for size in layer.kernel)
    return sizes and not layer.dilated and not any(_is_above(p, 1) for p in layer.padding)


def _copies(call: Call, *names: str) -> Size:
    """Copies of sequences that are not contiguous (of images some layouts are taken as is)."""
    tensors = [call.tensor(name) for name in names]
    return total(copy_bytes(t) for t in tensors if len(t.shape) == _SEQUENCE_RANK)


def _columns(layer: _Layer) -> Size:
    """Bytes of the columns that torch's own kernel multiplies; a kernel of 1 needs none."""
    if layer.plain and all(size == 1 for size in layer.kernel):
        return 0
    inner = layer.weight.shape[1] * product(layer.kernel)
    return layer.y.shape[0] * inner * product(layer.y.shape[2:]) * layer.x.itemsize


def _goes_to_onednn(layer: _Layer) -> Size:
    """1 if oneDNN runs it, else 0 (may depend on the number of threads)."""
    b, *sizes = layer.x.shape
    if layer.x.dtype != "float32":
        return 0
    chosen: Size = 1
    if layer.plain and all(size == 1 for size in layer.kernel):
        chosen = maximum(at_least(symbol("threads"), 2), at_least(b, 16))
    large_kernel = len(layer.kernel) > 1 and all(_is_above(k, 3) for k in layer.kernel[-2:])
    if layer.groups == 1 and b == 1 and not large_kernel:
        chosen = chosen * at_least(product(sizes), _TORCH_KERNEL_ELEMENTS + 1)
    return chosen


def _on_cpu(call: Call, layer: _Layer, onednn: Size, *inputs: str) -> Size:
    if call.backend != "cpu":
        return 0
    chosen = _goes_to_onednn(layer)
    return chosen * onednn + (1 - chosen) * _columns(layer) + _copies(call, *inputs)


# -- rules ----------------------------------------------------------------------------------------


@rule(
    "aten.convolution", "aten._convolution", "aten.convolution_overrideable",
    "aten.mkldnn_convolution", "aten.cudnn_convolution",
)  # fmt: skip
def convolution(call: Call) -> Cost:
    name = "self" if call.has("self") else "input"
    layer = _layer(call, call.tensor(name), call.outs[0], call.has("bias"))
    return Cost(
        kind="convolution",
        flop_matmul=layer.flop,
        flop_other=layer.y.numel if layer.biased else 0,
        bytes_read=read_bytes(call),
        bytes_written=written_bytes(call),
        scratch_bytes=_on_cpu(call, layer, _forward_scratch(layer), name),
    )


@rule("aten.convolution_backward")
def convolution_backward(call: Call) -> Cost:
    """Gradients of input, weight and bias, as far as ``output_mask`` asks for them."""
    mask, grad = call.args["output_mask"], call.tensor("grad_output")
    if not isinstance(mask, tuple):
        raise DerivationError("which gradients are needed is unknown", operator=call.op)
    needed = tuple(bool(item) for item in mask)
    layer = _layer(call, call.tensor("input"), grad, needed[2])
    left = total(out.nbytes for out in call.outs)
    onednn = _backward_scratch(layer, needed, left)
    scratch = _on_cpu(call, layer, onednn, "input", "grad_output")
    return Cost(
        kind="convolution",
        flop_matmul=layer.flop * sum(needed[:2]),
        flop_other=grad.numel if needed[2] else 0,
        bytes_read=sum(needed) * grad.nbytes + bytes_of(call, "input", "weight"),
        bytes_written=written_bytes(call),
        scratch_bytes=scratch,
        launches=max(1, sum(needed)),
    )
