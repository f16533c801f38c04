"""What techniques keep and compute, against torch's own hooks and counters and the papers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from costlab.arch import (
    flash_attention,
    full_attention,
    gpt_block,
    mixed_precision,
    registry,
    sparse_linear,
    structured_pruning,
)
from costlab.formulas.store import load
from costlab.ops.group_scales import dequantise, quantise

SIZES = {"b": 2, "n": 7, "d": 12, "h": 3, "f": 20}


def _kept(module: nn.Module, x: Tensor) -> int:
    """Bytes of the storages that autograd packs, parameters left out."""
    own = {p.untyped_storage().data_ptr() for p in module.parameters()}
    found: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = module(x.requires_grad_())
    del y
    return sum(found.values())


def _trained_flop(module: nn.Module, x: Tensor) -> int:
    # Torch does not count its fused attention on a CPU.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(x.requires_grad_()).sum().backward()
    return int(counter.get_total_flops())


def _saved(name: str, sizes: dict[str, int], dtype: str = "float32") -> int:
    return int(load(name, "train", dtype).evaluate("saved_bytes", **sizes)["saved_bytes"])


@pytest.mark.parametrize("layers", [1, 3, 9])
def test_a_checkpointed_stack_keeps_one_tensor_a_block(layers: int) -> None:
    sizes = {**SIZES, "L": layers}
    module, (x,) = registry.load("activation_checkpointing").build(**sizes)
    assert _kept(module, x) == _saved("activation_checkpointing", sizes) + x.nbytes
    assert _kept(module, x) == layers * x.nbytes


def test_a_checkpointed_step_is_four_passes_less_each_blocks_last_product() -> None:
    sizes = {**SIZES, "L": 3}
    plain, again = (
        _trained_flop(*_first(registry.load(name).build(**sizes)))
        for name in ("gpt_block", "activation_checkpointing")
    )
    assert again == plain * 4 / 3 - 3 * 2 * 2 * 7 * 12 * 20


def _first(made: tuple[nn.Module, tuple[Tensor, ...]]) -> tuple[nn.Module, Tensor]:
    return made[0], made[1][0]


class _Plain(gpt_block.Block):
    """The block of selective checkpointing with nothing computed again."""

    def __init__(self, config: gpt_block.Config) -> None:
        super().__init__(config)
        heads = full_attention.Config(config.d, config.h, causal=True, bias=True)
        self.attention = full_attention.FullAttention(heads)  # type: ignore[assignment]


def test_a_selective_block_leaves_out_the_scores_alone() -> None:
    module, (x,) = registry.load("selective_checkpointing").build(**SIZES)
    plain = _Plain(gpt_block.Config(12, 3, 20))
    b, n, h = 2, 7, 3
    # The core's output is kept as the next product's operand, the scaled queries are not.
    core = 4 * b * h * n * n + n * n + 4 * b * n * 12 - 4 * b * n * 12
    assert _kept(module, x) == _saved("selective_checkpointing", SIZES)
    assert _kept(plain, x) - _kept(module, x) == core
    assert _trained_flop(module, x) - _trained_flop(plain, x) == 2 * b * n * n * 12


def test_what_a_selective_block_of_gpt_3_keeps_is_the_papers_but_for_dropout() -> None:
    """s b h (34 + 5 a s/h) is 2,868,903,936 bytes at s = 2048, a = 96, h = 12288; less the core."""
    sizes = {"b": 1, "n": 2048, "d": 12288, "h": 96, "f": 4 * 12288}
    paper = 2_868_903_936 - 5 * 96 * 2048**2
    masks, statistics = 2 * 2048 * 12288, 8 * 2048
    found = _saved("selective_checkpointing", sizes, "bfloat16")
    assert found == paper - masks + statistics


def test_reversible_blocks_keep_the_ends_and_run_once_more() -> None:
    """Four passes; the fused core's backward pass computes its scores again, 2 b n**2 d."""
    found = []
    for layers in (2, 7):
        sizes = {**SIZES, "L": layers}
        module, (x,) = registry.load("reversible").build(**sizes)
        found.append(_saved("reversible", sizes))
        assert _kept(module, x) == found[-1]
        with torch.device("meta"):
            module, inputs = registry.load("reversible").build(**sizes)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(*inputs)
        flop = load("reversible", "train").evaluate("flop_matmul", **sizes)["flop_matmul"]
        assert flop == 4 * counter.get_total_flops() + layers * 2 * 2 * 7**2 * 12
    assert found == [2 * x.nbytes] * 2


