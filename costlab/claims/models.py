"""Claims about whole models, their training and their future."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from costlab.algebra import symbol
from costlab.claims.record import Facts, Found, Missing, claim
from costlab.i18n import _
from costlab.planning.communication import all_reduce_bytes, bubble
from costlab.planning.precision import named
from costlab.symbols import SIZES
from costlab.units import format_count, format_value

n, d = symbol("n"), symbol("d")
_STEP_S = 5e-6  # start of one GPU kernel, the least a dependent step takes


@claim(29, _("feed-forwards hold two thirds of a layer's weights"))
def _feed_forward(facts: Facts) -> Found:
    part = facts.formula("feed_forward", "parameters").subs({"f": 4 * d})
    layer = facts.formula("transformer_block", "parameters").subs({"f": 4 * d, "L": 1})
    at = {"n": 4096, "d": 4096}
    share = float(part.evaluate(at) / layer.evaluate(at))
    gated = 3 * d * (8 * d / 3)
    shown = _("{p} of {l}: {s:.1%}").format(p=part, l=layer, s=share)
    return Found(abs(share - 2 / 3) < 1e-3 and gated == part, shown, _("f = 4 d, gated 8 d/3"))


@claim(30, _("from 32 to 4 bits is 8 times less, with scales 7.76 times"))
def _bits(facts: Facts) -> Found:
    plain = 32 / named("int4").bits_per_element
    scaled = 32 / named("int4-g128").bits_per_element
    so = plain == 8 and scaled == Fraction(256, 33)
    return Found(so, f"{float(plain):.3g}, {float(scaled):.4g}", _("one 16-bit scale per 128"))


@claim(31, _("12 to 96 heads, widths 768 to 12 288 and contexts beyond 100k are in range"))
def _range(facts: Facts) -> Found:
    wanted = {"h": 96, "d": 12_288, "n": 131_072, "b": 1, "k": 128}
    within = all(v <= (SIZES[s].maximum or v) for s, v in wanted.items())
    work = facts.formula("full_attention", "flop_matmul").evaluate(wanted)
    expected = 8 * 131_072 * 12_288**2 + 4 * 131_072**2 * 12_288
    return Found(within and work == expected, _("{w} there").format(w=format_value(work, "FLOP")))


@claim(32, _("experts add parameters at nearly the same cost per token"), source="Mixtral")
def _experts(facts: Facts) -> Found:
    """Twice the experts at Mixtral's sizes: parameters double, the work of a token does not."""
    parameters = facts.formula("mixture_of_experts", "parameters")
    work = facts.formula("mixture_of_experts", "flop_matmul")
    few = {"b": 1, "n": 4096, "d": 4096, "f": 14336, "e": 8, "t": 2}
    # A fact of other powers of the sizes would not be these numbers.
    router = 2 * few["n"] * few["d"] * few["e"]
    held = float(parameters.evaluate(few)) == 3 * 8 * 4096 * 14336 + 8 * 4096
    done = float(work.evaluate(few)) == 6 * few["n"] * few["d"] * few["f"] * few["t"] + router
    many = {**few, "e": 16}
    grown, more = (
        float(formula.evaluate(many)) / float(formula.evaluate(few))
        for formula in (parameters, work)
    )
    shown = _("16 experts for 8: {p:.2f} times the parameters, {w:.4f} times the work")
    so = held and done and grown == 2 and 1 <= more < 1.01
    return Found(so, shown.format(p=grown, w=more), _("t is fixed"))


@claim(33, _("one key/value head shrinks the cache h-fold"), source="Shazeer 2019, section 3")
def _multi_query(facts: Facts) -> Found:
    full = facts.formula("full_attention", "state_bytes", "decode")
    grouped = facts.formula("gqa_attention", "state_bytes", "decode")
    at = {"b": 1, "n": 1024, "d": 512, "h": 8, "k": 64, "g": 1}
    ratio = full.evaluate(at) / grouped.evaluate(at)
    return Found(ratio == 8, _("{r} times with 8 heads").format(r=ratio))


@claim(34, _("positions: learned, sinusoidal, rotary and ALiBi have small costs"))
def _positions(facts: Facts) -> Found:
    powers = {
        name: facts.power(name, "flop", "d") for name in ("learned_positions", "rope", "alibi")
    }
    return Found(max(powers.values()) <= 1, str(powers))


@claim(35, _("tensor parallelism needs the fast link, pipelines idle, ZeRO-3 holds 16P/N bytes"),
       source="Rajbhandari et al. 2020; Narayanan et al. 2021")  # fmt: skip
def _parallel(facts: Facts) -> Found:
    idle = float(bubble(np.array(8.0), np.array(32.0), np.array(1.0)))
    sent = float(all_reduce_bytes(np.array(1.0), np.array(8.0)))
    so = abs(idle - 7 / 32) < 1e-12 and sent == 1.75
    shown = _("8 stages, 32 passes: {i:.1%} idle; an all-reduce over 8 sends {s} of its bytes")
    return Found(so, shown.format(i=idle, s=sent))


