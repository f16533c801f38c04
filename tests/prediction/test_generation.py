"""A generation against its steps predicted one by one, and a stream against single steps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from costlab.arch import registry
from costlab.errors import InputError, SizeError
from costlab.formulas.store import load
from costlab.hardware.machine import Machine
from costlab.prediction import decode_steps
from costlab.prediction.api import predict
from costlab.prediction.generation import generate
from costlab.prediction.streaming import stream
from tests.prediction.machines import flat_machine

MACHINE = flat_machine(launch_s=3e-6, step_s=1e-6, spread={"": (0.5, 2.0)}, capacity_bytes=2**30)
COUNTS = ("flop", "flop_useful", "bytes", "launches", "steps")
DECODING = [name for name in registry.names() if "decode" in registry.spec(name).modes]


def _check(
    name: str,
    sizes: Mapping[str, int],
    prompt: int,
    new: int,
    flags: Mapping[str, bool],
    before: str = "",
) -> None:
    prefill, decode = load(before or name, "prefill"), load(name, "decode", options=flags)

    found = generate(prefill, decode, sizes, MACHINE, prompt=prompt, new=new)

    own = {k: v for k, v in sizes.items() if k in prefill.sizes}
    whole = predict(prefill, {**own, "n": prompt}, MACHINE, doubled=())
    own = {k: v for k, v in sizes.items() if k in decode.sizes}
    steps = [predict(decode, {**own, "n": prompt + i}, MACHINE, doubled=()) for i in range(new + 1)]
    after = steps.pop()
    for quantity in COUNTS:
        parts = [getattr(part, quantity) for part in (whole, *steps)]
        expected = None if None in parts else sum(parts)
        assert getattr(found.total, quantity) == expected, quantity
    assert found.total.peak_bytes == max(p.peak_bytes or 0 for p in (whole, *steps))
    assert found.total.state_bytes == after.state_bytes
    assert found.decode_s == pytest.approx(sum(step.time_s for step in steps), rel=1e-9)
    assert found.total.time_s == pytest.approx(whole.time_s + found.decode_s, rel=1e-12)
    for end in (0, 1):
        parts = [p.time_interval_s[end] or 0.0 for p in (whole, *steps)]
        assert found.total.time_interval_s[end] == pytest.approx(sum(parts), rel=1e-9)
    assert sum(found.total.shares.values()) == pytest.approx(found.total.time_s, rel=1e-9)
    assert found.tokens_per_s == pytest.approx(new * sizes.get("b", 1) / found.total.time_s)


@pytest.mark.parametrize("name", DECODING)
def test_every_generation_is_the_sum_of_its_steps(name: str) -> None:
    spec = registry.spec(name)
    sizes = {**spec.defaults, "b": 3}
    prompt = sizes.pop("n")
    _check(name, sizes, prompt, 5, {})


@pytest.mark.parametrize(
    ("name", "sizes", "prompt", "new", "flags"),
    [
        ("latent_attention", {"b": 1, "d": 96, "h": 4, "k": 8}, 11, 7, {"absorbed": True}),
        ("gpt_block", {"b": 1, "d": 24, "h": 2, "f": 40, "L": 5}, 1, 13, {}),
    ],
)
def test_flags_and_layers(
    name: str, sizes: dict[str, int], prompt: int, new: int, flags: dict[str, bool]
) -> None:
    _check(name, sizes, prompt, new, flags)


def test_a_text_of_many_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_steps, "_AT_ONCE", 8)
    _check("full_attention", {"b": 1, "d": 8, "h": 2}, 7, 37, {})


def test_a_window_that_fills_on_the_way() -> None:
    """Up to then each step is another program than after it."""
    sizes = {"b": 2, "d": 12, "h": 3, "w": 20}
    _check("sliding_window", sizes, 16, 9, {}, before="flash_attention")


def test_a_generation_of_attention_by_hand() -> None:
    """A step at context t does 8 d**2 + 4 (t + 1) d in products."""
    found = generate(
        load("full_attention", "prefill"), load("full_attention", "decode"), {"d": 16, "h": 2},
        flat_machine(flop_per_s=1.0, bytes_per_s=1e30), prompt=10, new=3,
    )  # fmt: skip
    context = 11 + 12 + 13
    assert found.decode_s == pytest.approx(3 * 8 * 16**2 + 4 * context * 16, rel=1e-2)
    assert found.total.state_bytes == 2 * 13 * 16 * 4


def test_bad_generations_are_refused() -> None:
    lstm = load("lstm", "prefill"), load("lstm", "decode")
    with pytest.raises(SizeError, match="that of its prompt"):
        generate(*lstm, {"n": 3}, MACHINE, prompt=3, new=1)
    for prompt, new in ((0, 1), (1, 0), (1, 2**20 + 1)):
        with pytest.raises(SizeError, match="at least one"):
            generate(*lstm, {}, MACHINE, prompt=prompt, new=new)


def _step_s(sizes: Mapping[str, int], n: int, machine: Machine) -> tuple[float, float, float]:
    found = predict(load("full_attention", "decode"), {**sizes, "n": n}, machine, doubled=())
    low, high = found.time_interval_s
    assert low is not None
    assert high is not None
    return found.time_s, low, high


def test_a_stream_falls_behind_where_a_step_first_takes_longer() -> None:
    sizes = {"b": 2, "d": 24, "h": 3}
    decode = load("full_attention", "decode")
    at = predict(decode, {**sizes, "n": 100}, MACHINE, doubled=())

    found = stream(decode, at, MACHINE, rate_per_s=50)

    assert found.keeps_up
    first, last = found.interval
    for end, part in ((found.falls_behind_from, 0), (last, 1), (first, 2)):
        assert end is not None
        assert _step_s(sizes, end - 1, MACHINE)[part] <= 0.02 < _step_s(sizes, end, MACHINE)[part]
    held = found.memory_ends_at
    assert held is not None
    for n, fits in ((held, True), (held + 1, False)):
        peak = predict(decode, {**sizes, "n": n}, MACHINE, doubled=()).peak_bytes or 0
        assert (peak <= 2**30) == fits


def test_a_recurrence_keeps_up_everywhere_or_nowhere() -> None:
    decode = load("gru", "decode")
    at = predict(decode, {"d": 64, "n": 9}, MACHINE, doubled=())

    assert stream(decode, at, MACHINE, 0.9 / at.time_s).falls_behind_from is None
    late = stream(decode, at, MACHINE, 1.1 / at.time_s)

    assert late.falls_behind_from == 1
    assert not late.keeps_up


def test_only_a_bound_is_never_certain_to_keep_up() -> None:
    decode = load("full_attention", "decode")
    at = predict(decode, {"d": 64, "n": 9}, "L4", doubled=())

    with pytest.raises(InputError, match="needs decode steps"):
        stream(load("full_attention"), at, MACHINE, 50)
    from costlab.hardware.catalogue import load_profile

    found = stream(decode, at, Machine.from_profile(load_profile("L4"), "float32"), 1000)
    assert found.interval[0] is None
    assert found.interval[1] == found.falls_behind_from
