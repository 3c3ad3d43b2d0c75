"""Summaries as text for a terminal and as Markdown for the documentation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, pairwise
from statistics import fmean

from searching.cells import Cell
from searching.exact import Tally
from searching.run import Results
from searching.score import Summary, Trial, brier, calibration, summarise, times_longer
from searching.searches import OURS, SEARCHES, TEN
from searching.world import MOST_OF_OTHERS, SIGMA, World

Summaries = Mapping[Cell, Mapping[str, Summary]]


@dataclass(frozen=True)
class Headline:
    """The grid in four numbers.

    `right_share` is of this product's trials where one step dominates, is at least the noise and is not hidden by
    layout. `faster_share` is the share of cells, among those where this product and at least one peer are
    right, where it is faster in mean hours than every peer that is right. `worst_ratio` is its mean hours over those
    of ten repeats under git bisect, in the worst cell where that is right; None if there is no such cell. Hours are
    compared over the histories that both searched, so that neither has the harder ones.
    """

    cells: int
    right_share: float | None
    faster_share: float | None
    worst_ratio: float | None

    def as_dict(self) -> dict[str, object]:
        """The numbers by name, rounded."""
        return {name: round(value, 4) if value is not None else None for name, value in asdict(self).items()}


def summaries(results: Results) -> dict[Cell, dict[str, Summary]]:
    """Every cell's summaries by search."""
    found: dict[Cell, dict[str, Summary]] = {}
    for (cell, search), trials in results.items():
        found.setdefault(cell, {})[search] = summarise(trials)
    return found


def headline(results: Results) -> Headline:
    """The grid in four numbers."""
    found = summaries(results)
    promised = _promised(results, OURS)
    faster: list[bool] = []
    ratios: list[float] = []
    for cell, by in found.items():
        own = results[cell, OURS]
        longer = {
            search: times_longer(results[cell, search], own)
            for search, one in by.items()
            if search != OURS and one.passes
        }
        if by[OURS].passes and longer:
            faster.append(min(longer.values()) > 1)
        if TEN in longer:
            ratios.append(1 / longer[TEN])
    return Headline(
        cells=len(found),
        right_share=summarise(promised).right if promised else None,
        faster_share=sum(faster) / len(faster) if faster else None,
        worst_ratio=max(ratios, default=None),
    )


def accuracy(results: Results) -> Iterator[str]:
    """One row for each kind of world: this product's answers."""
    yield from _header(
        ["world", "histories", "right", "95 % interval", "more than the culprit", "no answer", "mean stated", "true"]
    )
    for (cell, _), trials in results.items():
        one = summarise(trials)
        stated = [(trial.probability, trial.true) for trial in trials if trial.probability is not None]
        yield _row(
            [
                cell.name,
                str(one.trials),
                f"{one.right * 100:.0f} %",
                f"{one.right_low * 100:.1f}–{one.right_high * 100:.1f} %",
                f"{one.sets * 100:.0f} %",
                f"{one.none * 100:.0f} %",
                f"{fmean(probability for probability, _ in stated):.4f}" if stated else "",
                f"{fmean(true for _, true in stated):.4f}" if stated else "",
            ]
        )


def accuracy_numbers(results: Results) -> dict[str, object]:
    """The same in a few numbers: how many kinds of worlds and histories, the share of right answers with its 95 %
    interval, that of the worst kind, and how many kinds can be told to be right in less than 99 %."""
    whole = summarise([trial for trials in results.values() for trial in trials])
    each = [summarise(trials) for trials in results.values()]
    return {
        "cells": len(each),
        "histories": whole.trials,
        "right_share": round(whole.right, 4),
        "right_interval": [round(whole.right_low, 4), round(whole.right_high, 4)],
        "worst_cell": round(min(one.right for one in each), 4),
        "cells_below": sum(not one.passes for one in each),
    }


def _promised(results: Results, search: str) -> list[Trial]:
    """A search's trials that it should be right in."""
    own = [(cell, trials) for (cell, one), trials in results.items() if one == search]
    return [trial for cell, trials in own if cell.promised for trial in trials if trial.dominated]


def terminal(found: Summaries) -> Iterator[str]:
    """A line for each cell: right answers and mean hours of every search."""
    width = max(len(cell.name) for cell in found) + 2
    yield " " * width + "".join(f"{name.removeprefix('git bisect '):>14}" for name in SEARCHES)
    for cell, by in found.items():
        yield f"{cell.name:{width}}" + "".join(f"{_short(by[name]):>14}" for name in SEARCHES) + _remark(cell)
    yield "Right answers (+ sets with the culprit) and mean hours; ×: git bisect with so many repeats."
    yield "*: right in 99 %, or its trials too few to tell it from that."


