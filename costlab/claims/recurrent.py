"""Claims about recurrent networks."""

from __future__ import annotations

from itertools import pairwise

from costlab.algebra import symbol
from costlab.claims.record import Facts, Found, claim
from costlab.formulas.order import order_in
from costlab.i18n import _
from costlab.units import format_value

_NETWORKS = ("rnn", "lstm", "gru")
_VASWANI = "Vaswani et al. 2017, section 4, table 1"
n, d = symbol("n"), symbol("d")


def _decay(facts: Facts, radius: float, below: float, above: float) -> Found:
    curve = dict(facts.structure("rnn").gradients[f"spectral radius {radius}"])
    far = max(curve)
    limit = radius**100
    so = above < limit < below and abs(curve[far] / radius**far - 1) < 0.01
    shown = _("{r}^100 = {limit:.3g}; over {far} steps of the real module {share:.3g}").format(
        r=radius, limit=limit, far=far, share=curve[far]
    )
    return Found(so, shown)


@claim(1, _("a factor of 0.9 over 100 steps leaves less than 1/30 000"), "measured")
def _nine_tenths(facts: Facts) -> Found:
    return _decay(facts, 0.9, 1 / 30_000, 2.6e-5)


@claim(2, _("a factor of 0.99 over 100 steps leaves 0.366"), "measured")
def _near_one(facts: Facts) -> Found:
    return _decay(facts, 0.99, 0.3665, 0.3655)


@claim(
    3,
    _("an RNN's gradient falls or grows geometrically as its matrix's spectral radius is below "
      "or above 1; an LSTM's cell carries it by its forget gates"),
    "measured",
    "Hochreiter and Schmidhuber 1997, section 3",
)  # fmt: skip
def _gradients(facts: Facts) -> Found:
    rnn, lstm = facts.structure("rnn").gradients, facts.structure("lstm").gradients
    early = dict(facts.structure("lstm_1997").gradients["as initialised"])[63]
    ends = [dict(rnn[f"spectral radius {r}"])[63] for r in (0.9, 1.1)]
    closed, opened = (dict(lstm[label])[63] for label in ("as initialised", "forget gates open"))
    so = ends[0] < 0.01 and ends[1] > 100 and closed < 1e-6 and min(opened, early) > 0.1
    shown = _(
        "over 63 steps: radius 0.9 {low:.3g}, 1.1 {high:.3g}; LSTM {closed:.3g} as initialised, "
        "{opened:.3g} with its forget gates open; the form of 1997, without one, {early:.3g}"
    ).format(low=ends[0], high=ends[1], closed=closed, opened=opened, early=early)
    return Found(so, shown, _("the activations stay where tanh has a slope near 1"))


@claim(4, _("LSTM, 1997 form, and GRU have 4, 3 and 3 affine maps"), source="Gers et al. 2000")
def _maps(facts: Facts) -> Found:
    work = {name: facts.formula(name, "flop_matmul") for name in ("lstm", "lstm_1997", "gru")}
    lstm, early, gru = work.values()
    so = 3 * lstm == 4 * early == 4 * gru
    return Found(so, "; ".join(f"{name}: {expr}" for name, expr in work.items()))


@claim(5, _("each step waits for the one before: n dependent steps"), source=_VASWANI)
def _steps(facts: Facts) -> Found:
    found = {
        (name, mode): facts.formula(name, "steps", mode)
        for name in _NETWORKS
        for mode in ("forward", "train")
    }
    so = all(order_in(expr, "n") == (1, 0) for expr in found.values())
    return Found(so, "; ".join(f"{name} {mode}: {expr}" for (name, mode), expr in found.items()))


@claim(6, _("a distance of m is crossed by m applications"), "measured", _VASWANI)
def _distance(facts: Facts) -> Found:
    found = {name: facts.structure(name).chains for name in _NETWORKS}
    rates = {
        name: {(c2 - c1) / (n2 - n1) for (n1, c1), (n2, c2) in pairwise(c)}
        for name, c in found.items()
    }
    so = all(len(rate) == 1 and min(rate) >= 1 for rate in rates.values())
    each = ", ".join(f"{name} {min(rate):.3g}" for name, rate in rates.items())
    return Found(so, _("operators per position of distance: {each}").format(each=each))


@claim(7, _("twice the length takes twice the work and the steps"))
def _twice(facts: Facts) -> Found:
    work = {name: facts.formula(name, "flop_matmul") for name in _NETWORKS}
    so = all(expr.subs({"n": 2 * n}) == 2 * expr for expr in work.values())
    so = so and all(facts.power(name, "steps", "n") == 1 for name in _NETWORKS)
    return Found(so, "; ".join(f"{name}: {expr}" for name, expr in work.items()))


@claim(8, _("the state has one size whatever the length"))
def _state(facts: Facts) -> Found:
    states = {name: facts.formula(name, "state_bytes", "decode") for name in _NETWORKS}
    so = all("n" not in expr.symbols() for expr in states.values())
    history = facts.formula("full_attention", "state_bytes", "decode")
    at = {"b": 1, "n": 4096, "d": 512, "h": 8}
    shown = _("at n = 4096, d = 512: {state} of an RNN against {history} of attention").format(
        state=format_value(states["rnn"].evaluate(at), "B"),
        history=format_value(history.evaluate(at), "B"),
    )
    return Found(so and "n" in history.symbols(), shown)


@claim(9, _("the same weights serve every step: parameters once, work n times"))
def _weights(facts: Facts) -> Found:
    parameters = facts.formula("rnn", "parameters")
    work = facts.formula("rnn", "flop_matmul")
    so = "n" not in parameters.symbols() and order_in(work, "n") == (1, 0)
    return Found(so, _("{p} parameters, {w} FLOP").format(p=parameters, w=work))
