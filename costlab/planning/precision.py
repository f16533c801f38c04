"""How many bits a number takes: weights, activations, KV, gradients, optimizer states apart.

A :class:`Format` counts what is stored beside the elements too: a scale and a zero point per
group, and the scales of the scales (NF4 with double quantisation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from costlab.errors import InputError, UnknownNameError
from costlab.i18n import _


@dataclass(frozen=True, slots=True)
class Format:
    """Bits of one element, and of the scale and zero point that ``group`` elements share.

    ``group`` 0 means that nothing is stored beside the elements (or one scale per tensor, which
    weighs nothing). ``scale_group`` scales share a further scale of ``scale_scale_bits``.
    ``kept`` is the share of elements stored, with ``index_bits`` per stored element to say which
    (2:4 sparsity keeps half of them at 2 bits each).
    """

    name: str
    bits: int
    group: int = 0
    scale_bits: int = 0
    zero_bits: int = 0
    scale_group: int = 0
    scale_scale_bits: int = 0
    kept: Fraction = Fraction(1)
    index_bits: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if self.bits < 1 or min(self.group, self.scale_bits, self.zero_bits, self.scale_group) < 0:
            raise InputError(
                _("a number format has at least one bit and no negative size"),
                given=f"{self.name}: {self.bits} bits, group {self.group}",
            )

    @property
    def overhead_bits(self) -> Fraction:
        """Bits per element for scales and zero points."""
        if not self.group:
            return Fraction(0)
        scale = Fraction(self.scale_bits)
        if self.scale_group:
            scale += Fraction(self.scale_scale_bits, self.scale_group)
        return (scale + self.zero_bits) / self.group

    @property
    def bits_per_element(self) -> Fraction:
        """All that is stored, per element of the tensor as used.

        >>> float(FORMATS["nf4-dq"].bits_per_element)
        4.126953125
        """
        return self.kept * (self.bits + self.index_bits) + self.overhead_bits

    def bytes(self, elements: int) -> Fraction:
        """Bytes of ``elements``, with their scales; exact, and not rounded to whole groups."""
        return self.bits_per_element * elements / 8


def _formats(*items: Format) -> Mapping[str, Format]:
    return {item.name: item for item in items}


_QLORA = "Dettmers et al. 2023, section 3: blocks of 64, constants of fp8 in blocks of 256"
FORMATS = _formats(
    Format("fp64", 64),
    Format("fp32", 32),
    Format("bf16", 16),
    Format("fp16", 16),
    Format("bf16+fp32", 48, source="gradients in bf16 and the fp32 sum they are added to"),
    Format("fp8", 8, source="Micikevicius et al. 2022: one scale per tensor"),
    Format("fp8-block128", 8, 128 * 128, 32,
           source="DeepSeek-V3 report, section 3.3: weights in blocks of 128 x 128"),
    Format("fp8-tile128", 8, 128, 32,
           source="DeepSeek-V3 report, section 3.3: activations in tiles of 1 x 128"),
    Format("int8", 8, source="LLM.int8: a scale per row, which weighs nothing"),
    Format("int4", 4, source="without scales"),
    Format("int4-g128", 4, 128, 16, source="symmetric, a 16-bit scale per 128"),
    Format("gptq-g128", 4, 128, 16, 4, source="GPTQ: a 16-bit scale and a 4-bit zero per 128"),
    Format("awq-g128", 4, 128, 16, 4, source="AWQ: a 16-bit scale and a 4-bit zero per 128"),
    Format("gptq3-g128", 3, 128, 16, 3, source="GPTQ at 3 bits"),
    Format("nf4", 4, 64, 32, source=_QLORA),
    Format("nf4-dq", 4, 64, 8, 0, 256, 32, source=_QLORA),
    Format("mxfp4", 4, 32, 8, source="OCP Microscaling 1.0: an 8-bit exponent per 32"),
    Format("mxfp8", 8, 32, 8, source="OCP Microscaling 1.0: an 8-bit exponent per 32"),
    Format("nvfp4", 4, 16, 8, source="NVFP4: an fp8 scale per 16, one fp32 per tensor"),
    Format("bf16-2:4", 16, kept=Fraction(1, 2), index_bits=2,
           source="Mishra et al. 2021: two of four kept, 2-bit indices"),
    Format("int8-2:4", 8, kept=Fraction(1, 2), index_bits=2,
           source="Mishra et al. 2021: two of four kept, 2-bit indices"),
    Format("adam8", 8, 2048, 32, source="Dettmers et al. 2022: blocks of 2048"),
)  # fmt: skip


def named(name: str) -> Format:
    """The format of that name, or ``"B"`` / ``"B:G"``: B bits, a 16-bit scale per G elements.

    Raises:
        UnknownNameError: if there is no such format; carries the nearest.
    """
    if name in FORMATS:
        return FORMATS[name]
    bits, _colon, group = name.partition(":")
    if bits.isdigit() and (not _colon or group.isdigit()):
        return Format(name, int(bits), int(group or 0), 16 if group else 0)
    raise UnknownNameError(_("number format"), name, FORMATS)


@dataclass(frozen=True, slots=True)
class Precision:
    """Formats of everything a model holds.

    ``weights`` are those the products read; ``master`` a second copy that the optimizer updates
    (None if it updates the weights themselves); ``states`` one format per optimizer state.
    ``reduced`` is what gradients travel in between ranks, ``gathered`` weights (None: as held).
    """

    name: str
    weights: Format
    activations: Format
    kv: Format
    gradients: Format
    master: Format | None
    states: tuple[Format, ...]
    reduced: Format | None = None
    gathered: Format | None = None

    @property
    def optimizer_bits(self) -> Fraction:
        """Bits per parameter of the optimizer: its states and the master copy."""
        kept = self.states if self.master is None else (*self.states, self.master)
        return sum((item.bits_per_element for item in kept), Fraction(0))

    @property
    def state_bits(self) -> Fraction:
        """Bits per trained parameter: weights, gradients, optimizer (ZeRO's 16 bytes)."""
        return self.weights.bits_per_element + self.gradients.bits_per_element + self.optimizer_bits


def _adam(name: str, low: str, gradients: str, master: bool) -> Precision:
    fp32, small = FORMATS["fp32"], FORMATS[low]
    return Precision(
        name, small, small, small, FORMATS[gradients], fp32 if master else None, (fp32, fp32),
        FORMATS[gradients],
    )  # fmt: skip


_BF16, _FP32 = FORMATS["bf16"], FORMATS["fp32"]
PRECISIONS: Mapping[str, Precision] = {
    "mixed": _adam("mixed", "bf16", "bf16", True),
    "mixed-fp16": _adam("mixed-fp16", "fp16", "fp16", True),
    "mixed-fp32-grads": _adam("mixed-fp32-grads", "bf16", "fp32", True),
    "mixed-both-grads": _adam("mixed-both-grads", "bf16", "bf16+fp32", True),
    "fp32": _adam("fp32", "fp32", "fp32", False),
    "bf16": Precision("bf16", _BF16, _BF16, _BF16, _BF16, None, (_BF16, _BF16), _BF16),
    "mixed-adam8": Precision(
        "mixed-adam8", _BF16, _BF16, _BF16, _BF16, _FP32, (FORMATS["adam8"],) * 2, _BF16
    ),
    "mixed-sgd": Precision("mixed-sgd", _BF16, _BF16, _BF16, _BF16, _FP32, (), _BF16),
}


def precision(name: str) -> Precision:
    """The precision of that name: "mixed" is 2 + 2 + 12 bytes a parameter with Adam.

    Raises:
        UnknownNameError: if there is no such precision; carries the nearest.
    """
    if name not in PRECISIONS:
        raise UnknownNameError(_("precision"), name, PRECISIONS)
    return PRECISIONS[name]