def _short(one: Summary) -> str:
    sets = f"+{one.sets * 100:.0f}" if one.sets else ""
    return f"{one.right * 100:.0f}{sets}% {one.hours:.1f} h{'*' if one.passes else ' '}"


def _remark(cell: Cell) -> str:
    if cell.bound is not None:
        return f"  not counted: at most {cell.bound:.1%} by layout"
    return "" if cell.promised else "  not counted: step below noise"


def dominance(results: Results) -> Iterator[str]:
    """Right answers by how large all other steps together are, in the worlds that have some."""
    edges = [0.0, MOST_OF_OTHERS, 1.0, math.inf]
    yield from _header(["culprit", "others together", "histories", *SEARCHES])
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
            yield _row([f"{step / SIGMA:g}σ", size, str(len(by[OURS])), *shares])


def _has_nothing_else(world: World) -> bool:
    """True if a world differs from the plain one by its size, its step and other steps only."""
    return replace(world, others=0) == World(size=world.size, step=world.step)


def overview(found: Summaries) -> Iterator[str]:
    """A Markdown table for each group of cells: right answers, sets with the culprit, and mean hours."""
    for group, cells in groupby(found, key=lambda cell: cell.group):
        yield f"\n### {group}\n"
        yield from _header(["world", *SEARCHES, "remark"])
        for cell in cells:
            by = found[cell]
            right = [one.hours for one in by.values() if one.passes]
            texts = [_overview(by[name], by[name].passes and by[name].hours == min(right)) for name in SEARCHES]
            yield _row([cell.name, *texts, _remark(cell).strip()])


def _overview(one: Summary, fastest: bool) -> str:
    sets = f" + {one.sets * 100:.3g}" if one.sets else ""
    text = f"{one.right * 100:.3g}{sets} % · {one.hours:.1f} h"
    return f"**{text}**" if fastest else text


def details(found: Summaries) -> Iterator[str]:
    """One long Markdown table with everything that was counted."""
    counted = "right, 95 % interval, sets, no answer, builds, probes, probe s, hours, p50, p95"
    yield from _header(["world", "search", "trials", *counted.split(", ")])
    for cell, by in found.items():
        for search in SEARCHES:
            one = by[search]
            numbers = (
                f"{one.trials}",
                f"{one.right * 100:.1f} %",
                f"{one.right_low * 100:.1f}–{one.right_high * 100:.1f} %",
                f"{one.sets * 100:.1f} %",
                f"{one.none * 100:.1f} %",
                f"{one.builds:.1f}",
                f"{one.probes:.0f}",
                f"{one.probe_h * 3600:.0f}",
                f"{one.hours:.2f}",
                f"{one.hours_p50:.2f}",
                f"{one.hours_p95:.2f}",
            )
            yield _row([cell.name, search, *numbers])


def stated(results: Results, search: str) -> Iterator[str]:
    """How far the probabilities a search stated came true: in all histories, and in those it promises something for."""
    yield from _header(["histories", "answers", "Brier score", "stated", "mean stated", "true"])
    everything = [trial for (_, one), several in results.items() if one == search for trial in several]
    for name, trials in (("all", everything), ("promised", _promised(results, search))):
        score = brier(trials)
        for inside in calibration(trials):
            edges = f"{inside.low:g}–{inside.high:g}"
            numbers = [f"{score:.4f}", edges, f"{inside.stated:.4f}", f"{inside.observed:.4f}"]
            yield _row([name, str(inside.count), *numbers])


def brier_by_cell(results: Results, search: str) -> Iterator[str]:
    """Brier score and stated against observed, cell by cell."""
    yield from _header(["world", "answers", "mean stated", "true", "Brier score", "thought s"])
    for (cell, one), trials in results.items():
        answered = [trial for trial in trials if trial.probability is not None]
        score = brier(answered)
        if one == search and score is not None:
            mean = sum(trial.probability or 0.0 for trial in answered) / len(answered)
            true = sum(trial.true for trial in answered) / len(answered)
            thought = sum(trial.thought_s for trial in trials) / len(trials)
            yield _row([cell.name, str(len(answered)), f"{mean:.4f}", f"{true:.4f}", f"{score:.4f}", f"{thought:.2f}"])


def exact(tallies: Mapping[int, Mapping[str, Tally]]) -> Iterator[str]:
    """The exact metric."""
    yield from _header(["commits", "search", "planted steps found", "largest found", "builds"])
    for size, by in tallies.items():
        for name, tally in by.items():
            shares = [f"{tally.found * 100:.1f} %", f"{tally.largest * 100:.1f} %"]
            yield _row([str(size), name, *shares, f"{tally.builds:.1f}"])


def _header(names: Sequence[str]) -> Iterator[str]:
    yield _row(names)
    yield "|" + "---|" * len(names)


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"
