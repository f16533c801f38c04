"""``costlab derive``: formulas of an architecture or a module, with order, domain, claims, gaps."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from costlab.cli.common import (
    SCOPES,
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_words,
    parse_options,
    print_json,
    require_targets,
    split_words,
    table,
)
from costlab.cli.progress import progress_of
from costlab.i18n import _
from costlab.symbols import SIZES, single

Document = dict[str, Any]
_ORDERED = ("flop", "peak_bytes", "saved_bytes", "state_bytes", "steps")
_LABEL_WIDTH = 17


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "derive",
        run,
        help=_("formulas with their order against the claim, domain and gaps"),
        examples=[
            "costlab derive full_attention --mode train",
            "costlab derive my_model.py:build --by module",
            "costlab derive hf:config.json --strict --json",
        ],
    )
    add_words(parser, "ARCH|FILE.py:FACTORY|hf:FILE.json", _("what to derive"))
    add_program(parser, backend=True)
    parser.add_argument(
        "--scope", choices=SCOPES, default="layer", help=_("layer, or the part mixing positions")
    )
    add_settings(parser)
    parser.add_argument("--by", choices=("op", "module"), help=_("parts that add up to the whole"))
    parser.add_argument("--latex", action="store_true", help=_("formulas as LaTeX"))
    parser.add_argument("--strict", action="store_true", help=_("exit code 1 if there is a gap"))


def run(args: argparse.Namespace) -> int:
    """Derive and show the formulas."""
    from costlab.cli.programs import load_program
    from costlab.formulas.document import document

    targets, words = split_words(args.words)
    require_targets(targets, 1, 1, _("one architecture, FILE.py:FACTORY or hf:FILE.json"))
    fixed, flags = parse_options(args.set)
    fixed = {**single(words), **fixed}
    progress = progress_of(args)
    derivation = load_program(
        targets[0],
        args.mode,
        args.dtype,
        args.backend,
        fixed=fixed,
        flags=flags,
        progress=progress,
    )
    progress.clear()
    found = document(derivation, scope=args.scope, by=args.by, latex_too=args.json or args.latex)
    if args.json:
        print_json(found)
    elif args.latex:
        for name, entry in found["cost"].items():
            if entry["expr"] is not None:
                label = name.replace("_", r"\_")
                print(rf"\mathrm{{{label}}} = {entry['latex']}")
    else:
        _show(found)
    if args.strict and derivation.gaps:
        print(
            _("costlab: not counted, no rule: {gaps}").format(gaps=", ".join(derivation.gaps)),
            file=sys.stderr,
        )
        return 1
    return 0


def _show(found: Document) -> None:
    title = _("{name}: {mode} in {dtype} as on {backend}; {how}")
    print(
        title.format(
            name=found["architecture"],
            mode=found["mode"],
            dtype=found["dtype"],
            backend=found["backend"],
            how=_how(found),
        )
    )
    print(f"{_('holds for')}: {_domain(found)}")
    if found["auxiliary"]:
        text = ", ".join(f"{name} = {expr}" for name, expr in found["auxiliary"].items())
        print(f"{_('where')}: {text}")
    print()
    print(show_cost(found["cost"], found["cost"]))
    for claim in found["claims"]:
        _show_claim(claim)
    for other in found["classes"]:
        print(f"\n{_('otherwise, for')}: {_domain(other)}")
        print(show_cost(other["cost"], ("flop", "peak_bytes")))
    if "parts" in found:
        print()
        _show_parts(found)
    print()
    print(table((_("symbol"), _("meaning")), _in_order(found["symbols"])))
    print()
    gaps = ", ".join(found["gaps"]) or _("none")
    print(f"{_('not counted (no rule)')}: {gaps}")
    for note in (*found["notes"], *found["proof"], found["convention"]):
        print(f"- {note}")


def _how(found: Document) -> str:
    checked = _("verified at {count} held-out sizes").format(count=len(found["verified_at"]))
    if found["derived"] == "proved":
        return _("proved by a symbolic run, {checked}").format(checked=checked)
    return checked


def _in_order(symbols: dict[str, str]) -> list[tuple[str, str]]:
    """Sizes first, then the machine's constants."""
    return sorted(symbols.items(), key=lambda item: (item[0] not in SIZES, item[0]))


def _domain(part: Document) -> str:
    return ", ".join(part["domain"]) or _("all sizes")


def show_cost(cost: Document, names: Iterable[str]) -> str:
    """Formulas and orders of the named quantities of a ``cost`` document, as text."""
    from costlab.formulas.plain import summed, wrapped
    from costlab.formulas.text import parse

    width = shutil.get_terminal_size((100, 24)).columns
    lines = []
    for name in names:
        entry, label = cost[name], name.ljust(_LABEL_WIDTH)
        if entry["expr"] is None:
            lines.append(f"{label}{_('no formula')}: {entry['reason']}")
            continue
        expr = parse(entry["expr"])
        lines.append(f"{label}{wrapped(expr, width, _LABEL_WIDTH)}")
        if name in _ORDERED and not expr.is_constant:
            lines.append(f"{' ' * _LABEL_WIDTH}{_('order')} {summed(parse(entry['order']))}")
    return "\n".join(lines)


def _show_claim(entry: Document) -> None:
    from costlab.formulas.plain import summed
    from costlab.formulas.text import parse

    claim, agrees = entry["claim"], entry["agrees"]
    if agrees is None:  # about another mode
        return
    verdict = _("agrees")
    if not agrees:
        verdict = _("DIFFERS, derived {order}").format(order=summed(parse(entry["derived_order"])))
        verdict += f". {claim['differs']}" if claim["differs"] else ""
    text = _("claim: {quantity} of the {scope} is of order {order} ({source}): {verdict}")
    print(
        text.format(
            quantity=claim["quantity"],
            scope=claim["scope"],
            order=summed(parse(claim["order"])),
            source=claim["source"],
            verdict=verdict,
        )
    )


def _show_parts(found: Document) -> None:
    from costlab.formulas.plain import formula
    from costlab.formulas.text import parse

    names = ("flop", "bytes", "launches")
    rows = [
        (
            part["name"] or _("(the module itself)"),
            *(formula(parse(part[name])) if name in part else "" for name in names),
        )
        for part in found["parts"]
    ]
    print(table((found["by"], *names), rows))
