"""Claims about full attention."""

from __future__ import annotations

from costlab.algebra import symbol
from costlab.claims.record import Facts, Found, claim
from costlab.formulas.order import order_in
from costlab.formulas.solve import largest
from costlab.formulas.structure import edges
from costlab.formulas.text import parse
from costlab.hardware.catalogue import load_profile
from costlab.i18n import _
from costlab.units import format_count

_VASWANI = "Vaswani et al. 2017, section 4, table 1"
b, n, d = symbol("b"), symbol("n"), symbol("d")


def _all_pairs(facts: Facts) -> bool:
    full, causal = facts.structure("full_attention"), facts.structure("full_attention", "causal")
    lengths = [len(pattern.rows) for pattern in full.patterns]
    return [edges(p.rows) for p in full.patterns] == [n**2 for n in lengths] and [
        edges(p.rows) for p in causal.patterns
    ] == [n * (n + 1) // 2 for n in lengths]


@claim(10, _("pairs: n(n - 1)/2 unordered, n² ordered, n(n + 1)/2 causal"), "measured")
def _pairs(facts: Facts) -> Found:
    shown = ", ".join(f"{n}: {format_count(n * (n - 1) // 2)}" for n in (4, 8, 1000))
    return Found(_all_pairs(facts), _("unordered {shown}; edges counted").format(shown=shown))


@claim(11, _("twice the length has four times the pairs"))
def _twice(facts: Facts) -> Found:
    core = facts.formula("full_attention", "flop_matmul", scope="core")
    return Found(core.subs({"n": 2 * n}) == 4 * core, _("core: {core} FLOP").format(core=core))


@claim(12, _("the core takes O(n² d), a recurrence O(n d²)"), source=_VASWANI)
def _core_work(facts: Facts) -> Found:
    ours = facts.order("full_attention", "flop_matmul", scope="core")
    rnn = facts.order("rnn", "flop_matmul")
    so = ours == parse("b*n**2*d") and rnn == parse("b*n*d**2")
    return Found(so, f"{ours}; {rnn}", _("the projections, 8 b n d², are left out"))


@claim(13, _("scores take O(n²) memory, a recurrence's activations O(n d)"))
def _memory(facts: Facts) -> Found:
    ours = facts.formula("full_attention", "saved_bytes", "train")
    rnn = facts.formula("rnn", "saved_bytes", "train")
    so = order_in(ours, "n") == (2, 0) and order_in(rnn, "n") == (1, 0)
    return Found(so, _("saved: {a}; {r}").format(a=ours, r=rnn))


@claim(14, _("attention's core beats an RNN only for n < d; with projections never, and an LSTM "
             "for n < 2d"))  # fmt: skip
def _against(facts: Facts) -> Found:
    core = facts.formula("full_attention", "flop_matmul", scope="core")
    whole, rnn, lstm = (
        facts.formula(name, "flop_matmul") for name in ("full_attention", "rnn", "lstm")
    )
    so = (
        core - rnn == 4 * b * n * d * (n - d)
        and whole - lstm == 4 * b * n * d * (n - 2 * d)
        and all(coefficient > 0 for _m, coefficient in whole - rnn)
    )
    shown = _("core - RNN = {a}; layer - LSTM = {c}").format(a=core - rnn, c=whole - lstm)
    return Found(so, shown)


@claim(15, _("any two positions are one layer apart, and training takes the same steps for "
             "every length"), "measured", _VASWANI)  # fmt: skip
def _path(facts: Facts) -> Found:
    found = facts.structure("full_attention")
    steps = facts.formula("full_attention", "steps", "train")
    so = (found.layers_law, found.chain_order) == ("1", "1") and "n" not in steps.symbols()
    return Found(so, _("path {law}, {steps} steps").format(law=found.layers_law, steps=steps))


@claim(16, _("training is parallel, generation is not"))
def _generation(facts: Facts) -> Found:
    train = facts.formula("full_attention", "steps", "train")
    step = facts.formula("full_attention", "steps", "decode")
    so = train.is_constant and step.is_constant and step.evaluate({}) >= 1
    return Found(so, _("training {t} steps, n new tokens {s} n").format(t=train, s=step))


@claim(17, _("while writing, memory is the price rather than arithmetic"), source="Shazeer 2019")
def _writing(facts: Facts) -> Found:
    flop, moved = (facts.formula("full_attention", q, "decode") for q in ("flop", "bytes"))
    at = {"b": 1, "n": 4096, "d": 4096, "h": 32, "k": 128}
    intensity = float(flop.evaluate(at) / moved.evaluate(at))
    condition = _("the machine does more than {i:.2g} FLOP per byte that it moves")
    shown = _("{i:.2g} FLOP per byte at n = d = 4096").format(i=intensity)
    return Found(intensity < 2, shown, condition.format(i=intensity))


@claim(18, _("an encoder sees all pairs, a decoder half of them"), "measured")
def _half(facts: Facts) -> Found:
    full, causal = (
        edges(facts.structure("full_attention", *option).largest.rows)
        for option in ((), ("causal",))
    )
    shown = _("{c} of {f} edges at n = 48: (n + 1)/(2 n)").format(c=causal, f=full)
    return Found(2 * 48 * causal == 49 * full, shown)


@claim(19, _("memory, more than time, limits the context"))
def _ceiling(facts: Facts) -> Found:
    device = load_profile("A100-80G-SXM")
    peak = facts.formula("full_attention", "saved_bytes", "train")
    flop = facts.formula("full_attention", "flop_matmul", "train")
    at = {"b": 1, "d": 4096, "h": 32, "k": 128}
    assert device.capacity is not None
    by_memory = largest(peak, "n", device.capacity.value, at) or 0
    by_time = largest(flop, "n", device.matrix["bfloat16"].value, at) or 0
    shown = _(
        "one layer of width 4096 with stored scores fills {device} at n = {m}; a second of its "
        "peak is over at {t}"
    ).format(m=format_count(by_memory), device=device.name, t=format_count(by_time))
    condition = _("scores are stored; with FlashAttention's linear memory it is time")
    return Found(by_memory < by_time, shown, condition)


@claim(20, _("attention passes messages on the complete graph"), "measured")
def _graph(facts: Facts) -> Found:
    at = facts.structure("full_attention").largest
    shown = _("{e} edges between {n} positions").format(e=edges(at.rows), n=len(at.rows))
    return Found(edges(at.rows) == len(at.rows) ** 2, shown)


@claim(21, _("n² d does not dominate at usual lengths: its share of a layer is n/(6d + n)"))
def _share(facts: Facts) -> Found:
    whole = facts.formula("transformer_block", "flop_matmul").subs({"f": 4 * d})
    core = facts.formula("transformer_block", "flop_matmul", scope="core")
    at = {"b": 1, "L": 1, "d": 4096, "n": 4096}
    share = float(core.evaluate(at) / whole.evaluate(at))
    so = core * (6 * d + n) == whole * n
    shown = _("{s:.0%} at n = d = 4096; half at n = 6 d").format(s=share)
    return Found(so, shown, _("f = 4 d, and n below 6 d"))
