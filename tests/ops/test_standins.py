"""Stand-ins for CUDA's operators: the CPU's numbers, one operator each way, CUDA's outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from costlab.ops.cuda_attention import attention_kernel
from costlab.ops.standins import CudaStandins


class Operators(TorchDispatchMode):
    """Names of the operators of our namespace that were called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(func).startswith("costlab."):
            self.names.append(str(func).split(".")[1])
        return func(*args, **(kwargs or {}))


def heads(b: int, h: int, n: int, k: int, dtype: torch.dtype) -> Tensor:
    """[b, h, n, k] as a projection leaves it: [b, n, h, k] in memory."""
    x = torch.randn(b, n, h, k).to(dtype).transpose(1, 2)
    return x.detach().requires_grad_()


def gradients(
    run: Callable[..., Tensor], inputs: list[Tensor], grad: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    out = run(*inputs)
    return out, torch.autograd.grad(out, inputs, grad.to(out.dtype))


MASKS = {
    "none": lambda n, m: None,
    "bool": lambda n, m: torch.rand(n, m) > 0.3,
    "float": lambda n, m: torch.randn(n, m),
}


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-5), (torch.bfloat16, 3e-2), (torch.float16, 4e-3)],
)
@pytest.mark.parametrize(
    ("sizes", "is_causal", "mask"),
    [
        ((2, 3, 3, 7, 7, 8), False, "none"),
        ((2, 3, 3, 7, 7, 8), True, "none"),
        ((1, 4, 2, 9, 9, 16), True, "none"),
        ((2, 2, 2, 5, 11, 24), True, "none"),
        ((2, 3, 3, 7, 13, 8), False, "bool"),
        ((2, 3, 3, 7, 13, 8), False, "float"),
    ],
)
def test_attention_gives_torchs_output_and_gradients(
    dtype: torch.dtype, tolerance: float, sizes: tuple[int, ...], is_causal: bool, mask: str
) -> None:
    b, h, g, n, m, k = sizes
    inputs = [heads(b, h, n, k, dtype), heads(b, g, m, k, dtype), heads(b, g, m, k, dtype)]
    attn_mask = MASKS[mask](n, m)
    grad = torch.randn(b, h, n, k)

    def attend(q: Tensor, key: Tensor, v: Tensor) -> Tensor:
        given = attn_mask
        if given is not None and given.dtype != torch.bool:
            given = given.to(q.dtype)
        return F.scaled_dot_product_attention(
            q, key, v, given, is_causal=is_causal, enable_gqa=h != g
        )

    exact = [x.detach().float().requires_grad_() for x in inputs]
    expected, expected_grads = gradients(attend, exact, grad)
    seen = Operators()
    with seen, CudaStandins():
        out, grads = gradients(attend, inputs, grad)
    torch.testing.assert_close(out.float(), expected, atol=tolerance, rtol=tolerance)
    for got, want in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(got.float(), want, atol=2 * tolerance, rtol=2 * tolerance)
    q, key, v = inputs
    kernel = attention_kernel(q, key, v, attn_mask, is_causal)
    names = [] if kernel == "math" else [f"cuda_{kernel}_attention{s}" for s in ("", "_backward")]
    assert seen.names == names


def test_learned_bias_gets_its_gradient() -> None:
    inputs = [heads(2, 3, 7, 8, torch.float32) for _ in range(3)]
    inputs.append(torch.randn(3, 7, 7, requires_grad=True))

    def attend(q: Tensor, key: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, key, v, bias)

    grad = torch.randn(2, 3, 7, 8)
    _, expected = gradients(attend, inputs, grad)
    with CudaStandins():
        _, got = gradients(attend, inputs, grad)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_row_that_keeps_nothing_is_zero() -> None:
    q, key, v = (heads(1, 2, 3, 8, torch.float32) for _ in range(3))
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    with CudaStandins():
        out = F.scaled_dot_product_attention(q, key, v, mask)
        grads = torch.autograd.grad(out.sum(), (q, key, v))
    assert out[:, :, 1].abs().max() == 0
    assert all(torch.isfinite(g).all() for g in grads)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_drops_the_same_weights_backward_as_forward(dtype: torch.dtype) -> None:
    q, key, v = (heads(1, 2, 40, 8, dtype) for _ in range(3))
    with CudaStandins():
        out = F.scaled_dot_product_attention(q, key, v, dropout_p=0.4)
        plain = F.scaled_dot_product_attention(q, key, v)
    (grad_v,) = torch.autograd.grad(out, v, out.detach())
    # The output is linear in v, so <dL/dv, v> = <dL/dout, out> if both used one mask.
    left, right = (grad_v.double() * v).sum().item(), (out.double() ** 2).sum().item()
    assert left == pytest.approx(right, rel=2e-2)
    assert not torch.allclose(out, plain, atol=1e-2)