def test_an_adapted_step_has_no_gradient_of_the_frozen_matrix() -> None:
    """r = 16 on queries and values of width 4096 trains 262,144 numbers (Hu et al. 2021)."""
    b, n, d, f, r = 2, 7, 12, 20, 3
    module, (x,) = registry.load("lora").build(b=b, n=n, d=d, f=f, r=r)
    assert _trained_flop(module, x) == 2 * b * n * (2 * d * f + 3 * r * (d + f))
    with torch.device("meta"):
        wide, _ = registry.load("lora").build(b=1, n=1, d=4096, f=4096, r=16)
    assert 2 * sum(p.numel() for p in wide.parameters() if p.requires_grad) == 262_144


def test_four_bits_with_scales_take_the_bits_they_should() -> None:
    """8 and 4 bits a weight and a scale of 16 for 128: 32/4.125 = 7.76 times less than float32."""
    sizes = {"b": 1, "n": 1, "d": 256, "f": 3, "u": 128}
    for four, bits in ((False, 8), (True, 4)):
        module, _ = registry.load("quantised_linear").build(**sizes, four=four)
        module.bfloat16()
        held = sum(buffer.nbytes for buffer in module.buffers())
        assert held * 8 == 3 * 256 * bits + 3 * 2 * 16


@pytest.mark.parametrize("bits", [8, 4])
def test_quantised_weights_are_within_half_a_step_of_the_weights(bits: int) -> None:
    weight = torch.randn(5, 12, dtype=torch.float64)
    stored, scales = quantise(weight, 4, bits)
    error = (dequantise(stored, scales) - weight).abs().view(5, 3, 4)
    assert (error <= scales[..., None] / 2 + 1e-12).all()
    assert stored.shape == (5, 12 if bits == 8 else 6)
    # The largest of each group is met exactly.
    assert (error.amin(-1) < 1e-12).all()


def test_accumulated_gradients_cost_the_same_flop_in_less_memory() -> None:
    sizes = {"n": 64, "d": 128, "h": 4, "f": 512, "V": 1000}
    found = load("gradient_accumulation", "train")
    whole, parts = (
        {q: int(found.evaluate(q, **sizes, a=a, b=b)[q]) for q in ("flop_matmul", "peak_bytes")}
        for a, b in ((1, 16), (16, 1))
    )
    assert parts["flop_matmul"] == whole["flop_matmul"]
    # All but an input, its gradients and the upstream one shrinks to a sixteenth.
    held = 8 * (4 * 128**2 + 2 * 128 * 512 + 9 * 128 + 512 + 1000 * 128) + 3 * 4 * 16 * 64 * 128
    assert parts["peak_bytes"] - held < (whole["peak_bytes"] - held) / 8


