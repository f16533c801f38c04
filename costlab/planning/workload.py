"""What a training step of a model consists of at one sequence length, as a few numbers.

Everything is for one sequence and one layer unless said otherwise, so that thousands of plans are
priced by array arithmetic. Each number is a sum of derived formulas over the model's parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd, prod

from costlab.planning.memory import layer_saved
from costlab.planning.model import ModelConfig, Part, part
from costlab.planning.parallel import Recompute
from costlab.planning.totals import kv_elements, parameters, value

_CORES = frozenset({"attention_core", "cross_attention_core", "latent_core", "state_space",
                    "written_attention_core"})  # fmt: skip
_INSIDE, _WHOLE = frozenset({"row"}), frozenset({"whole", "column"})
_ALL = _INSIDE | _WHOLE
_ELEMENT = 2  # bytes of a weight or activation as trained
_LOGIT = 4.0  # bytes of a logit in the loss, which is computed in float32


@dataclass(frozen=True, slots=True)
class Workload:
    """A model at a sequence length n.

    Attributes:
        layers: how many there are; where they differ, their mean is one layer.
        traffic_width: width of a layer of GPT that moves as many bytes outside products and
            attention; the width itself where layers attend.
        divisor: degrees of tensor parallelism divide it: the common divisor of heads and inner
            widths; 1 where the layers cannot be divided.
        attends: whether every layer attends, so that ranks can share a sequence block by block.
        product_flop: matrix products with weights, forward, one layer, a sequence.
        whole_flop: those among them that tensor parallelism does not divide.
        core_flop: what mixes positions (attention's two products), forward, dense.
        useful_core_flop: the pairs of it that the mask keeps.
        head_flop: the products of the output layer, forward, a sequence.
        scores: elements of the n x n matrices of a layer, where they are stored at all.
        score_bytes: what backward keeps of them, where they are stored.
        kv_bytes: keys and values of a sequence, which context parallelism passes on.
        layer_parameters: of one layer, experts included.
        expert_parameters: those of routed experts among them.
        whole_parameters: those that tensor parallelism does not divide.
        end_parameters: embeddings and output layer.
        saved_bytes: kept of one layer for backward by recompute level
            (:data:`~costlab.planning.parallel.RECOMPUTE`), for tensor parallelism 1.
        whole_saved_bytes: part of ``saved_bytes`` that only sequence parallelism divides.
        copied_saved_bytes: part of ``saved_bytes`` that every rank keeps in full: keys and values
            of few heads, matrices that all channels of a state share.
        logit_bytes: what the output layer and the loss hold, for tensor parallelism 1.
        routes: experts that a token passes through.
        routed_flop: the products of routed experts among ``product_flop``.
        glue_bytes: moved in forward to bring tokens to their experts and back, and to put latent
            attention's heads together, one layer, a sequence.
        sequential_steps: operations of one layer that wait for each other beyond a few; n for a
            recurrent layer, which is what limits it.
        step_bytes: weights read again at each of these steps, one layer.
        pointwise_share: of the traffic outside products and attention, that of norms and
            activation functions.
        parts: all parts with how often they occur, for divisions that look at each tensor.
    """

    name: str
    length: int
    layers: int
    width: int
    traffic_width: float
    heads: int
    experts: int
    divisor: int
    attends: int
    product_flop: float
    whole_flop: float
    core_flop: float
    useful_core_flop: float
    head_flop: float
    scores: float
    score_bytes: float
    kv_bytes: float
    layer_parameters: float
    expert_parameters: float
    whole_parameters: float
    end_parameters: float
    saved_bytes: tuple[float, ...]
    whole_saved_bytes: tuple[float, ...]
    copied_saved_bytes: tuple[float, ...]
    logit_bytes: float
    routes: float = 0.0
    routed_flop: float = 0.0
    glue_bytes: float = 0.0
    sequential_steps: float = 0.0
    step_bytes: float = 0.0
    pointwise_share: float = 0.0
    parts: tuple[tuple[Part, int], ...] = ()

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


def workload(model: ModelConfig, length: int, *, source: int = 0) -> Workload:
    """The work of training ``model`` on sequences of ``length`` tokens.

    Args:
        source: tokens of the source of a model with an encoder; as many by default.
    """
    m = source or length
    depth = model.depth

    def mean(of: Callable[[Part, int, int], float]) -> float:
        """Of all layers: ``of`` gets a part, its positions and the length of its source."""
        total = 0.0
        for layer in model.layers:
            n, keys = (m, 0) if layer.stream == "source" else (length, m)
            total += layer.count * sum(of(item, n, keys) for item in layer.parts)
        return total / depth

    def products(item: Part, n: int, keys: int) -> float:
        return 0 if item.entry in _CORES else value(item, "flop_matmul", "forward", 1, n, keys)

    def core(quantity: str) -> Callable[[Part, int, int], float]:
        return lambda item, n, keys: (
            value(item, quantity, "forward", 1, n, keys) if item.entry in _CORES else 0
        )

    def saved(level: Recompute, places: frozenset[str], tp: int = 1) -> float:
        total = 0
        for layer in model.layers:
            n = m if layer.stream == "source" else length
            chosen = tuple(p for p in layer.parts if p.place in places)
            total += layer.count * layer_saved(chosen, 1, n, tp=tp, recompute=level)
        return total / depth

    def copied(level: Recompute) -> float:
        """Of ``c + k / t`` the c, from one rank and from t."""
        return (ranks * saved(level, _INSIDE, ranks) - saved(level, _INSIDE)) / (ranks - 1)

    divisor = _divisor(model)
    ranks = next((t for t in range(2, divisor + 1) if divisor % t == 0), 2)
    ends = (*model.before, *model.after)
    full = 1.0 * _ELEMENT * length * model.width
    return Workload(
        name=model.name,
        length=length,
        layers=depth,
        width=model.width,
        traffic_width=sum(layer.count * _traffic_width(layer.parts, model.width)
                          for layer in model.layers) / depth,
        heads=model.heads,
        experts=model.experts,
        divisor=divisor,
        attends=int(all(any(_scores(item, 1, 1) for item in layer.parts)
                        for layer in model.layers)),
        product_flop=mean(products),
        whole_flop=mean(lambda item, n, keys: 0 if item.split else products(item, n, keys)),
        core_flop=mean(core("flop_matmul")),
        useful_core_flop=mean(core("flop_useful")),
        head_flop=float(sum(value(item, "flop_matmul", "forward", 1, length) for item in ends)),
        scores=mean(_scores),
        score_bytes=mean(_score_bytes),
        kv_bytes=_ELEMENT * kv_elements(model, length, m=m) / depth,
        layer_parameters=mean(lambda item, _n, _m: parameters(item)),
        expert_parameters=mean(lambda item, _n, _m: parameters(item) if item.expert else 0),
        whole_parameters=mean(lambda item, _n, _m: 0 if item.split else parameters(item)),
        end_parameters=float(sum(parameters(item) for item in ends)),
        saved_bytes=(saved("none", _ALL), saved("selective", _ALL), full,
                     saved("pointwise", _ALL)),
        whole_saved_bytes=(saved("none", _WHOLE), saved("selective", _WHOLE), full,
                           saved("pointwise", _WHOLE)),
        copied_saved_bytes=(copied("none"), copied("selective"), 0.0, copied("pointwise")),
        logit_bytes=_LOGIT * length * model.vocabulary
        * any(item.name == "head" for item in model.after),
        routes=mean(lambda item, _n, _m: item.active if item.name == "experts.down" else 0),
        routed_flop=mean(lambda item, n, keys: products(item, n, keys) if item.expert else 0),
        glue_bytes=mean(lambda item, n, _m: n * _glue(item, model.width)),
        sequential_steps=mean(lambda item, n, _m: n if item.entry == "lstm" else 0),
        step_bytes=mean(_step_bytes),
        pointwise_share=_pointwise_share(model),
        parts=tuple((item, count) for item, count, _stream in model.parts()),
    )  # fmt: skip


def _scores(item: Part, n: int, keys: int) -> float:
    if item.entry not in _CORES or item.entry == "state_space":
        return 0.0
    seen = n
    if item.entry == "cross_attention_core":
        seen = min(item.window, n) if item.window else (keys or n)
    heads = prod(item.size[name] for name in item.split)
    return float(n * seen * heads)


def _score_bytes(item: Part, n: int, keys: int) -> float:
    """What the derived core with stored scores keeps of its n x n matrices."""
    written = Part("written_attention_core", (("h", 1), ("k", 1)))
    once, twice = (value(written, "saved_bytes", "train", 1, at) for at in (2, 4))
    return _scores(item, n, keys) * (twice - 2 * once) / 8


def _traffic_width(parts: tuple[Part, ...], width: int) -> float:
    """Norms count as fused, and a scan keeps its state on chip (Gu and Dao 2023, section 3.3.2)."""
    if any(_scores(item, 1, 1) for item in parts):
        return width
    moved = sum(_moved(item) for item in parts)
    usual = (*(part("layer_norm", d=width),) * 2, *(part("residual", d=width),) * 2,
             part("gelu", f=4 * width))  # fmt: skip
    return width * moved / sum(_moved(item) for item in usual)


def _pointwise_share(model: ModelConfig) -> float:
    items = [(layer.count, item) for layer in model.layers for item in layer.parts
             if item.entry not in _CORES]  # fmt: skip
    moved = [(item.entry, count * _moved(item)) for count, item in items]
    total = sum(size for _entry, size in moved)
    again = sum(size for entry, size in moved if entry != "residual")
    return again / total if total else 0.0


def _moved(item: Part) -> float:
    """Bytes of a token outside products: of the derived formula, what grows with the length."""
    if item.entry == "linear":
        return 0.0
    sizes = item.size | ({"s": 0} if item.entry == "state_space" else {})
    entry = "layer_norm" if item.entry == "rms_norm" else item.entry
    fused = replace(item, entry=entry, sizes=tuple(sorted(sizes.items())))
    return (value(fused, "bytes", "forward", 1, 8) - value(fused, "bytes", "forward", 1, 4)) / 4


def _glue(item: Part, width: int) -> float:
    """Bytes of a token, forward, that a dense layer with plain attention does not move.

    Copies of a token are gathered for its experts (read, written), and so are their results, which
    are then added (read). Heads of latent attention are put together from two parts each: what the
    derived core moves beyond reading queries, keys and values and writing its result.
    """
    if item.name == "experts.down":
        return 5.0 * _ELEMENT * item.active * width
    if item.entry == "latent_core":
        size = item.size
        plain = 2 * size["h"] * (size["k"] + size["r"]) + 2 * size["h"] * size["k"]
        return _moved(item) - _ELEMENT * plain
    return 0.0


def _step_bytes(item: Part, _n: int, _m: int) -> float:
    """A recurrent layer reads the half of its weights that meets the state at every step."""
    return _ELEMENT * parameters(item) / 2 if item.entry == "lstm" else 0.0


def _divisor(model: ModelConfig) -> int:
    found = 0
    for layer in model.layers:
        for item in layer.parts:
            if not item.split or "rows" in item.split or item.least > 1:
                continue  # heads of keys and values are copied where there are too few
            found = gcd(found, prod(item.size[name] for name in item.split))
    return found or 1
