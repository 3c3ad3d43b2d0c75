"""PURE: what is measured so far → which commit to build next, or where the steps are.

The line is numbered 0 (the good end) to `size` - 1 (the bad end); a number stands for a class of commits that share
one binary. Costs are exact or means known well enough; unobservable numbers stay candidates that can't be told apart.

The interval to split next is the one whose largest change of a single function is greatest, among those whose total
changed by at least the smallest step wanted: a function-level change dilutes less than the total, so several
culprits come out largest first, each as soon as no interval holds more. Intervals whose total hides steps that cancel
come after those; cost that merely moved from one function to another is netted out first.

Within it, the number is measured that tells most about the place of the step per second: prior weights say where the
step may be, prices what a measurement costs. Wrong weights cannot cost much: a split that could make a search longer
than halving by more than SPARE builds is not made.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cpubisect.search.costs import Cost, named_changes, net_of_shifts
from cpubisect.search.splits.interval import Interval, interval

SPARE = 2
"""A search for one step never takes more builds than halving its range, and so many, where all can be built."""

Weigh = Callable[[int, int], Sequence[float]]
"""From two measured numbers to the prior weights of the numbers after the first, up to the second."""

Price = Callable[[int], float]
"""Seconds that measuring a number takes."""


@dataclass(frozen=True)
class State:
    """All a decision depends on.

    `dead` maps an unobservable number to why (its first error line); `min_step` is the smallest step wanted, in percent
    of the good end's total; `direction` is +1 to find regressions and -1 for improvements. `tried` are the numbers that
    were measured or failed between the ends, in that order, and `free` those that cost no build; `released` are
    those that are built at a tagged release; steps up to `settled` numbers are known.
    """

    size: int
    costs: Mapping[int, Cost]
    dead: Mapping[int, str] = field(default_factory=dict)
    min_step: float = 1.0
    direction: int = 1
    tried: tuple[int, ...] = ()
    free: frozenset[int] = frozenset()
    settled: frozenset[int] = frozenset()
    released: frozenset[int] = frozenset()

    def with_cost(self, number: int, cost: Cost) -> "State":
        """The state after a number was measured."""
        return replace(self, costs={**self.costs, number: cost}, tried=(*self.tried, number))

    def with_failure(self, number: int, why: str) -> "State":
        """The state after a number turned out to be unobservable."""
        return replace(self, dead={**self.dead, number: why}, tried=(*self.tried, number))

    @cached_property
    def sorted_out(self) -> "SortedOut":
        """What `sort_out` says, worked out once."""
        return sort_out(self)


@dataclass(frozen=True)
class Measure:
    """Build and probe `number` next, because of `why`: it lies between `low` and `high`, which are measured."""

    number: int
    why: str
    low: int
    high: int


@dataclass(frozen=True)
class Found:
    """A step that cannot be split further: it happened after `low` and not after `high`, both measured.

    `percent` is the change of the total and `largest` the greatest change of one function, both in percent of the good
    end's total; `untried` counts the numbers between that were presumed as unbuildable as their neighbours on both
    sides; `probability` is how sure its place is (1 for an exact metric).
    """

    low: int
    high: int
    percent: float
    largest: float
    untried: int = 0
    probability: float = 1.0

    @property
    def single(self) -> bool:
        """True if just one number, `high`, can be the culprit."""
        return self.high - self.low == 1


@dataclass(frozen=True)
class Done:
    """The search is over, or has come to a step larger than all it may still find, for others to confirm it first
    (`more`): `steps` in the wanted direction, largest first; `shifts` are leaves where cost moved or
    cancelled; `remainder` is what the steps leave unexplained of the whole change, in percent; `hidden` is the
    largest per-function change inside any interval that was left unsplit, in percent. If noise let the difference of
    the ends not be reproduced, `unsure` is the smallest one, in percent, that would have been, and `small` says whether
    it is surely less than the smallest step wanted."""

    steps: tuple[Found, ...]
    shifts: tuple[Found, ...]
    remainder: float
    hidden: float
    unsure: float | None = None
    small: bool = False
    more: bool = False


def even(low: int, high: int) -> Sequence[float]:
    """No prior knowledge: all numbers weigh alike."""
    return [1.0] * (high - low)


def alike(number: int) -> float:
    """No knowledge of prices: all numbers cost the same."""
    return 1.0


def next_move(state: State, weigh: Weigh = even, price: Price = alike) -> Measure | Done:
    """Decide; raises ValueError unless both ends are measured."""
    sorted_out = state.sorted_out
    if sorted_out.open and not sorted_out.steps_first(state):
        part = sorted_out.open[0]
        inside = sorted_out.within(state, part, weigh(part.low, part.high), price)
        split = inside.split(part.low, part.high, _longest(state, part.low, part.high))
        assert split is not None, "an open interval has numbers to measure"
        return part.measure(split.number, split.share)
    whole = percent_change(state, 0, state.size - 1)
    rest = whole - sum(found.percent for found in sorted_out.steps)
    return Done(sorted_out.steps, sorted_out.shifts, rest, sorted_out.hidden, more=bool(sorted_out.open))


@dataclass(frozen=True)
class Open:
    """An interval between two measured numbers that is to be split: its total changed as `wanted`, or the change of one
    function, `largest` percent of the good end's total, may be hidden in it."""

    low: int
    high: int
    wanted: bool
    largest: float
    total: float

    def measure(self, number: int, share: float) -> Measure:
        """To measure one of its numbers, at or before which a share of the prior weight is."""
        kind = "largest change of one function" if self.wanted else "steps that may cancel"
        count = self.high - self.low
        suspicion = f"{share:.0%} of the suspicion at or before this one"
        why = f"{kind} {self.largest:.2f} % among {count} candidates, {suspicion}"
        return Measure(number, why, self.low, self.high)


