"""``costlab list --paper``: papers' tables of complexities, from the derived formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costlab.cli.common import print_json, table
from costlab.errors import UnknownNameError
from costlab.i18n import _

ALL = "all"


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One line: what the paper calls it, our entry, and the paper's orders in our symbols.

    ``orders`` are those of the paper's columns, "" where it gives none; ``reason`` is said where
    ours is another order.
    """

    title: str
    name: str
    orders: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """Where the table stands, its columns (keys of :data:`COLUMNS`), and its lines."""

    source: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]


COLUMNS: Mapping[str, str] = {
    "work": _("work"),
    "depth": _("depth"),
    "path": _("path"),
    "memory": _("memory"),
    "decode": _("per token"),
    "state": _("state"),
}
"""What tables list: matrix FLOP of the core, dependent steps, the longest path between positions,
the core's peak memory, what the n-th token takes, and what is kept from token to token."""

PAPERS: Mapping[str, Paper] = {
    "vaswani2017": Paper(
        "Vaswani et al. 2017, table 1",
        ("work", "depth", "path"),
        (
            PaperRow("Self-Attention", "full_attention", ("n**2*d", "1", "1")),
            PaperRow("Recurrent", "rnn", ("n*d**2", "n", "n")),
            PaperRow("Convolutional", "convolution", ("w*n*d**2", "1", "log(n, w)"),
                     _("log(n, w) takes dilations that grow from layer to layer; ours has none")),
            PaperRow("Self-Attention (restricted)", "sliding_window", ("w*n*d", "1", "n/w")),
        ),
    ),
    "wang2020": Paper(
        "Wang et al. 2020, table 1",
        ("work", "depth"),
        (
            PaperRow("Recurrent", "rnn", ("n", "n")),
            PaperRow("Transformer", "full_attention", ("n**2", "1")),
            PaperRow("Sparse Transformer", "sparse_transformer", ("n*n**(1/2)", "1")),
            PaperRow("Reformer", "lsh_attention", ("n*log(n, 2)", "log(n, 2)"),
                     _("our sort counts as one step")),
            PaperRow("Linformer", "linformer", ("n", "1")),
        ),
    ),
    "tay2020": Paper(
        "Tay et al. 2020, table 1, those of the catalogue",
        ("work",),
        (
            PaperRow("Reformer", "lsh_attention", ("n*log(n, 2)",)),
            PaperRow("Longformer", "longformer", ("n",)),
            PaperRow("Performer", "performer", ("n",)),
            PaperRow("Linformer", "linformer", ("n",)),
            PaperRow("Linear Transformer", "linear_attention", ("n",)),
            PaperRow("Big Bird", "bigbird", ("n",)),
        ),
    ),
    "sun2023": Paper(
        "Sun et al. 2023, table 1",
        ("decode", "memory"),
        (
            PaperRow("Transformer", "full_attention", ("n", "n**2")),
            PaperRow("Linear Transformer", "linear_attention", ("1", "n")),
            PaperRow("Recurrent NN", "rnn", ("1", "n")),
            PaperRow("RetNet", "retnet", ("1", "n")),
        ),
    ),
    "dao2024": Paper(
        "Dao and Gu 2024, section 6: attention, SSM and SSD",
        ("work", "decode", "state"),
        (
            PaperRow("Attention", "full_attention", ("n**2", "n", "n")),
            PaperRow("SSM", "mamba", ("n", "1", "1")),
            PaperRow("SSD", "mamba2", ("n", "1", "1")),
        ),
    ),
}  # fmt: skip


def show_paper(key: str, *, as_json: bool) -> int:
    """Print the table of one paper, or of :data:`ALL`, theirs beside ours.

    Raises:
        UnknownNameError: if no table of that name is known; carries the nearest.
    """
    if key not in (*PAPERS, ALL):
        raise UnknownNameError(_("paper"), key, (*PAPERS, ALL))
    papers = PAPERS if key == ALL else {key: PAPERS[key]}
    found = {name: [_derived(row, p.columns) for row in p.rows] for name, p in papers.items()}
    if as_json:
        tables = [
            {"schema": "costlab.paper/1", "source": papers[name].source, "rows": rows}
            for name, rows in found.items()
        ]
        whole = {"schema": "costlab.papers/1", "tables": tables}
        print_json(tables[0] if key != ALL else whole)
        return 0
    for name, rows in found.items():
        _print(papers[name], rows)
    return 0


def _print(paper: Paper, rows: list[dict[str, str | None]]) -> None:
    print(_("{source}; derived from the code of each entry").format(source=paper.source))
    headers = [_("layer"), _("entry")]
    for column in paper.columns:
        headers += [_("paper: {column}").format(column=COLUMNS[column]), _("derived")]
    keys = ["layer", "entry", *(k for column in paper.columns for k in (f"paper_{column}", column))]
    print(table(headers, [tuple(str(row[k] or "") for k in keys) for row in rows]))
    for row in rows:
        if row["reason"]:
            print(f"- {row['layer']}: {row['reason']}")


def _derived(row: PaperRow, columns: tuple[str, ...]) -> dict[str, str | None]:
    from costlab.formulas import store

    found: dict[str, str | None] = {"layer": row.title, "entry": row.name}
    for column, theirs in zip(columns, row.orders, strict=True):
        found |= {f"paper_{column}": theirs or None, column: None}
    found["reason"] = row.reason or None
    if row.name not in store.names():
        found["reason"] = _("the catalogue has no {name} yet").format(name=row.name)
        return found
    for column, theirs in zip(columns, row.orders, strict=True):
        found[column] = _order_of(row.name, column, theirs)
    return found


def _order_of(name: str, column: str, theirs: str) -> str | None:
    """Our order of what ``column`` lists, in n alone unless the paper's has other sizes."""
    from costlab.formulas import store, structure
    from costlab.formulas.document import tie
    from costlab.formulas.order import order, order_in_expr

    if column == "path":
        return structure.load(name)[0].path or None if name in structure.names() else None
    derivation = store.load(name, "decode" if column in ("decode", "state") else "forward")
    main = derivation.classes[0]
    quantity = main.cost[_QUANTITIES[column]]
    expr = quantity.expr if column in ("depth", "state") else quantity.core or quantity.expr
    if expr is None:
        return None
    whole = tie(expr, derivation)
    alone = column != "work" or not {"d", "b"} & set(theirs)
    return str(order_in_expr(whole, "n") if alone else order(whole, main.domain))


_QUANTITIES: Mapping[str, str] = {
    "work": "flop_matmul", "depth": "steps", "memory": "peak_bytes", "decode": "flop_matmul",
    "state": "state_bytes",
}  # fmt: skip
