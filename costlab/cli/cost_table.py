"""The table of ``costlab list --table``: what each entry of the catalogue costs at one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from costlab.arch.spec import ArchitectureSpec
from costlab.cli.common import print_json, table
from costlab.cli.progress import Progress
from costlab.errors import CostLabError, SizeError
from costlab.i18n import _
from costlab.symbols import single
from costlab.units import format_count, format_value

if TYPE_CHECKING:
    from costlab.formulas.record import CostClass

Row = dict[str, Any]


def show_table(
    specs: Sequence[ArchitectureSpec],
    sizes: Mapping[str, tuple[int, ...]],
    *,
    as_json: bool,
    progress: Progress,
) -> int:
    """Print the table; entries without a formula at these sizes say why."""
    given = single(sizes)
    rows = []
    for spec in specs:
        progress(spec.name)
        rows.append(_row(spec, given))
    progress.clear()
    if as_json:
        print_json({"schema": "costlab.list/1", "table": rows})
        return 0
    print(_text(rows))
    for row in rows:
        print(f"- {row['architecture']}: {row.get('reason') or _footing(row)}")
    return 0


def _footing(row: Row) -> str:
    """The sizes of a row and the conditions under which its numbers hold."""
    sizes = " ".join(f"{name}={value}" for name, value in row["sizes"].items())
    conditions = ", ".join(row["conditions"]) or _("all sizes")
    return _("{sizes}; holds for {conditions}").format(sizes=sizes, conditions=conditions)


def _row(spec: ArchitectureSpec, given: Mapping[str, int]) -> Row:
    from costlab.cli.programs import load_program
    from costlab.formulas.order import order
    from costlab.prediction.sizes import complete_sizes, select_class

    row: Row = {"architecture": spec.name, "conditions": []}
    own = {name: value for name, value in given.items() if name in (*spec.symbols, "k")}
    if "k" in own and not {"h", "d"} <= set(spec.symbols):
        del own["k"]
    try:
        derivation = load_program(spec.name, "forward", "float32")
        full = complete_sizes(derivation, own)
        chosen = select_class(derivation, full)
        main = derivation.classes[0]  # the orders of all entries in all their symbols
        flop = main.cost["flop"].expr
        row |= {
            "sizes": {name: full[name] for name in derivation.sizes},
            "conditions": [str(condition) for condition in chosen.domain],
            "order": None if flop is None else str(order(flop, main.domain)),
            "depth": _depth(main),
            "path": _path(spec.name),
            "flop": _value(chosen, "flop", full),
            "peak_bytes": _value(chosen, "peak_bytes", full),
            "steps": _value(chosen, "steps", full),
        }
        if "decode" in spec.modes:
            decode = load_program(spec.name, "decode", "float32")
            at = complete_sizes(decode, {k: v for k, v in own.items() if k in (*decode.sizes, "k")})
            one = select_class(decode, at)
            row["decode_flop"] = _value(one, "flop", at)
            row["decode_bytes"] = _value(one, "bytes", at)
            row["state_bytes"] = _value(one, "state_bytes", at)
    except SizeError as error:
        row["reason"] = str(error)
    except CostLabError as error:
        row["reason"] = _("no formulas: {error}").format(error=error)
    return row


def _depth(main: CostClass) -> str | None:
    """The order of the dependent steps in the length."""
    from costlab.formulas.order import order_in_expr

    steps = main.cost["steps"].expr
    return None if steps is None else str(order_in_expr(steps, "n"))


def _path(name: str) -> str | None:
    """The longest path between two positions, of the entry as it is by default."""
    from costlab.formulas.structure import load, names

    return (load(name)[0].path or None) if name in names() else None


def _value(chosen: CostClass, quantity: str, sizes: Mapping[str, int]) -> int | None:
    expr = chosen.cost[quantity].expr
    return None if expr is None else round(expr.evaluate({**sizes, "threads": 1}))


def _text(rows: Sequence[Row]) -> str:
    from costlab.formulas.plain import summed
    from costlab.formulas.text import parse

    def cells(row: Row) -> tuple[str, ...]:
        order = row.get("order")
        steps = row.get("steps")
        return (
            row["architecture"],
            summed(parse(order)) if order else "",
            row.get("depth") or "",
            row.get("path") or "",
            *(format_value(row.get(name), unit) for name, unit in _AMOUNTS),
            "n/a" if steps is None else format_count(steps),
        )

    headers = (
        _("name"), _("order of FLOP"), _("depth"), _("path"), "FLOP", _("peak"), _("decode FLOP"),
        _("decode bytes"), _("state"), _("steps"),
    )  # fmt: skip
    return table(headers, map(cells, rows), right="llllrrrrrr")


_AMOUNTS = (
    ("flop", "FLOP"),
    ("peak_bytes", "B"),
    ("decode_flop", "FLOP"),
    ("decode_bytes", "B"),
    ("state_bytes", "B"),
)