@dataclass(frozen=True)
class SortedOut:
    """All intervals of a state: those `open`, the one to split first at the head; `steps`, largest first, and `shifts`
    that cannot be split; the largest change of one function in any other is `hidden` percent. `presumed` are numbers
    that are likely as unbuildable as their neighbours."""

    open: tuple[Open, ...]
    steps: tuple[Found, ...]
    shifts: tuple[Found, ...]
    hidden: float
    presumed: frozenset[int]

    def steps_first(self, state: State) -> bool:
        """Whether a step that is not settled is larger than all that open intervals may still have."""
        new = [abs(found.percent) for found in self.steps if found.high not in state.settled]
        return bool(new) and new[0] >= max([0.0, *(state.direction * part.total for part in self.open)])

    def within(self, state: State, part: Open, weights: Sequence[float], price: Price) -> Interval:
        """What is known of the numbers of an open interval."""
        return interval(part.low, part.high, weights, price, state.dead, self.presumed, state.free, state.released)


def sort_out(state: State) -> SortedOut:
    """Which intervals between measured numbers are to be split, and which are steps; raises ValueError unless both ends
    are measured."""
    if 0 not in state.costs or state.size - 1 not in state.costs:
        raise ValueError("both ends must be measured before the search")
    open_intervals: list[Open] = []
    steps: list[Found] = []
    shifts: list[Found] = []
    hidden = 0.0
    presumed = presumed_dead(state)
    for low, high in itertools.pairwise(sorted(state.costs)):
        total = percent_change(state, low, high)
        largest = largest_change(state, low, high)
        goes_on = any(n not in state.dead and n not in presumed for n in range(low + 1, high))
        wanted = state.direction * total >= state.min_step
        if goes_on and (wanted or largest >= state.min_step):
            open_intervals.append(Open(low, high, wanted, largest, total))
        elif goes_on:
            hidden = max(hidden, largest)
        elif wanted:
            untried = sum(1 for n in range(low + 1, high) if n in presumed)
            steps.append(Found(low, high, total, largest, untried))
        elif largest >= state.min_step:
            shifts.append(Found(low, high, total, largest))
    steps.sort(key=lambda found: -abs(found.percent))
    open_intervals.sort(key=lambda part: (not part.wanted, -part.largest, part.low))
    return SortedOut(tuple(open_intervals), tuple(steps), tuple(shifts), hidden, frozenset(presumed))


def percent_change(state: State, low: int, high: int) -> float:
    """Change of the total between two measured numbers, in percent of the good end's total."""
    return (state.costs[high].total - state.costs[low].total) / state.costs[0].total * 100


def largest_change(state: State, low: int, high: int, *, net: bool = True) -> float:
    """The greatest change of one function between two measured numbers, in percent of the good end's total, after cost
    that only moved is taken out if `net`.

    Without a profile it is the change of the total.
    """
    before, after = state.costs[low], state.costs[high]
    if not before.functions or not after.functions:
        return abs(percent_change(state, low, high))
    changes = named_changes(before, after)
    if net:
        changes = net_of_shifts(changes)
    return max((abs(change) for change in changes.values()), default=0.0) / state.costs[0].total * 100


def presumed_dead(state: State) -> set[int]:
    """Untried numbers between two unobservable ones that failed alike, with nothing measured between them."""
    presumed: set[int] = set()
    failures = sorted(state.dead)
    for low, high in itertools.pairwise(failures):
        same_reason = state.dead[low] == state.dead[high]
        if same_reason and not any(n in state.costs for n in range(low + 1, high)):
            presumed.update(range(low + 1, high))
    return presumed


def _longest(state: State, low: int, high: int) -> int:
    """How many numbers a build may leave on one side of it in an interval, if what is allowed is to be enough."""
    left = _allowance(state, low, high) - 1
    return 1 << left if left >= 0 else 0


def _allowance(state: State, low: int, high: int) -> int:
    """Builds that may still be spent on this interval: those of halving the whole range and SPARE, less those that were
    made for the intervals it came from. Failures don't count: halving would have met them too."""
    first, last = 0, state.size - 1
    spent = 0
    for number in state.tried:
        if first < number < last and number in state.costs:
            spent += number not in state.free
            if number <= low:
                first = number
            elif number >= high:
                last = number
    return halvings(state.size - 1) + SPARE - spent


def halvings(candidates: int) -> int:
    """Measurements that halving needs at most to find one of so many candidates."""
    return max(0, candidates - 1).bit_length()


def expected_builds(size: int) -> int:
    """Builds that halving `size` numbers needs at most for one culprit, both ends included."""
    return 2 + halvings(size - 1) if size > 1 else 2
