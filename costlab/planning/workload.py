"""What a training step of a model consists of at one sequence length, as a few numbers.

Everything is for one sequence and one layer unless said otherwise, so that thousands of plans are
priced by array arithmetic. The numbers come from the model's derived formulas.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workload:
    """A model at a sequence length n.

    Attributes:
        layers: equal layers; of a model with several kinds, their mean is one layer.
        product_flop: matrix products with weights, forward, one layer, a sequence.
        core_flop: what mixes positions (attention's two products), forward, dense.
        useful_core_flop: the pairs of it that the mask keeps.
        head_flop: the products of the output layer, forward, a sequence.
        scores: elements of the n x n matrices of a layer, where they are stored at all.
        layer_parameters: of one layer, experts included.
        expert_parameters: those of routed experts among them.
        whole_parameters: those that tensor parallelism does not divide.
        end_parameters: embeddings and output layer.
        saved_bytes: kept of one layer for backward by recompute level (none, selective, full),
            for tensor parallelism 1.
        whole_saved_bytes: part of ``saved_bytes`` that tensor parallelism alone does not divide.
        logit_bytes: what the output layer and the loss hold, for tensor parallelism 1.
        routes: experts that a token passes through.
        sequential_steps: operations of one layer that wait for each other beyond a few; n for a
            recurrent layer, which is what limits it.
        step_bytes: weights read again at each of these steps, one layer.
    """

    name: str
    length: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    experts: int
    product_flop: float
    core_flop: float
    useful_core_flop: float
    head_flop: float
    scores: float
    layer_parameters: float
    expert_parameters: float
    whole_parameters: float
    end_parameters: float
    saved_bytes: tuple[float, float, float]
    whole_saved_bytes: tuple[float, float, float]
    logit_bytes: float
    routes: int = 0
    sequential_steps: int = 0
    step_bytes: float = 0.0

    @property
    def parameters(self) -> float:
        """All parameters of the model."""
        return self.layers * self.layer_parameters + self.end_parameters

    @property
    def model_flop(self) -> float:
        """Forward and backward of a sequence without recomputation, 3 times the forward.

        Attention counts all pairs, as PaLM's MFU (appendix B) and Megatron's formula do.
        """
        forward = self.layers * (self.product_flop + self.core_flop) + self.head_flop
        return 3 * forward


def transformer_workload(
    name: str,
    length: int,
    *,
    layers: int,
    width: int,
    heads: int,
    vocabulary: int,
    kv_heads: int = 0,
    head_size: int = 0,
    inner: int = 0,
    gated: bool = False,
    tied: bool = True,
    positions: int = 0,
    biases: bool = True,
) -> Workload:
    """A dense decoder by its sizes, for published runs that give no more than these.

    Saved bytes are those of Korthikanti et al. 2022, section 4: per token and width 34 bytes, or
    2 where the layer is computed again, and 5 per stored score.
    """
    kv = kv_heads or heads
    size = head_size or width // heads
    inner = inner or 4 * width
    matrices = width * size * (2 * heads + 2 * kv) + (3 if gated else 2) * width * inner
    small = 4 * width + (width * 4 + inner + 2 * kv * size if biases else 0)
    pairs = length * length
    return Workload(
        name=name,
        length=length,
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=kv,
        experts=0,
        product_flop=2.0 * length * matrices,
        core_flop=4.0 * pairs * heads * size,
        useful_core_flop=2.0 * length * (length + 1) * heads * size,
        head_flop=2.0 * length * width * vocabulary,
        scores=float(heads * pairs),
        layer_parameters=float(matrices + small),
        expert_parameters=0.0,
        whole_parameters=float(4 * width),
        end_parameters=float(vocabulary * width * (1 if tied else 2) + positions * width),
        saved_bytes=(34.0 * length * width, 34.0 * length * width, 2.0 * length * width),
        whole_saved_bytes=(10.0 * length * width, 10.0 * length * width, 2.0 * length * width),
        logit_bytes=4.0 * length * vocabulary,
    )
