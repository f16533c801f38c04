"""``costlab structure``: which output reads which position, and how far apart they are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from costlab.cli.common import Subparsers, add_command, print_json, table
from costlab.i18n import _
from costlab.units import format_percent

if TYPE_CHECKING:
    from costlab.formulas.structure import Structure

_PICTURE = 24  # positions that a picture of a pattern shows


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "structure",
        run,
        help=_("which output reads which position: edges, path length, depth, gradients"),
        examples=["costlab structure sliding_window", "costlab structure rnn --json"],
    )
    parser.add_argument("name", help=_("an entry of the catalogue"))


def run(args: argparse.Namespace) -> int:
    """Print the structure of one entry, for each choice of its options."""
    from costlab.formulas.structure import load

    found = load(args.name)
    if args.json:
        print_json({"schema": "costlab.structure/1", "structures": [as_data(s) for s in found]})
        return 0
    print("\n\n".join(_text(structure) for structure in found))
    return 0


def as_data(structure: Structure) -> dict[str, Any]:
    """The edges and paths of one structure at every committed length, as plain data."""
    from costlab.formulas.structure import density, edges, paths

    rows = []
    for pattern in structure.patterns:
        found = paths(pattern.rows)
        rows.append(
            {
                "sizes": dict(pattern.sizes),
                "edges": edges(pattern.rows),
                "density": density(pattern.rows),
                "connected_pairs": found.pairs,
                "layers_to_connect": found.diameter,
                "mean_path": found.mean,
            }
        )
    return {
        "architecture": structure.name,
        "options": list(structure.options),
        "layers_law": structure.layers_law or None,
        "chain_order": structure.chain_order or None,
        "lengths": rows,
        "chains": [{"n": n, "operators": chain} for n, chain in structure.chains],
        "gradients": {label: list(curve) for label, curve in structure.gradients.items()},
    }


def picture(structure: Structure) -> str:
    """The pattern of the longest length that fits, one line per output."""
    fitting = [p for p in structure.patterns if len(p.rows) <= _PICTURE]
    return "\n".join("".join(".#"[seen] for seen in row) for row in fitting[-1].rows)


def _text(structure: Structure) -> str:
    data = as_data(structure)
    title = " ".join([structure.name, *structure.options])
    sizes = " ".join(f"{k}={v}" for k, v in structure.largest.sizes.items() if k != "n")
    headers = ("n", _("edges"), _("density"), _("layers to connect"), _("mean path"))
    rows = [
        (
            str(row["sizes"]["n"]),
            str(row["edges"]),
            format_percent(row["density"]),
            str(row["layers_to_connect"]),
            f"{row['mean_path']:.2f}",
        )
        for row in data["lengths"]
    ]
    law = data["layers_law"] or _("no law fits: see the lengths")
    chains = ", ".join(f"{n}: {operators}" for n, operators in structure.chains)
    chain = (
        _("fewest operators between the farthest pair of one layer, of order {order} ({chains})")
        if structure.chains
        else _("no count of operators between positions: the module writes its own gradient")
    )
    lines = [
        _("{title}, measured on its module at {sizes}").format(title=title, sizes=sizes),
        picture(structure),
        table(headers, rows, right="rrrrr"),
        _("layers until every pair that can be is connected: {law}").format(law=law),
        chain.format(order=structure.chain_order, chains=chains),
    ]
    for label, curve in structure.gradients.items():
        shares = ", ".join(f"{at}: {share:.3g}" for at, share in curve if at in (1, 4, 16, 63))
        lines.append(
            _("gradient over a distance, {label}: {shares}").format(label=label, shares=shares)
        )
    return "\n".join(lines)
