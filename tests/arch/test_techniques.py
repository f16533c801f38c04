"""What techniques keep and compute, against torch's own hooks and counters and the papers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from costlab.arch import full_attention, gpt_block, registry
from costlab.formulas.store import load

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
