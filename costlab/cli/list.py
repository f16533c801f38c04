"""``costlab list``: the catalogue, and with ``--table`` what each entry costs at one size."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from costlab.arch.spec import ArchitectureSpec
from costlab.cli.common import Subparsers, add_command, add_words, print_json, table
from costlab.cli.common import split_words as split
from costlab.cli.progress import progress_of
from costlab.errors import InputError
from costlab.i18n import _
from costlab.units import format_count, format_value

KINDS = ("architecture", "block", "position", "technique", "model")


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "list",
        run,
        help=_("architectures, blocks, positions, techniques and models"),
        examples=[
            "costlab list",
            "costlab list --table n=4k d=512",
            "costlab list --paper vaswani2017",
            "costlab list --paper all",
            "costlab list --kind model",
        ],
    )
    add_words(parser, "NAME=VALUE", _("sizes for --table"))
    parser.add_argument("--kind", choices=KINDS, help=_("only this kind"))
    parser.add_argument("--family", help=_("only this family, e.g. recurrent"))
    parser.add_argument(
        "--table",
        action="store_true",
        help=_("orders of FLOP, depth and path; FLOP, peak, steps, decode cost and state"),
    )
    parser.add_argument(
        "--paper",
        metavar="KEY",
        help=_(
            "papers' tables of complexities, derived: all, vaswani2017, wang2020, tay2020, "
            "sun2023 or dao2024"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """List the catalogue."""
    from costlab.arch import registry

    targets, sizes = split(args.words)
    if targets or (sizes and not args.table):
        raise InputError(
            _("list takes sizes for --table only"),
            given=" ".join(args.words),
            advice=_("costlab list --table n=4k d=512"),
        )
    if args.kind == "model":
        return _models(args)
    specs = [registry.spec(name) for name in registry.names()]
    families = sorted({spec.family for spec in specs})
    if args.family not in (None, *families):
        raise InputError(_("unknown family"), given=args.family, allowed=", ".join(families))
    specs = [s for s in specs if args.kind in (None, s.kind) and args.family in (None, s.family)]
    if args.paper:
        from costlab.cli.paper_table import show_paper

        return show_paper(args.paper, as_json=args.json)
    if args.table:
        from costlab.cli.cost_table import show_table

        return show_table(specs, sizes, as_json=args.json, progress=progress_of(args))
    if args.json:
        data = [_plain(spec) for spec in specs]
        print_json({"schema": "costlab.list/1", "architectures": data})
        return 0
    rows = [
        (
            spec.name,
            spec.kind,
            spec.family,
            " ".join(spec.symbols),
            " ".join(spec.modes),
            spec.title,
        )
        for spec in specs
    ]
    print(table((_("name"), _("kind"), _("family"), _("sizes"), _("modes"), _("title")), rows))
    return 0


def _plain(spec: ArchitectureSpec) -> dict[str, Any]:
    data = asdict(spec)
    data["claims"] = [asdict(claim) for claim in spec.claims]
    return data


def _models(args: argparse.Namespace) -> int:
    from costlab.planning import bundled
    from costlab.planning.totals import active_parameters, model_parameters, state_bytes

    models = [bundled.named(name) for name in bundled.names()]
    families = sorted({model.family for model in models})
    if args.family not in (None, *families):
        raise InputError(_("unknown family"), given=args.family, allowed=", ".join(families))
    data: list[dict[str, Any]] = [
        {
            "name": model.name,
            "family": model.family,
            "parameters": model_parameters(model),
            "active_parameters": active_parameters(model),
            "layers": model.depth,
            "width": model.width,
            "kv_kind": model.kv_kind,
            "state_bytes_4k": int(state_bytes(model, 1, 4096, m=4096)),
            "context": model.context or None,
            "source": model.source,
            "date": model.date,
        }
        for model in models
        if args.family in (None, model.family)
    ]
    if args.json:
        print_json({"schema": "costlab.list/1", "models": data})
        return 0
    heads = (_("name"), _("family"), _("parameters"), _("active"), "L", "d", _("keeps"),
             _("KV and state of 4096 tokens"), _("source"))  # fmt: skip
    rows = [
        (
            row["name"],
            row["family"],
            format_count(row["parameters"]),
            format_count(row["active_parameters"]),
            str(row["layers"]),
            str(row["width"]),
            row["kv_kind"],
            format_value(row["state_bytes_4k"], "B"),
            row["source"].partition(";")[0],
        )
        for row in data
    ]
    print(table(heads, rows, right="llrrrrlrl"))
    print(_("sizes of GPT-4, Claude and Gemini are not published; nothing stands here for them"))
    return 0
