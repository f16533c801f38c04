"""Claims about cheaper attention."""

from __future__ import annotations

from costlab.algebra import symbol
from costlab.claims.record import Facts, Found, claim
from costlab.formulas.order import order_in
from costlab.formulas.structure import bridge, edges, missed, paths
from costlab.formulas.text import parse
from costlab.i18n import _

n, d = symbol("n"), symbol("d")


@claim(22, _("a window costs O(n w)"), source="Beltagy et al. 2020, section 3.1")
def _window(facts: Facts) -> Found:
    ours = facts.order("sliding_window", "flop_matmul", scope="core")
    law = facts.structure("sliding_window").layers_law
    so = ours == parse("b*d*n*w") and law == "ceiling((n - 1)/w)"
    return Found(so, _("{o}; reach after {law} layers").format(o=ours, law=law), _("w is fixed"))


@claim(23, _("ring, random and global edges together grow as n"), "measured",
       "Zaheer et al. 2020, section 2")  # fmt: skip
def _bigbird(facts: Facts) -> Found:
    patterns = facts.structure("bigbird").patterns
    at = patterns[-1].sizes
    # Ring and random blocks of each head, and global tokens as queries and as keys.
    most = 3 * at["c"] + at["h"] * at["r"] * at["c"] + 2 * at["G"]
    per_token = [edges(p.rows) / len(p.rows) for p in patterns]
    layers = paths(patterns[-1].rows).diameter
    shown = _("{z:.3g} edges per token at n = {n}, at most {most} = 3c + hrc + 2G at every n; all "
              "pairs are {layers} layers apart")  # fmt: skip
    return Found(
        max(per_token) <= most < at["n"] and layers == 2,
        shown.format(z=per_token[-1], n=at["n"], most=most, layers=layers),
    )


def _star(n: int) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(0 in (i, j) or i == j for j in range(n)) for i in range(n))


@claim(24, _("sparse Transformers approximate every continuous function of sequences"), "theorem",
       "Yun et al. 2020, theorem 1; Zaheer et al. 2020, theorem 1")  # fmt: skip
def _universal(facts: Facts) -> Found:
    found = paths(_star(9))
    so = found.diameter == 2 and bridge(1, 512) == 512
    shown = _("with one global token all pairs are {p} layers apart; it carries d numbers a layer")
    condition = _("continuous functions on a bounded domain, and a pattern that holds a star: "
                  "global tokens")  # fmt: skip
    return Found(so, shown.format(p=found.diameter), condition)


@claim(25, _("what full attention does in O(1) layers takes depth that grows with n on O(n) "
             "edges"), "theorem", "Zaheer et al. 2020, section 3.4")  # fmt: skip
def _height(facts: Facts) -> Found:
    window, full = facts.structure("sliding_window"), facts.structure("full_attention")
    layers = [paths(p.rows).diameter for p in window.patterns]
    so = layers == sorted(layers) and layers[-1] > layers[0] and full.layers_law == "1"
    shown = _("a window of 4 takes {a} to {z} layers from n = 8 to 48, full attention 1")
    condition = _("the orthogonal vectors conjecture is true; the task finds the farthest vector")
    return Found(so, shown.format(a=layers[0], z=layers[-1]), condition)


@claim(26, _("hashing costs O(n log n), shares queries with keys, and misses a pair with "
             "probability (1 - p)^R"), source="Kitaev et al. 2020, section 2")  # fmt: skip
def _hashing(facts: Facts) -> Found:
    ours = facts.order("lsh_attention", "flop", scope="core")
    shared = facts.formula("lsh_attention", "parameters") == 3 * d**2
    so = shared and order_in(ours, "n") == (1, 1)
    shown = _("{o}; p = 0.5: {one:.3g}, {four:.3g}, {eight:.3g} after 1, 4, 8 rounds").format(
        o=ours, one=missed(0.5, 1), four=missed(0.5, 4), eight=missed(0.5, 8)
    )
    return Found(so, shown, _("the bucket size c is fixed"))


@claim(27, _("reversible layers keep memory that does not grow with depth, for one more forward"),
       source="Gomez et al. 2017")  # fmt: skip
def _reversible(facts: Facts) -> Found:
    saved = facts.formula("reversible", "saved_bytes", "train")
    train, forward = (facts.formula("reversible", "flop_matmul", m) for m in ("train", "forward"))
    at = dict.fromkeys(train.symbols() | forward.symbols(), 64)
    ratio = float(train.evaluate(at) / forward.evaluate(at))
    # Two streams of 4-byte numbers, whatever L is; three passes are forward and backward.
    so = saved == 8 * symbol("b") * n * d and 3.9 < ratio < 4.2
    return Found(so, f"{saved}; {ratio:.2g} forward passes")


@claim(28, _("FlashAttention is exact without n x n storage; low rank and kernels are O(n)"),
       source="Dao et al. 2022; Wang et al. 2020; Katharopoulos et al. 2020")  # fmt: skip
def _linear(facts: Facts) -> Found:
    same = facts.formula("flash_attention", "flop_matmul") == facts.formula(
        "full_attention", "flop_matmul"
    )
    powers = {
        "flash_attention saved": facts.power("flash_attention", "saved_bytes", "n", "train"),
        "linformer FLOP": facts.power("linformer", "flop_matmul", "n"),
        "linear_attention FLOP": facts.power("linear_attention", "flop_matmul", "n"),
    }
    shown = ", ".join(f"{what} n^{power}" for what, power in powers.items())
    return Found(same and set(powers.values()) == {1}, shown, _("rank and features are fixed"))