@claim(36, _("recomputation, mixed precision, adapters, distillation and pruning each save and "
             "cost"))  # fmt: skip
def _techniques(facts: Facts) -> Found:
    adapter = facts.formula("lora", "parameters")
    saved = facts.formula("activation_checkpointing", "saved_bytes", "train")
    sparse = facts.formula("sparse_linear", "parameters")
    f, r, blocks = symbol("f"), symbol("r"), symbol("L")
    # An adapter beside the frozen matrix; a block's input each, the first being the caller's.
    so = adapter == d * f + r * (d + f) and saved == 4 * (blocks - 1) * symbol("b") * n * d
    at = {"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072, "V": 50_257, "L": 1}

    def per_unit(name: str, quantity: str, mode: str, size: str) -> float:
        formula, unit = facts.formula(name, quantity, mode), {**at, size: 2 * at[size]}
        return float(formula.evaluate(unit)) - float(formula.evaluate(at))

    short = per_unit("mixed_precision", "saved_bytes", "train", "n")
    short /= per_unit("gpt_block", "saved_bytes", "train", "n")
    taught = per_unit("distillation", "flop_matmul", "train", "L")
    taught /= per_unit("gpt_block", "flop_matmul", "train", "L")
    shown = _("adapter {a} parameters; checkpointed blocks keep {c} bytes; mixed precision keeps "
              "{m:.3f} of a token's activations and copies of the weights; a block of a teacher "
              "costs {t:.2f} of one that learns; 2:4 pruning leaves {p} weights")  # fmt: skip
    so = so and 0.5 <= short < 0.51 and 0.25 < taught < 0.34 and sparse * 2 == d * f
    return Found(so, shown.format(a=adapter, c=saved, m=short, t=taught, p=sparse))


@claim(37, _("retrieval and images add tokens; learning from feedback holds several models"))
def _more(facts: Facts) -> Found:
    raise Missing(_("CostLab has no entry for retrieval, images or learning from feedback; "
                    "tokens added are a larger n"))  # fmt: skip


@claim(38, _("at batch 32, length 512, width 128, attention beats a loop of RNN cells"), "measured")
def _article(facts: Facts) -> Found:
    loop, attention = (
        facts.formula(name, "flop_matmul") for name in ("rnn_cell_loop", "full_attention")
    )
    at = {"b": 32, "n": 512, "d": 128, "h": 4, "k": 32}
    ratio = attention.evaluate(at) / loop.evaluate(at)
    steps = [
        facts.formula(name, "steps").evaluate(at) for name in ("rnn_cell_loop", "full_attention")
    ]
    shown = _("attention does {r} times the FLOP (2 + n/d) in {a} steps instead of {l}; "
              "`costlab demo` measures both here")  # fmt: skip
    condition = _("the machine is wide enough: see the width in `costlab demo`")
    return Found(
        ratio == 6 and steps[1] < steps[0] / 10,
        shown.format(r=ratio, a=steps[1], l=format_count(steps[0])),
        condition,
    )


@claim(39, _("Transformers win with much text, a wide machine and far dependencies; recurrences "
             "where tokens arrive one at a time"))  # fmt: skip
def _winner(facts: Facts) -> Found:
    attention = facts.power("full_attention", "flop_matmul", "n", "decode")
    recurrence = facts.power("lstm", "flop_matmul", "n", "decode")
    path = facts.structure("full_attention").chain_order, facts.structure("lstm").chain_order
    so = (attention, recurrence) == (1, 0) and path == ("1", "n")
    shown = _("per token: n^1 against n^0; path: {p}; `costlab map` draws who wins")
    return Found(so, shown.format(p=" / ".join(path)), _("the three come together"))


@claim(40, _("training today's models as recurrent networks would be out of reach"))
def _training(facts: Facts) -> Found:
    passes = 300e9 / 3.2e6

    def days(name: str, n: int) -> float:
        steps = facts.formula(name, "steps", "train").evaluate({"n": n, "d": 12_288})
        return float(steps) * 96 * passes * _STEP_S / 86_400

    short, long, attention = (
        days("rnn", 2048),
        days("rnn", 131_072),
        days("full_attention", 131_072),
    )
    shown = _("300e9 tokens in batches of 3.2e6 through 96 layers, {s} per step: an RNN waits for "
              "{short:.2g} days at n = 2048, {long:.3g} at 131 072; attention {a:.2g}")  # fmt: skip
    return Found(
        1 < short < 100 and long > 100 and attention < 1,
        shown.format(s=format_value(_STEP_S, "s"), short=short, long=long, a=attention),
        _("sequences are as long as today's contexts, and a layer is a recurrence without a scan"),
    )


@claim(41, _("no architecture wins for ever"), "theorem")
def _ever(facts: Facts) -> Found:
    raise Missing(_("about the future: nothing to derive or measure; `costlab map` shows who "
                    "wins today"))  # fmt: skip
