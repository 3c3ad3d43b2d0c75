"""Summaries as text for a terminal and as Markdown for the documentation."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, pairwise
from statistics import fmean

from searching.cells import Cell
from searching.exact import Tally
from searching.run import Results
from searching.score import (
    Summary,
    Trial,
    Verdict,
    as_right,
    brier,
    calibration,
    honesty,
    statements,
    summarise,
    upper_bound,
)
from searching.searches import OURS, SEARCHES
from searching.world import MOST_OF_OTHERS, SIGMA, World

CLEAR = 2.0
"""From steps of so many SIGMA on nothing that is as right should be faster."""

Summaries = Mapping[Cell, Mapping[str, Summary]]


@dataclass(frozen=True)
class Headline:
    """The grid in a few numbers; shares as ratios, None where nothing counts for them.

    `trials` is how many histories each search had in all cells together. `right_share` is of this product's trials
    where one step dominates, is at least the noise and is not hidden by layout; `named_wrong_share` is of all of its
    trials, and `named_wrong_at_most` its one-sided 95 % bound. `faster_share` is of all cells where any search is
    right: the share where this product is right and takes fewer mean hours than every peer that is right. `worst_ratio`
    is its mean hours over those of the cheapest peer that is as right, in the worst cell with a step of CLEAR or more
    where it is right; `worst_world` is that cell's name.
    """

    cells: int
    trials: int
    right_share: float | None
    named_wrong_share: float
    named_wrong_at_most: float
    faster_share: float | None
    worst_ratio: float | None
    worst_world: str

    def as_dict(self) -> dict[str, object]:
        """The numbers by name, rounded."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def summaries(results: Results) -> dict[Cell, dict[str, Summary]]:
    """Every cell's summaries by search."""
    found: dict[Cell, dict[str, Summary]] = {}
    for (cell, search), trials in results.items():
        found.setdefault(cell, {})[search] = summarise(trials)
    return found


def headline(results: Results) -> Headline:
    """The grid in a few numbers."""
    found = summaries(results)
    own = [trial for (_, search), trials in results.items() if search == OURS for trial in trials]
    wrong = sum(trial.verdict is Verdict.NAMED_WRONG for trial in own)
    promised = _promised(results, OURS)
    faster = [_faster(by) for by in found.values() if any(one.passes for one in by.values())]
    clear = {cell.name: _ratio(by) for cell, by in found.items() if cell.world.step >= CLEAR * SIGMA}
    ratios = {name: ratio for name, ratio in clear.items() if ratio is not None}
    return Headline(
        cells=len(found),
        trials=len(own),
        right_share=summarise(promised).right if promised else None,
        named_wrong_share=wrong / len(own),
        named_wrong_at_most=upper_bound(wrong, len(own)),
        faster_share=sum(faster) / len(faster) if faster else None,
        worst_ratio=max(ratios.values(), default=None),
        worst_world=max(ratios, key=lambda name: ratios[name], default=""),
    )


def _faster(by: Mapping[str, Summary]) -> bool:
    """True if this product is right in a cell, and takes less time than every peer that is."""
    own = by[OURS]
    return own.passes and all(own.hours < one.hours for name, one in by.items() if name != OURS and one.passes)


def _ratio(by: Mapping[str, Summary]) -> float | None:
    """This product's mean hours over those of the cheapest peer that is as right; None if there is none, or if this
    product is not right itself."""
    own = by[OURS]
    hours = [one.hours for name, one in by.items() if name != OURS and as_right(one, own)]
    return own.hours / min(hours) if own.passes and hours else None


def _promised(results: Results, search: str) -> list[Trial]:
    """A search's trials that it should be right in."""
    own = [(cell, trials) for (cell, one), trials in results.items() if one == search]
    return [trial for cell, trials in own if cell.promised for trial in trials if trial.dominated]


def terminal(found: Summaries) -> Iterator[str]:
    """A line for each cell: right answers and mean hours of every search."""
    width = max(len(cell.name) for cell in found) + 2
    yield " " * width + "".join(f"{name.removeprefix('git bisect '):>16}" for name in SEARCHES)
    for cell, by in found.items():
        yield (
            f"{cell.name:{width}}" + "".join(f"{_short(by[name]):>16}" for name in SEARCHES) + "  " + _remark(cell, by)
        )
    yield "Right answers (+ those that hold the culprit without naming it; !: false ones) and mean hours."
    yield "*: right in 99 %, or its trials too few to tell it from that. ×: git bisect with so many repeats."


def _short(one: Summary) -> str:
    return f"{_shares(one, 0)}% {one.hours:.1f} h{'*' if one.passes else ' '}"


def _shares(one: Summary, digits: int) -> str:
    """Right answers, those with the culprit that don't name it, and false ones, in percent with so many digits after
    the point."""
    with_it, wrong = one.share(Verdict.UNSURE, Verdict.SET), one.share(Verdict.NAMED_WRONG, Verdict.WRONG_GROUP)
    shown = [("", one.right), *((sign, share) for sign, share in (("+", with_it), ("!", wrong)) if share)]
    return "".join(f"{sign}{round(share * 100, digits):g}" for sign, share in shown)


def _remark(cell: Cell, by: Mapping[str, Summary]) -> str:
    """Why a cell does not count for the share of right answers, and how this product compares in it."""
    ratio = _ratio(by)
    compared = [f"×{ratio:.2f}"] if ratio else []
    if not cell.world.step:
        return "nothing to find"
    if cell.bound is not None:
        return ", ".join([*compared, f"at most {cell.bound:.1%} with one link of each build"])
    return ", ".join(compared if cell.promised else [*compared, "step below noise"])


