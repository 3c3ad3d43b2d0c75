"""This product in the kinds of worlds that an audit looked at: its figures beside the audit's, and how far what it
states holds."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from searching.cells import AUDITED, Cell
from searching.run import Results
from searching.score import (
    Honesty,
    Trial,
    Verdict,
    calibration,
    honesty,
    lower_bound,
    statements,
    summarise,
)
from searching.searches import OURS
from searching.table import CLEAR, header, row
from searching.world import SIGMA, Scatter, World

WIDTH = 2.576
"""Standard errors to each side of a 99 % interval."""


@dataclass(frozen=True)
class Before:
    """What the audit saw in one kind of world: of how many histories, in percent, and as it wrote them where it gave no
    single number."""

    trials: str
    right: str
    unsure_set_none: str
    wrong_group: str
    named_wrong: str

    def text(self) -> str:
        """In one cell of a table."""
        return f"{self.right} · {self.unsure_set_none} · {self.wrong_group} · {self.named_wrong} ({self.trials})"


BEFORE = {
    World(AUDITED, 1.0): Before("100", "20", "63 / 0 / 17", "0", "0"),
    World(AUDITED, 2.0): Before("100", "93", "7 / 0 / 0", "0", "0"),
    World(AUDITED, 2.0, outliers=0.05, outlier_size=10.0): Before("100", "47", "32 / 0 / 20", "1", "0"),
    World(AUDITED, 2.0, drift=4.0): Before("78", "79", "18 / 0 / 3", "0", "0"),
    World(AUDITED, 3.0, jump=10.0): Before("50", "36", "16 / 0 / 2", "46", "0"),
    World(AUDITED, 2.0, heavy=True): Before("100", "89", "9 / 0 / 0", "2", "0"),
    World(AUDITED, 2.0, layout=1.0): Before("37", "19", "– / 43 / 8", "–", "27"),
    World(AUDITED, 2.0, layout=1.0, scatter=Scatter.EITHER_WAY): Before("30", "3", "– / 43 / 20", "–", "33"),
    World(AUDITED, 0.0, layout=1.0): Before("25", "–", "– / – / 64", "–", "24"),
    World(AUDITED, 0.0): Before("1,050", "–", "0 / 0 / 100", "0", "0"),
    World(AUDITED, 2.0, dead=0.1, strewn=True): Before("60", "78", "sets", "0", "0"),
    World(AUDITED, 2.0, dead=0.3, strewn=True): Before("50", "34", "sets", "0", "0"),
    World(AUDITED, 2.0, miscounts=0.02): Before("not said", "–", "–", "–", "12"),
}
"""By kind of world; the audit had none of the others. It says that 10 and 30 % of the builds failed at random, not
whether they would again."""


def table(results: Results) -> Iterator[str]:
    """What the answers are worth, world by world."""
    yield from header(
        [
            "world",
            "histories",
            "named right (95 %)",
            "unsure / set / none",
            "wrong group",
            "named wrong (at most)",
            "hours",
            "the audit",
        ]
    )
    for cell, trials in _own(results).items():
        one = summarise(trials)
        before = BEFORE.get(cell.world)
        interval = f"{_percent(one.right)} ({_percent(one.right_low)}–{_percent(one.right_high)}) %"
        others = (one.share(verdict) for verdict in (Verdict.UNSURE, Verdict.SET, Verdict.NONE))
        yield row(
            [
                cell.name,
                str(one.trials),
                interval if cell.world.step else "–",
                " / ".join(map(_percent, others)),
                f"{_percent(one.share(Verdict.WRONG_GROUP))} %",
                f"{_percent(one.share(Verdict.NAMED_WRONG))} % ({one.at_most(Verdict.NAMED_WRONG) * 100:.2f} %)",
                f"{one.hours:.2f}",
                before.text() if before else "",
            ]
        )


def held(results: Results) -> Iterator[str]:
    """How far what is stated holds, world by world and in all of them."""
    own = _own(results)
    everything = [trial for trials in own.values() for trial in trials]
    yield from header(
        [
            "world",
            "named",
            "P ≥ 0.998",
            "of them true (at least)",
            "99 % intervals that hold (at least)",
            "stated over true step",
            "named nothing",
            "though the difference would have been seen",
        ]
    )
    for name, trials in [*((cell.name, trials) for cell, trials in own.items()), ("all", everything)]:
        of = honesty(trials)
        yield row(
            [
                name,
                str(of.named),
                str(of.sure),
                _share(of.sure_true, of.sure),
                _share(of.covered, of.named),
                _ratio(of),
                str(of.silent),
                str(of.blind),
            ]
        )


def bins(results: Results) -> Iterator[str]:
    """Stated probability against what came true."""
    yield from header(["worlds", "stated", "named commits", "mean stated", "true"])
    for name, trials in _sides(results).items():
        for inside in calibration(statements(trials)):
            share = inside.true / inside.count
            edges = f"{inside.low:g}–{inside.high:g}"
            yield row([name, edges, str(inside.count), f"{inside.stated:.4f}", f"{share:.4f}"])


def kinds(results: Results) -> Iterator[str]:
    """What the answers call themselves, world by world."""
    counted = {cell: Counter(trial.kind for trial in trials) for cell, trials in _own(results).items()}
    names = sorted({kind for one in counted.values() for kind in one})
    yield from header(["world", *(f"`{name}`" for name in names)])
    for cell, one in counted.items():
        yield row([cell.name, *(str(one[name]) for name in names)])


def numbers(results: Results) -> dict[str, object]:
    """All worlds in a few numbers, shares as ratios, None where nothing counts for them.

    `right_worst` is the lowest share of right answers among the worlds with a step of CLEAR or more and no layout,
    `right_at_sigma` that of those with a step of one SIGMA; `named_wrong_worst` is the highest share of answers that
    name a commit which is no step, and `named_wrong_at_most` the highest one-sided 95 % bound of that share.
    `sure_true` is the share that is true of what was stated with P >= 0.998, `covered` that of the 99 % intervals which
    hold, and `bias_worst` is the stated over the true step where it is furthest from 1, each in the worst world.
    """
    own = _own(results)
    found = {cell: summarise(trials) for cell, trials in own.items()}
    said = {cell: honesty(trials) for cell, trials in own.items()}
    clear = [one.right for cell, one in found.items() if _plain(cell) and cell.world.step >= CLEAR * SIGMA]
    at_sigma = [one.right for cell, one in found.items() if _plain(cell) and cell.world.step == SIGMA]
    biases = [of.bias for of in said.values() if of.bias is not None]
    return {
        "worlds": len(own),
        "trials": sum(one.trials for one in found.values()),
        "right_worst": _rounded(min(clear, default=None)),
        "right_at_sigma": _rounded(min(at_sigma, default=None)),
        "named_wrong_worst": _rounded(max(one.share(Verdict.NAMED_WRONG) for one in found.values())),
        "named_wrong_at_most": _rounded(max(one.at_most(Verdict.NAMED_WRONG) for one in found.values())),
        "sure_true": _rounded(min((of.sure_true / of.sure for of in said.values() if of.sure), default=None)),
        "covered": _rounded(min((of.covered / of.named for of in said.values() if of.named), default=None)),
        "bias_worst": _rounded(max(biases, key=lambda bias: abs(bias - 1), default=None)),
    }


@dataclass(frozen=True)
class Point:
    """Of statements about one `side` of the worlds the mean doubt (1 - P) and the share that was wrong, with its 90 %
    interval, and what `count` says of how many there are."""

    side: str
    doubt: float
    wrong: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Bias:
    """The mean stated step over the mean true one in a world, with its 99 % interval."""

    world: str
    ratio: float
    low: float
    high: float


def points(results: Results) -> list[Point]:
    """Stated against true, for the plot."""
    return [
        Point(
            side,
            1 - inside.stated,
            1 - inside.true / inside.count,
            lower_bound(inside.count - inside.true, inside.count),
            1 - lower_bound(inside.true, inside.count),
            inside.count,
        )
        for side, trials in _sides(results).items()
        for inside in calibration(statements(trials))
    ]


def biases(results: Results) -> list[Bias]:
    """Stated against true steps, for the plot."""
    found = []
    for cell, trials in _own(results).items():
        of = honesty(trials)
        if of.bias is not None and of.bias_error is not None:
            reach = WIDTH * of.bias_error
            found.append(Bias(cell.name, of.bias, of.bias - reach, of.bias + reach))
    return found


def _own(results: Results) -> Mapping[Cell, Sequence[Trial]]:
    return {cell: trials for (cell, search), trials in results.items() if search == OURS}


def _sides(results: Results) -> Mapping[str, Sequence[Trial]]:
    """All trials, apart by whether layout scatters."""
    own = _own(results)
    return {
        name: [trial for cell, trials in own.items() if bool(cell.world.layout) is layout for trial in trials]
        for name, layout in (("without layout", False), ("with layout", True))
    }


def _plain(cell: Cell) -> bool:
    return not cell.world.layout and cell.world.step > 0


def _percent(share: float) -> str:
    text = f"{share * 100:.1f}"
    return text.removesuffix(".0")


def _share(found: int, of: int) -> str:
    return f"{found / of * 100:.2f} % ({lower_bound(found, of) * 100:.2f} %)" if of else ""


def _ratio(of: Honesty) -> str:
    if of.bias is None or of.bias_error is None:
        return ""
    return f"{of.bias:.3f} ± {WIDTH * of.bias_error:.3f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)
