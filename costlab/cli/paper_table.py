"""``costlab list --paper``: a paper's table of complexities, from the derived formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costlab.cli.common import print_json, table
from costlab.errors import UnknownNameError
from costlab.i18n import _


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One line: what the paper calls it, our entry, and the paper's orders in our symbols.

    ``reason`` is said where ours is another order; ``scope`` is what the paper counts.
    """

    title: str
    name: str
    work: str
    depth: str
    path: str
    scope: str = "core"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """Where the table stands, and its lines."""

    source: str
    rows: tuple[PaperRow, ...]


PAPERS: Mapping[str, Paper] = {
    "vaswani2017": Paper(
        "Vaswani et al. 2017, table 1",
        (
            PaperRow("Self-Attention", "full_attention", "n**2*d", "1", "1"),
            PaperRow("Recurrent", "rnn", "n*d**2", "n", "n"),
            PaperRow("Convolutional", "convolution", "w*n*d**2", "1", "log(n, w)"),
            PaperRow("Self-Attention (restricted)", "sliding_window", "w*n*d", "1", "n/w"),
        ),
    ),
    "wang2020": Paper(
        "Wang et al. 2020, table 1",
        (
            PaperRow("Recurrent", "rnn", "n", "n", ""),
            PaperRow("Transformer", "full_attention", "n**2", "1", ""),
            PaperRow("Sparse Transformer", "sparse_transformer", "n*n**(1/2)", "1", ""),
            PaperRow("Reformer", "lsh_attention", "n*log(n, 2)", "log(n, 2)", "",
                     reason=_("our sort counts as one step")),
            PaperRow("Linformer", "linformer", "n", "1", ""),
        ),
    ),
}  # fmt: skip


def show_paper(key: str, *, as_json: bool) -> int:
    """Print the table of one paper, theirs beside ours.

    Raises:
        UnknownNameError: if no table of that name is known; carries the nearest.
    """
    if key not in PAPERS:
        raise UnknownNameError(_("paper"), key, tuple(PAPERS))
    paper = PAPERS[key]
    rows = [_derived(row) for row in paper.rows]
    if as_json:
        print_json({"schema": "costlab.paper/1", "source": paper.source, "rows": rows})
        return 0
    print(_("{source}; derived from the code of each entry").format(source=paper.source))
    headers = (
        _("layer"), _("entry"), _("paper: work"), _("derived"), _("paper: depth"), _("derived"),
        _("paper: path"), _("derived"),
    )  # fmt: skip
    keys = (
        "layer", "entry", "paper_work", "work", "paper_depth", "depth", "paper_path", "path",
    )  # fmt: skip
    print(table(headers, [tuple(str(row[k] or "") for k in keys) for row in rows]))
    for row in rows:
        if row["reason"]:
            print(f"- {row['layer']}: {row['reason']}")
    return 0


def _derived(row: PaperRow) -> dict[str, str | None]:
    from costlab.formulas import store, structure
    from costlab.formulas.document import tie
    from costlab.formulas.order import order, order_in_expr

    found: dict[str, str | None] = {
        "layer": row.title, "entry": row.name, "paper_work": row.work, "paper_depth": row.depth,
        "paper_path": row.path or None, "work": None, "depth": None, "path": None,
        "reason": row.reason or None,
    }  # fmt: skip
    if row.name not in store.names():
        found["reason"] = _("the catalogue has no {name} yet").format(name=row.name)
        return found
    derivation = store.load(row.name)
    main = derivation.classes[0]
    work = main.cost["flop_matmul"].core if row.scope == "core" else None
    whole = tie(work or main.cost["flop_matmul"].expr or 0, derivation)
    one_variable = not {"d", "b"} & set(row.work)
    found["work"] = str(order_in_expr(whole, "n") if one_variable else order(whole, main.domain))
    steps = main.cost["steps"].expr
    found["depth"] = None if steps is None else str(order_in_expr(steps, "n"))
    if row.name in structure.names():
        found["path"] = structure.load(row.name)[0].path or None
    return found
