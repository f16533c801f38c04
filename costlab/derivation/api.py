"""``costlab.derive``: formulas of an architecture or a user's module, checked against real runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from costlab.errors import InputError
from costlab.formulas.record import Derivation
from costlab.i18n import _

BACKENDS = ("cpu", "cuda", "math")


def derive(
    target: str | Callable[..., object],
    *,
    mode: str = "forward",
    dtype: str = "float32",
    backend: str = "cpu",
    sizes: Mapping[str, int] | None = None,
    options: Mapping[str, bool] | None = None,
    prove: bool = True,
) -> Derivation:
    """Derive closed forms of FLOP, bytes, memory, launches, steps and time.

    Args:
        target: an architecture's name, ``FILE.py:FACTORY``, ``hf:FILE.json`` or a factory.
        mode: "forward", "train", "prefill", "decode" or a step of an optimizer, apart:
            "optimizer" (Adam), "optimizer-sgd", "optimizer-momentum", "optimizer-adafactor",
            "optimizer-adam8".
        dtype: "float32", "bfloat16", "float16" or "float64".
        backend: whose kernels: "cpu", "cuda" or "math" (attention unfused).
        sizes: sizes to keep at a number instead of a symbol.
        options: flags of the architecture, such as ``{"causal": True}``.
        prove: try to prove the main class by a run with symbolic sizes, two seconds the first
            time; without it, or where it fails, formulas are "verified".

    Returns:
        A :class:`Derivation` with one class per operator sequence, each checked at held-out
        sizes.

    Raises:
        InputError: for an unknown target, mode, dtype or backend.
        ModuleError: if the module or its factory raises.
        DerivationError: if no closed form reproduces what the module does.
    """
    from costlab.sources.resolve import resolve

    if backend not in BACKENDS:
        raise InputError(_("unknown backend"), given=backend, allowed=", ".join(BACKENDS))
    source = resolve(target)
    from costlab.derivation.work import built_mode, derive_source

    source.factory(built_mode(mode))
    source.check(sizes or {})
    return derive_source(
        source, mode, dtype, backend, dict(sizes or {}), dict(options or {}), prove
    )