@pytest.mark.parametrize(
    ("dtype", "shapes", "masked", "is_causal", "kernel"),
    [
        (torch.bfloat16, ((2, 4, 8, 64),) * 3, False, True, "flash"),
        (torch.float16, ((2, 4, 8, 64), (2, 2, 8, 64), (2, 2, 8, 64)), False, True, "flash"),
        (torch.float16, ((2, 4, 8, 64), (2, 4, 9, 64), (2, 4, 9, 64)), False, True, "efficient"),
        (torch.float16, ((2, 4, 8, 512),) * 3, False, False, "efficient"),
        (torch.bfloat16, ((2, 4, 8, 64),) * 3, True, False, "efficient"),
        (torch.float32, ((2, 4, 8, 64),) * 3, False, True, "efficient"),
        (torch.bfloat16, ((2, 4, 8, 48), (2, 4, 8, 48), (2, 4, 8, 32)), False, False, "efficient"),
        (torch.float32, ((2, 4, 8, 64), (2, 2, 8, 64), (2, 2, 8, 64)), False, False, "math"),
        (torch.float64, ((2, 4, 8, 64),) * 3, False, False, "math"),
        (torch.float32, ((4, 8, 64),) * 3, False, False, "math"),
    ],
)
def test_kernel_choice(
    dtype: torch.dtype, shapes: tuple[Any, ...], masked: bool, is_causal: bool, kernel: str
) -> None:
    q, key, v = (torch.empty(shape, dtype=dtype, device="meta") for shape in shapes)
    mask = torch.ones(8, 8, dtype=torch.bool) if masked else None
    assert attention_kernel(q, key, v, mask, is_causal) == kernel


def test_outputs_are_those_of_cudas_operators() -> None:
    """Log-sum-exp and generator state as torch's meta functions give them."""
    q = torch.randn(2, 3, 7, 8)
    on_meta = q.to("meta", torch.float16)
    out, lse, *_, rng_state, unused, _ = torch.ops.aten._scaled_dot_product_flash_attention(
        on_meta, on_meta, on_meta
    )
    flash = torch.ops.costlab.cuda_flash_attention(q.half(), q.half(), q.half())
    for got, want in zip(flash, (out, lse, rng_state, unused), strict=True):
        assert (got.shape, got.stride(), got.nbytes) == (want.shape, want.stride(), want.nbytes)
    whole = torch.randn(2, 3, 32, 8)  # CUDA rounds up the positions of what it keeps
    on_meta = whole.to("meta", torch.float16)
    for kept in (True, False):
        want = torch.ops.aten._scaled_dot_product_efficient_attention(
            on_meta, on_meta, on_meta, None, kept
        )
        got = torch.ops.costlab.cuda_efficient_attention(whole, whole, whole, None, kept)
        assert [(t.shape, t.stride()) for t in got] == [(t.shape, t.stride()) for t in want]
    torch.testing.assert_close(
        flash[1], torch.logsumexp(q @ q.transpose(-2, -1) / 8**0.5, -1), atol=1e-2, rtol=1e-2
    )


