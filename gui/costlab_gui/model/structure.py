"""The structure page as data: which output reads which position, how far apart, at what loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Union

from costlab.figures.spec import FORMULA, LINEAR, LOG, Axis, FigureSpec, PatternSpec, Series
from costlab.formulas.structure import Structure, density, distances, edges, load, names
from costlab.i18n import _
from costlab.units import format_percent
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Workspace

PATTERN, PATHS, DEPTH, GRADIENT = "pattern", "paths", "depth", "gradient"
VIEWS = (PATTERN, PATHS, DEPTH, GRADIENT)
_KNOWN = ("full_attention", "sliding_window", "rnn")
TOLD = 16
"""The distance whose gradient is told in words and in the table."""

Figure = Union[FigureSpec, PatternSpec]


@dataclass(frozen=True, slots=True)
class Length:
    """What follows from the edges of one layer at one length.

    Attributes:
        pairs: pairs of distinct positions that layers can connect.
        diameter: layers until all of them are.
        mean: layers that a pair takes on average.
        operators: fewest dependent operators between the farthest pair; None: not counted.
    """

    n: int
    edges: int
    density: float
    pairs: int
    diameter: int
    mean: float
    operators: int | None


@dataclass(frozen=True, slots=True)
class Known:
    """The structure of one program under the session's options.

    Attributes:
        layers: at the greatest length, over how many layers an output depends on a position; 0:
            over none.
        connected: at the greatest length, the share of the connectable pairs of distinct positions
            that 1, 2, ... layers connect.
    """

    target: str
    title: str
    colour: int
    structure: Structure
    lengths: tuple[Length, ...]
    layers: tuple[tuple[int, ...], ...]
    connected: tuple[float, ...]

    @property
    def largest(self) -> Length:
        return self.lengths[-1]

    @property
    def diameter(self) -> int:
        return self.largest.diameter

    @property
    def counted(self) -> tuple[int, int] | None:
        """The greatest length whose operators were counted, and their number."""
        return self.structure.chains[-1] if self.structure.chains else None

    def gradient(self, distance: int) -> float | None:
        """Share of the gradient that is left over ``distance``, as the module is initialised."""
        curve = next(iter(self.structure.gradients.values()), ())
        return dict(curve).get(distance)


@dataclass(frozen=True, slots=True)
class View:
    """One picture with its programs; ``figure`` is None where ``why`` says so.

    ``selected`` is None where the selected program has no structure; ``problems`` says why a shown
    program is missing.
    """

    figure: Figure | None = None
    selected: Known | None = None
    programs: tuple[Known, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


def view(session: Session, workspace: Workspace, which: str, upto: int = 1) -> View:
    """One of ``VIEWS`` of the session's programs.

    Args:
        session: what is shown; the pattern is of the selected program.
        workspace: titles.
        which: one of ``VIEWS``.
        upto: the pattern also shows what is reached over up to so many layers.
    """
    selected = _known(session, workspace, session.selected)
    if which == PATTERN:
        if selected is None:
            return View(why=missing(session, workspace))
        return View(_pattern(selected, upto), selected, (selected,))
    found, problems = [], {}
    for target in session.shown:
        known = _known(session, workspace, target)
        if known is None:
            problems[target] = _("its structure is not known")
        else:
            found.append(known)
            if which == DEPTH and known.counted is None:
                problems[target] = _("not counted, since the module writes its own gradient")
    draw: Callable[[Sequence[Known], str], Figure | None] = {
        PATHS: _paths, DEPTH: _depth, GRADIENT: _gradients
    }[which]  # fmt: skip
    figure = draw(found, session.selected)
    why = "" if figure else _("No shown architecture has what this picture shows.")
    return View(figure, selected, tuple(found), problems, why)


def missing(session: Session, workspace: Workspace) -> str:
    """Why the selected program has no structure, and what to select instead."""
    known = [target for target in session.shown if target in names()] or list(_KNOWN)
    return _(
        "The structure of {name} is not known: it is found once, on modules of the catalogue that "
        "map n positions to n outputs. It is known of {count} of them; select one, such as "
        "{examples}."
    ).format(
        name=workspace.title(session.selected),
        count=len(names()),
        examples=_(" or ").join(workspace.title(target) for target in known[:3]),
    )


def sentences(known: Known) -> tuple[str, ...]:
    """A structure in words."""
    at = known.largest
    found = [
        _("At n = {n}, an output reads {mean} positions on average: {edges} edges, {share} of all "
          "pairs.").format(
            n=at.n, mean=f"{at.edges / at.n:.3g}", edges=at.edges,
            share=format_percent(float(f"{at.density:.3g}")),
        )
    ]  # fmt: skip
    law = known.structure.layers_law
    if not at.pairs:
        found.append(_("No output depends on another position, over any number of layers."))
    else:
        found.append(
            _("Layers until every pair that can be is connected: {layers}{law}; {mean} on average."
              ).format(layers=at.diameter, law=_equals(law, at.diameter), mean=f"{at.mean:.3g}")
        )  # fmt: skip
    found.append(depth_sentence(known))
    left = known.gradient(TOLD)
    if left is not None and at.pairs:
        found.append(
            _("Over a distance of {distance}, {share} of the gradient at distance 0 is left, as "
              "initialised.").format(distance=TOLD, share=format_percent(float(f"{left:.3g}")))
        )  # fmt: skip
    return tuple(found)


def depth_sentence(known: Known) -> str:
    """How many operators depend on each other within a layer."""
    counted = known.counted
    if counted is None:
        return _("Operators in a row are not counted: the module writes its own gradient.")
    growth = {
        "1": _("the same at every length"),
        "n": _("growing with n"),
    }.get(known.structure.chain_order, _("growing with the logarithm of n"))
    return _("Within a layer, {count} operators in a row at n = {n}, {growth}.").format(
        count=counted[1], n=counted[0], growth=growth
    )


def facts(known: Known) -> tuple[tuple[str, str], ...]:
    """The same in short, as names and values."""
    at = known.largest
    found = [
        (_("length"), f"n = {at.n}"),
        (_("edges"), f"{at.edges}, {format_percent(float(f'{at.density:.3g}'))}"),
    ]
    if at.pairs:
        law = _equals(known.structure.layers_law, at.diameter)
        found.append((_("diameter in layers"), f"{at.diameter}{law}"))
        found.append((_("mean path in layers"), f"{at.mean:.3g}"))
    if known.counted is not None:
        n, operators = known.counted
        growth = known.structure.chain_order
        kept = _("{count} operators").format(count=operators)
        if growth != "1":
            kept = _("{count} operators at n = {n}, order {order}").format(
                count=operators, n=n, order=growth
            )
        found.append((_("in a row"), kept))
    left = known.gradient(TOLD)
    if left is not None and at.pairs:
        share = format_percent(float(f"{left:.3g}"))
        found.append((_("gradient over {distance}").format(distance=TOLD), share))
    return tuple(found)


def cell_sentence(known: Known, output: int, position: int) -> str:
    """What one output reads, and over how many layers it depends on one position (from 1)."""
    row = known.layers[output - 1]
    read = [at for at, away in enumerate(row, 1) if away == 1]
    away = row[position - 1]
    text = _("Output {output} reads {count} of {n} positions: {positions}.").format(
        output=output, count=len(read), n=len(row), positions=_ranges(read) or _("none")
    )
    if away == 0:
        tail = _("It never depends on position {position}.")
    elif away == 1:
        tail = _("Position {position} is one of them.")
    else:
        tail = _("It depends on position {position} over {layers} layers.")
    return f"{text} {tail.format(position=position, layers=away)}"


def at_sentence(figure: FigureSpec, x: float) -> str:
    """The values of all curves at the point nearest to ``x``."""
    points = sorted({value for series in figure.series for value in series.x})
    near = min(points, key=lambda value: abs(value - x))
    written = _percent if figure.y.unit == "%" else _plain
    said = [
        f"{series.name} {written(series.y[series.x.index(near)])}"
        for series in figure.series
        if near in series.x
    ]
    return f"{figure.x.label} {near:g}: " + "; ".join(said)


def notes(shown: View, which: str) -> tuple[str, ...]:
    """What the picture means."""
    measured = _("Found by gradients through the modules themselves, at small sizes.")
    if which == PATTERN and shown.selected is not None:
        pairs = shown.selected.structure.largest.sizes.items()
        measured = _(
            "Found by gradients through the module itself at {sizes}, whatever the sliders say."
        ).format(sizes=", ".join(f"{name} = {size}" for name, size in pairs if name != "n"))
    what = {
        PATTERN: _("A row is what one output of a layer reads."),
        PATHS: _("An edge is one layer. Within a layer a recurrent module takes n steps: see "
                 "Depth."),
        DEPTH: _("The fewest dependent operators between the last output and the position that is "
                 "farthest from it, within one layer."),
        GRADIENT: _("Norm of the gradient of an output by an input, beside that at distance 0; a "
                    "curve ends where it is zero."),
    }[which]  # fmt: skip
    return (what, measured)


def _known(session: Session, workspace: Workspace, target: str) -> Known | None:
    if target not in names():
        return None
    wanted = {name for name, on in session.setting.options.items() if on}
    all_of_it = [set(one.options) for one in load(target)]
    index = next((at for at, options in enumerate(all_of_it) if options == wanted), 0)
    structure, lengths, layers, connected = _computed(target, index)
    title = ", ".join([workspace.title(target), *structure.options])
    colour = session.colour(target) if target in session.programs else 0
    return Known(target, title, colour, structure, lengths, layers, connected)


_Layers = tuple[tuple[int, ...], ...]


@cache
def _computed(
    target: str, index: int
) -> tuple[Structure, tuple[Length, ...], _Layers, tuple[float, ...]]:
    """What follows from a committed structure; searching its graphs takes longer than a frame."""
    structure = load(target)[index]
    chains = dict(structure.chains)
    lengths = []
    layers: _Layers = ()
    away: list[int] = []
    for pattern in structure.patterns:
        n = len(pattern.rows)
        layers = tuple(tuple(at or 0 for at in row) for row in distances(pattern.rows))
        away = [at for i, row in enumerate(layers) for j, at in enumerate(row) if at and i != j]
        lengths.append(
            Length(
                n, edges(pattern.rows), density(pattern.rows), len(away), max(away, default=0),
                sum(away) / len(away) if away else 0.0, chains.get(n),
            )
        )  # fmt: skip
    connected = tuple(
        sum(at <= most for at in away) / len(away) for most in range(1, max(away, default=0) + 1)
    )
    return structure, tuple(lengths), layers, connected


def _pattern(known: Known, upto: int) -> PatternSpec:
    return PatternSpec(
        title=known.title,
        layers=known.layers,
        upto=max(1, min(upto, known.diameter)),
        colour=known.colour,
        caption=" ".join(sentences(known)),
    )


def _paths(found: Sequence[Known], _selected: str) -> FigureSpec | None:
    most = max((known.diameter for known in found), default=0)
    series = [
        Series(
            known.title,
            tuple(float(layers) for layers in range(most + 1)),
            tuple(100 * share for share in _padded(known.connected, most)),
            FORMULA,
            known.colour,
        )
        for known in found
        if known.connected
    ]
    if not series:
        return None
    return FigureSpec(
        _("Pairs that layers connect"),
        Axis(_("layers"), "", LINEAR),
        Axis(_("pairs connected"), "%", LINEAR),
        tuple(series),
    )


def _padded(connected: Sequence[float], most: int) -> Sequence[float]:
    return (0.0, *connected, *[1.0] * (most - len(connected)))


def _depth(found: Sequence[Known], _selected: str) -> FigureSpec | None:
    series = [
        Series(
            known.title,
            tuple(float(n) for n, _chain in known.structure.chains),
            tuple(float(chain) for _n, chain in known.structure.chains),
            FORMULA,
            known.colour,
        )
        for known in found
        if known.structure.chains
    ]
    if not series:
        return None
    return FigureSpec(
        _("Operators in a row within a layer"),
        Axis(_("sequence length n"), "", LINEAR),
        Axis(_("operators in a row"), "", LINEAR),
        tuple(series),
    )


def _gradients(found: Sequence[Known], selected: str) -> FigureSpec | None:
    """All curves of the selected program, and of the others that of the module as initialised."""
    taken = {known.colour for known in found}
    free = (colour for colour in count() if colour not in taken)
    series = []
    for known in found:
        curves = list(known.structure.gradients.items())
        for number, (label, curve) in enumerate(curves if known.target == selected else curves[:1]):
            kept = [(float(at), 100 * share) for at, share in curve if share > 0]
            if len(kept) < 2:
                continue
            name = f"{known.title}, {label}" if number else known.title
            colour = known.colour if not number else next(free)
            x, y = zip(*kept, strict=True)
            series.append(Series(name, x, y, FORMULA, colour))
    if not series:
        return None
    return FigureSpec(
        _("Gradient that is left over a distance"),
        Axis(_("distance"), "", LINEAR),
        Axis(_("gradient"), "%", LOG),
        tuple(series),
    )


def _equals(law: str, layers: int) -> str:
    """A law behind a number that it is not already."""
    return "" if not law or law == str(layers) else f" = {law}"


def _percent(value: float) -> str:
    return format_percent(float(f"{value / 100:.3g}"))


def _plain(value: float) -> str:
    return f"{value:g}"


def _ranges(positions: Sequence[int]) -> str:
    """ "1, 5–8"."""

    def runs() -> Iterator[str]:
        start = last = positions[0]
        for at in (*positions[1:], 0):
            if at != last + 1:
                yield f"{start}" if start == last else f"{start}–{last}"
                start = at
            last = at

    return ", ".join(runs()) if positions else ""
