"""Where a number comes from: formula with numbers, constants with sources, basis, interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from costlab.errors import CostLabError
from costlab.hardware.machine import CALIBRATED, DATASHEET
from costlab.i18n import _
from costlab.prediction.record import Prediction
from costlab.symbols import describe
from costlab.units import format_value
from costlab_gui.model import explore
from costlab_gui.model.constants import constants_of
from costlab_gui.model.formula import OF_METRIC, View, quantity_title, view
from costlab_gui.model.place import locate
from costlab_gui.model.session import Setting
from costlab_gui.model.terms import exact, summed
from costlab_gui.model.wording import Line, Section, conditions, how_derived, share_text
from costlab_gui.model.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Origin:
    """What stands behind one number.

    Attributes:
        title: which number.
        value: the number for people; "" where there is none.
        kind: "predicted" or "measured", in words.
        sections: the explanation, in the order it is read.
    """

    title: str
    value: str
    kind: str
    sections: tuple[Section, ...]

    def text(self) -> str:
        """Everything as plain text, to be copied."""
        lines = [f"{self.title}: {self.value}".rstrip(": "), self.kind]
        for section in self.sections:
            lines += ["", section.title]
            lines += [f"  {line}" for line in section.lines]
        return "\n".join(lines)


def predicted(
    setting: Setting,
    workspace: Workspace,
    target: str,
    quantity: str,
    sizes: Mapping[str, int] | None = None,
) -> Origin:
    """The origin of a predicted number.

    Args:
        setting: what was predicted for.
        workspace: formulas and machines.
        target: the program.
        quantity: one of ``formula.QUANTITIES``, or a metric ("memory").
        sizes: replace those of ``setting`` where given.

    Raises:
        CostLabError: if the program has no formulas.
    """
    quantity = OF_METRIC.get(quantity, quantity)
    place = locate(setting, workspace, target, sizes)
    shown = view(place, quantity)
    prediction, why = _prediction(setting, workspace, target, sizes or {})
    derivation = place.derivation
    sections = [
        Section(_("Formula"), tuple(_formula(shown))),
        Section(_("Sizes"), tuple(_sizes(shown))),
    ]
    if quantity == "time":
        sections += constants_of(place)
        sections.append(Section(_("Basis"), tuple(_basis(prediction, why))))
    else:
        sections.append(
            Section(
                _("Basis"),
                (Line("", _("counted from the operators that the code runs; no rate enters")),),
            )
        )
    sections += [
        Section(
            _("Derived"),
            (
                Line("", how_derived(derivation, place.cost_class)),
                Line(_("holds for"), conditions(place.cost_class.domain)),
            ),
        ),
        _assumptions(prediction, shown),
        Section(
            _("Not counted"),
            (Line("", ", ".join(derivation.gaps) or _("nothing: every operator has a rule")),),
        ),
    ]
    return Origin(
        title=_("{quantity} of {name}, {mode}, {dtype}").format(
            quantity=quantity_title(quantity),
            name=workspace.title(target),
            mode=setting.mode,
            dtype=setting.dtype,
        ),
        value=shown.text(shown.total) if shown.total is not None else "",
        kind=_("predicted, not measured"),
        sections=tuple(sections),
    )


def _prediction(
    setting: Setting, workspace: Workspace, target: str, sizes: Mapping[str, int]
) -> tuple[Prediction | None, str]:
    try:
        return explore.point(setting, workspace, target, sizes), ""
    except CostLabError as error:
        return None, str(error)


def _formula(shown: View) -> Iterable[Line]:
    if shown.problem:
        yield Line("", shown.problem)
    if not shown.parts:
        return
    name = quantity_title(shown.quantity)
    if shown.quantity == "time":
        yield Line(name, _("the sum over operators of calls × max(FLOP/rate, bytes/bandwidth)"))
    elif len(shown.exprs) > 1:
        yield Line(
            name,
            _("the largest of {count} moments; here {terms}").format(
                count=len(shown.exprs), terms=summed(tuple(p.term for p in shown.parts))
            ),
        )
    else:
        yield Line(name, summed(tuple(part.term for part in shown.parts)))
    if shown.total is None:
        return
    for part in shown.parts:
        value = shown.text(part.value)
        put_in = "" if part.numbers == value else f"{part.numbers} = "
        yield Line(part.term.text, f"{put_in}{value} ({share_text(part.share)})")
    yield Line(_("together"), exact(shown.total, shown.unit))


def _sizes(shown: View) -> Iterable[Line]:
    derivation = shown.place.derivation
    for name, value in shown.place.sizes.items():
        known = describe(name)
        meaning = derivation.symbols.get(name) or (known.meaning if known else "")
        yield Line(f"{name} = {value}", meaning)


def _basis(prediction: Prediction | None, why: str) -> Iterable[Line]:
    if prediction is None:
        yield Line("", why)
        return
    low, high = prediction.time_interval_s
    if prediction.basis == DATASHEET:
        yield Line(prediction.basis, _("published peaks: the real time is longer"))
        yield Line(_("interval"), _("at least {low}").format(low=_seconds(low)))
    elif prediction.basis == CALIBRATED:
        yield Line(prediction.basis, _("rates measured on this machine, at this dtype and threads"))
        yield Line(
            _("interval"),
            _("{low} .. {high}: where nine runs of ten lie, judged by passes and shapes that the "
              "calibration held out").format(low=_seconds(low), high=_seconds(high)),
        )  # fmt: skip
    else:
        yield Line(
            prediction.basis, _("rates of another dtype or thread count stand in: no interval")
        )
    total = sum(prediction.shares.values()) or 1.0
    shares = ", ".join(f"{k} {share_text(v / total)}" for k, v in prediction.shares.items() if v)
    yield Line(_("bound by"), f"{prediction.limiter} ({shares})")


def _seconds(value: float | None) -> str:
    return format_value(value, "s")


def _assumptions(prediction: Prediction | None, shown: View) -> Section:
    found = prediction.assumptions if prediction else shown.place.derivation.notes
    return Section(_("Assumptions"), tuple(Line("", text) for text in found))