RNNS = [
    (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    (nn.LSTM, {"bias": False}),
    (nn.GRU, {"num_layers": 2}),
    (nn.RNN, {"batch_first": True}),
    (nn.RNN, {"nonlinearity": "relu", "bidirectional": True}),
]


@pytest.mark.parametrize(("kind", "options"), RNNS)
def test_rnn_gives_torchs_output_and_gradients(kind: Any, options: dict[str, Any]) -> None:
    layer = kind(6, 5, **options)
    x = torch.randn(3, 7, 6, requires_grad=True)
    batch = 3 if layer.batch_first else 7
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    count = 2 if kind is nn.LSTM else 1
    states = [torch.randn(rows, batch, 5, requires_grad=True) for _ in range(count)]
    leaves = [x, *states, *layer.parameters()]

    def results() -> list[Tensor]:
        y, last = layer(x, tuple(states) if count == 2 else states[0])
        return [y, *(last if count == 2 else [last])]

    expected = results()
    weights = [torch.randn_like(t) for t in expected]
    expected_grads = torch.autograd.grad(expected, leaves, weights)
    seen = Operators()
    with seen, CudaStandins():
        got = results()
        grads = torch.autograd.grad(got, leaves, weights)
    assert seen.names == ["cuda_rnn", "cuda_rnn_backward"]
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(grads, expected_grads, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kind", "count"), [(nn.LSTMCell, 2), (nn.GRUCell, 1)])
def test_cell_gives_torchs_output_and_gradients(kind: Any, count: int, bias: bool) -> None:
    cell = kind(6, 5, bias=bias).double()
    x = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    states = [torch.randn(3, 5, dtype=torch.float64, requires_grad=True) for _ in range(count)]
    leaves = [x, *states, *cell.parameters()]

    def results() -> list[Tensor]:
        after = cell(x, tuple(states) if count == 2 else states[0])
        return [*after] if count == 2 else [after]

    expected = results()
    weights = [torch.randn_like(t) for t in expected]
    expected_grads = torch.autograd.grad(expected, leaves, weights)
    seen = Operators()
    with seen, CudaStandins():
        got = results()
        grads = torch.autograd.grad(got, leaves, weights)
    name = kind.__name__.lower().replace("cell", "_cell")
    assert seen.names == [f"cuda_{name}", f"cuda_{name}_backward"]
    torch.testing.assert_close(got, expected, atol=1e-13, rtol=0)
    torch.testing.assert_close(grads, expected_grads, atol=1e-13, rtol=0)


def test_rnn_lies_in_memory_as_cudnn_writes_it() -> None:
    layer = nn.GRU(6, 5, batch_first=True)
    with CudaStandins(), torch.no_grad():
        y, _ = layer(torch.randn(3, 7, 6))
    assert y.transpose(0, 1).is_contiguous()


def test_rnn_keeps_a_reserve_only_in_training() -> None:
    weights = [p.detach() for p in nn.GRU(6, 5).parameters()]
    sizes = []
    for train in (True, False):
        *_, reserve = torch.ops.costlab.cuda_rnn(
            torch.randn(7, 3, 6), weights, torch.zeros(1, 3, 5), None, 3, 1, True, False, 0.0,
            train, False,
        )  # fmt: skip
        sizes.append(reserve.nbytes)
    assert sizes == [5 * 7 * 3 * 5 * 4, 0]


def test_rnn_dropout_is_the_same_backward_as_forward() -> None:
    layer = nn.GRU(4, 6, num_layers=2, dropout=0.5).double()
    x = torch.randn(5, 2, 4, dtype=torch.float64, requires_grad=True)
    direction = torch.randn_like(x)

    def loss(shift: float) -> Tensor:
        torch.manual_seed(3)
        with CudaStandins():
            y: Tensor = layer(x + shift * direction)[0]
        return y.sum()

    (grad,) = torch.autograd.grad(loss(0.0), x)
    step = 1e-5
    slope = (loss(step) - loss(-step)).item() / (2 * step)
    assert (grad * direction).sum().item() == pytest.approx(slope, rel=1e-6)


def test_packed_sequences_run_as_before() -> None:
    layer = nn.LSTM(6, 5)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(7, 2, 6), torch.tensor([7, 4]))
    expected, _ = layer(packed)
    with CudaStandins():
        got, _ = layer(packed)
    assert torch.equal(got.data, expected.data)


def test_multihead_attention_module_uses_the_fused_operator() -> None:
    layer = nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.randn(2, 5, 16)
    expected, _ = layer(x, x, x, need_weights=False)
    seen = Operators()
    with seen, CudaStandins():
        out, _ = layer(x, x, x, need_weights=False)
    assert seen.names == ["cuda_efficient_attention"]
    torch.testing.assert_close(out, expected, atol=1e-5, rtol=1e-5)


def test_everything_is_back_in_place_after_an_error() -> None:
    real = F.scaled_dot_product_attention
    changed = []

    def fail() -> None:
        with CudaStandins():
            changed.append(F.scaled_dot_product_attention is not real)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert changed == [True]
    assert F.scaled_dot_product_attention is real