def dominance(results: Results) -> Iterator[str]:
    """Right answers by how large all other steps together are, in the worlds that have some."""
    edges = [0.0, MOST_OF_OTHERS, 1.0, math.inf]
    yield from header(["culprit", "others together", "histories", *SEARCHES])
    cells = {cell: None for cell, _ in results if cell.world.others and _has_nothing_else(cell.world)}
    for step in sorted({cell.world.step for cell in cells}):
        for low, high in pairwise(edges):
            by = {
                search: [
                    trial
                    for cell in cells
                    if cell.world.step == step
                    for trial in results[cell, search]
                    if low < trial.others <= high
                ]
                for search in SEARCHES
            }
            shares = [f"{summarise(trials).right * 100:.1f} %" if trials else "-" for trials in by.values()]
            size = f"{low:g} to {high:g} of it" if math.isfinite(high) else f"more than {low:g} of it"
            yield row([f"{step / SIGMA:g}σ", size, str(len(by[OURS])), *shares])


def _has_nothing_else(world: World) -> bool:
    """True if a world differs from the plain one by its size, its step and other steps only."""
    return replace(world, others=0) == World(size=world.size, step=world.step)


def overview(found: Summaries) -> Iterator[str]:
    """A Markdown table for each group of cells: what the answers are worth, and mean hours."""
    for group, cells in groupby(found, key=lambda cell: cell.group):
        yield f"\n### {group}\n"
        yield from header(["world", *SEARCHES, "remark"])
        for cell in cells:
            by = found[cell]
            right = [one.hours for one in by.values() if one.passes]
            texts = [_overview(by[name], by[name].passes and by[name].hours == min(right)) for name in SEARCHES]
            yield row([cell.name, *texts, _remark(cell, by)])


def _overview(one: Summary, fastest: bool) -> str:
    text = f"{_shares(one, 1)} % · {one.hours:.1f} h"
    return f"**{text}**" if fastest else text


def details(found: Summaries) -> Iterator[str]:
    """One long Markdown table with everything that was counted."""
    counted = "builds, probes, probe s, hours, p50, p95"
    yield from header(["world", "search", "trials", "right, 95 % interval", *list(Verdict)[1:], *counted.split(", ")])
    for cell, by in found.items():
        for search in SEARCHES:
            one = by[search]
            numbers = (
                f"{one.trials}",
                f"{one.right * 100:.1f} ({one.right_low * 100:.1f}–{one.right_high * 100:.1f}) %",
                *(f"{one.share(verdict) * 100:.1f} %" for verdict in list(Verdict)[1:]),
                f"{one.builds:.1f}",
                f"{one.probes:.0f}",
                f"{one.probe_h * 3600:.0f}",
                f"{one.hours:.2f}",
                f"{one.hours_p50:.2f}",
                f"{one.hours_p95:.2f}",
            )
            yield row([cell.name, search, *numbers])


def kinds(results: Results) -> Iterator[str]:
    """What the answers of every search call themselves, over all cells."""
    by = {search: Counter(_kinds(results, search)) for search in SEARCHES}
    names = sorted({kind for counted in by.values() for kind in counted})
    yield from header(["kind of answer", *SEARCHES])
    for name in names:
        yield row([f"`{name}`", *(str(counted[name]) for counted in by.values())])


def _kinds(results: Results, search: str) -> Iterator[str]:
    return (trial.kind for (_, one), trials in results.items() if one == search for trial in trials)


def stated(results: Results, search: str) -> Iterator[str]:
    """How far the probabilities that a search stated for named commits came true: in all histories, and in those it
    promises something for."""
    yield from header(["histories", "named commits", "Brier score", "stated", "mean stated", "true"])
    everything = [trial for (_, one), several in results.items() if one == search for trial in several]
    for name, trials in (("all", everything), ("promised", _promised(results, search))):
        found = statements(trials)
        score = brier(found)
        for inside in calibration(found):
            edges = f"{inside.low:g}–{inside.high:g}"
            numbers = [f"{score:.4f}", edges, f"{inside.stated:.4f}", f"{inside.true / inside.count:.4f}"]
            yield row([name, str(inside.count), *numbers])


def held(results: Results, search: str) -> Iterator[str]:
    """Cell by cell, how far what a search stated of the commits that it named holds."""
    yield from header(
        ["world", "named", "mean stated", "steps", "99 % intervals that hold", "stated over true step", "thought s"]
    )
    for (cell, one), trials in results.items():
        found = [each for each in statements(trials) if each.probability is not None]
        if one == search and found:
            of = honesty(trials)
            mean = fmean(each.probability for each in found if each.probability is not None)
            steps = sum(each.is_step for each in found) / len(found)
            thought = fmean(trial.thought_s for trial in trials)
            bias = "" if of.bias is None else f"{of.bias:.3f}"
            covered = f"{of.covered / of.named * 100:.1f} %"
            yield row([cell.name, str(len(found)), f"{mean:.4f}", f"{steps:.4f}", covered, bias, f"{thought:.2f}"])


def exact(tallies: Mapping[int, Mapping[str, Tally]]) -> Iterator[str]:
    """The exact metric."""
    yield from header(["commits", "search", "planted steps found", "largest found", "builds"])
    for size, by in tallies.items():
        for name, tally in by.items():
            shares = [f"{tally.found * 100:.1f} %", f"{tally.largest * 100:.1f} %"]
            yield row([str(size), name, *shares, f"{tally.builds:.1f}"])


def header(names: Sequence[str]) -> Iterator[str]:
    """The first two lines of a Markdown table."""
    yield row(names)
    yield "|" + "---|" * len(names)


def row(texts: Sequence[str]) -> str:
    """A line of one."""
    return "| " + " | ".join(texts) + " |"