def test_mixed_precision_is_what_torchs_own_gives_where_both_use_16_bits() -> None:
    """torch.autocast keeps 32 bits between products, so they differ by 16 bits' rounding alone."""
    torch.manual_seed(0)
    block = mixed_precision.MixedBlock(mixed_precision.Config(12, 3, 20))
    x, upstream = torch.randn(2, 7, 12), torch.randn(2, 7, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        theirs = block.block(x)
    wanted = torch.autograd.grad(theirs.float(), list(block.parameters()), upstream)
    ours = block(x)
    got = torch.autograd.grad(ours, list(block.parameters()), upstream)
    assert ours.dtype == torch.float32
    assert {g.dtype for g in got} == {torch.float32}
    torch.testing.assert_close(ours, theirs.float(), rtol=0, atol=2**-5)
    mine, other = (torch.cat([g.flatten() for g in part]) for part in (got, wanted))
    assert (mine - other).norm() < 2**-6 * other.norm()


def test_mixed_precision_keeps_the_activations_of_16_bits_and_a_copy_of_the_weights() -> None:
    module, (x,) = registry.load("mixed_precision").build(**SIZES)
    plain, _ = registry.load("gpt_block").build(**SIZES)
    short = plain.bfloat16()
    weights = sum(p.numel() for p in module.parameters())
    # Torch's norms and products read copies in backward, except the biases, which only add.
    biases = sum(p.numel() for name, p in plain.named_parameters() if name.endswith("bias"))
    norms = 2 * 12
    found = _saved("mixed_precision", SIZES)
    assert found == _kept(module, x)
    copies = 2 * (weights - biases + norms)
    assert found == _kept(short, x.detach().bfloat16()) + copies


def test_a_distilling_step_is_two_flop_a_weight_of_the_teacher_and_six_of_the_student() -> None:
    sizes = {**SIZES, "V": 11, "L": 3}
    module, (x, targets) = registry.load("distillation").build(**sizes)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(x.requires_grad_(), targets).backward()
    b, n, d, f = 2, 7, 12, 20
    one = b * n * (8 * d**2 + 4 * d * f + 4 * n * d)
    head = 2 * b * n * d * 11
    assert counter.get_total_flops() == 3 * one + head + 3 * (one + head)
    flop = load("distillation", "train").evaluate("flop_matmul", **sizes)["flop_matmul"]
    # The fused core's backward pass computes its scores again.
    assert flop == counter.get_total_flops() + 2 * b * n**2 * d
    assert all(p.grad is None for p in module.teacher.parameters())  # type: ignore[union-attr]
    assert all(p.grad is not None for p in module.student.parameters())  # type: ignore[union-attr]


def test_distilling_is_what_torchs_divergence_gives_but_for_the_teachers_entropy() -> None:
    module, (x, targets) = registry.load("distillation").build(**SIZES, V=11, L=2)
    heat = 2.0
    with torch.no_grad():
        taught = module.teacher_head(module.teacher(x)) / heat  # type: ignore[operator]
        own = module.student_head(module.student(x))  # type: ignore[operator]
        apart = nn.functional.kl_div(
            (own / heat).log_softmax(-1), taught.log_softmax(-1), log_target=True, reduction="sum"
        )
        entropy = torch.distributions.Categorical(logits=taught).entropy().sum()
        hard = nn.functional.cross_entropy(own.flatten(0, 1), targets.flatten())
        torch.testing.assert_close(module(x, targets), hard + heat**2 * (apart + entropy) / 14)


def test_a_pruned_block_is_the_whole_one_with_those_heads_and_units_silent() -> None:
    torch.manual_seed(0)
    whole = gpt_block.Block(gpt_block.Config(12, 4, 20)).double()
    heads, units = [0, 3], [1, 2, 5, 7, 11, 19]
    pruned = structured_pruning.prune(whole, heads, units).double()
    x = torch.randn(2, 7, 12, dtype=torch.float64)
    with torch.no_grad():
        for head in (1, 2):
            whole.attention.o.weight[:, 3 * head : 3 * head + 3] = 0
        for unit in set(range(20)) - set(units):
            whole.feed_forward.down.weight[:, unit] = 0
        torch.testing.assert_close(pruned(x), whole(x), rtol=0, atol=1e-12)
    assert isinstance(whole.attention, flash_attention.FlashAttention)


def test_two_of_every_four_weights_are_left_in_nine_sixteenths_of_the_bytes() -> None:
    weight = torch.randn(5, 16, dtype=torch.bfloat16)
    values, places = sparse_linear.compress(weight)
    assert 16 * (values.nbytes + places.nbytes) == 9 * weight.nbytes
    matrix = sparse_linear.write_out(values, places)
    for row, left in zip(weight.tolist(), matrix.tolist(), strict=True):
        for at in range(0, 16, 4):
            four, two = row[at : at + 4], left[at : at + 4]
            largest = sorted(range(4), key=lambda i: -abs(four[i]))[:2]
            assert two == [v if i in largest else 0 for i, v in enumerate(four)]


def test_the_gradient_of_what_is_left_is_that_of_the_dense_matrix() -> None:
    module, (x,) = registry.load("sparse_linear").build(b=2, n=7, d=16, f=5)
    values = module.values
    assert isinstance(values, Tensor)
    dense = sparse_linear.write_out(values.detach(), module.places).requires_grad_()  # type: ignore[arg-type]
    upstream = torch.randn(2, 7, 5)
    (ours,) = torch.autograd.grad(module(x), values, upstream)
    (theirs,) = torch.autograd.grad(x @ dense.t(), dense, upstream)
    torch.testing.assert_close(ours.flatten(), theirs[dense != 0])
