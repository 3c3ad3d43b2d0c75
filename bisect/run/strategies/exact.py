"""The search on what is counted: each commit's counts are taken once, and are what it costs."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from statistics import median

from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import counted, mean_attributed, mean_profile
from cpubisect.run.crew import begin_all
from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.prior import Prior
from cpubisect.run.strategies.estimates import Estimates
from cpubisect.run.strategies.loop import Action, Searched
from cpubisect.search import events
from cpubisect.search.costs import Cost
from cpubisect.search.ends import Yardstick
from cpubisect.search.exact import SPARE, Done, Measure, Price, State, Weigh, even, halvings, next_move
from cpubisect.search.line import Line
from cpubisect.search.many.moves import ahead, chances, next_moves, next_probe, pointless

FEWEST_FOR_PRIOR = 5
"""On a shorter line there is nothing to gain from a prior."""


class ExactSearch:
    """A strategy for one line; what other searches measured of it counts from the beginning."""

    def __init__(self, lab: Lab, line: Line, yardstick: Yardstick) -> None:
        """Measure both ends; raises Unobservable."""
        self._lab = lab
        self._line = line
        self._yardstick = yardstick
        begin_all(lab.crew, (line.built(0), line.built(line.size - 1)))
        ends = {number: self._cost(number) for number in (0, line.size - 1)}
        known, dead = measured_before(lab, line, yardstick)
        self._estimates = Estimates(lab, line)
        self._state = State(
            size=line.size,
            costs={**ends, **known},
            dead=dead,
            min_step=yardstick.min_step,
            direction=yardstick.direction,
            tried=tried_before(lab, line),
            free=self._estimates.free(),
            released=released(lab, line),
            settled=frozenset(n for n in range(line.size) if line.built(n) in yardstick.settled),
        )
        self._prior = self._recorded_prior()
        self._tell_price()

    def next(self) -> Action | Searched:
        """What to measure now, or the end of the search."""
        price = self._estimates.price()
        move = next_move(self._state, self._weigh(), price)
        return self._action(move, price) if isinstance(move, Measure) else self._searched(move)

    def next_together(self, free: int, pending: Mapping[int, float]) -> Sequence[Action] | Searched:
        """What so many free builders begin now, beside what is `pending` (number → seconds until it is measured), or
        the end of the search."""
        price = self._estimates.price()
        moves = next_moves(self._state, self._weigh(), price, free, pending, first=self._lab.question.first)
        if isinstance(moves, Done):
            # What is being built there tells whether what lies between two failures fails like these.
            return [] if self._state.sorted_out.presumed & pending.keys() else self._searched(moves)
        return [self._action(move, price) for move in moves]

    def next_probe(self, ready: Collection[int]) -> Action | None:
        """Which of the numbers that are built to measure now; None if none tells anything."""
        move = next_probe(self._state, ready, self._weigh())
        return Action(move.number, move.why, partial(self._measure, move.number)) if move else None

    def waiting(self, ready: Collection[int]) -> Collection[int]:
        """Those of the numbers that are built which are still to be measured."""
        weigh = self._weigh()
        return [number for number in ready if next_probe(self._state, (number,), weigh) is not None]

    def pointless(self, pending: Mapping[int, float]) -> frozenset[int]:
        """The pending numbers that nobody asks for any more."""
        likely = dict(self.ahead(()))
        price = self._estimates.price()
        useless = pointless(self._state, pending, price, lambda number: likely.get(self._line.built(number), 0.0))
        return useless - self._state.sorted_out.presumed

    def ahead(self, built: Collection[str]) -> Sequence[tuple[str, float]]:
        """The commits that are likely needed to confirm the next step and not `built`, with how likely."""
        return ahead(self._line, chances(self._state, self._weigh()), built)

    def _action(self, move: Measure, price: Price) -> Action:
        seconds = self._estimates.build_s(move.number, price)
        return Action(move.number, move.why, partial(self._measure, move.number), (move.low, move.high), seconds)

    def _searched(self, done: Done) -> Searched:
        costs = {number: measured.total for number, measured in self._state.costs.items()}
        return Searched(self._line, done, costs, self._state.dead)

    def give_up(self, number: int, why: str) -> None:
        """A number could not be measured: it stays a candidate that can't be."""
        self._state = self._state.with_failure(number, why)

    def _measure(self, number: int) -> None:
        self._state = self._state.with_cost(number, self._cost(number))

    def _cost(self, number: int) -> Cost:
        return cost(self._lab, self._line.built(number), self._yardstick)

    def _tell_price(self) -> None:
        """What the search for one step is likely to cost, into the journal."""
        size = self._line.size
        if size < 3:
            return
        most = min(halvings(size - 1) + SPARE, size - 2)
        tell_price(self._lab, self._line, self._estimates.forecast(self._weigh()(0, size - 1)), most)

    def _weigh(self) -> Weigh:
        """Prior weights within an interval, by what grew between its own two ends."""
        prior, costs = self._prior, self._state.costs
        if prior is None:
            return even
        return lambda low, high: prior.weights(low, high, costs[low], costs[high])

    def _recorded_prior(self) -> Prior | None:
        """What the commits touch of what grew; None where nothing tells."""
        before, after = self._state.costs[0], self._state.costs[self._line.size - 1]
        if self._line.size < FEWEST_FOR_PRIOR or not before.functions or not after.functions:
            return None
        prior = Prior(self._lab, self._line, self._yardstick.variables)
        prior.record(before, after)
        return prior


def tell_price(lab: Lab, line: Line, forecast: tuple[float, float], most_builds: int) -> None:
    """So many builds and seconds, by a forecast, and so many builds at most, into the journal."""
    builds, seconds = forecast
    lab.tell(events.Price(builds=round(builds), most_builds=most_builds, seconds=seconds, inside=line.inside))


def released(lab: Lab, line: Line) -> frozenset[int]:
    """The numbers of a line that are built at the commit of a tagged release."""
    return frozenset(number for number in range(line.size) if lab.history.release(line.built(number)))


def tried_before(lab: Lab, line: Line) -> tuple[int, ...]:
    """The numbers between the ends of a line that were built for this test so far, in order."""
    numbers = {line.built(number): number for number in range(1, line.size - 1)}
    return tuple(numbers[sha] for sha in lab.built_here() if sha in numbers)


def built_before(lab: Lab, line: Line) -> tuple[int, ...]:
    """The numbers between the ends of a line that were built in this bisection so far."""
    shared = {row.sha for row, _ in lab.builds()}
    return tuple(number for number in range(1, line.size - 1) if line.built(number) in shared)


def unprobed(lab: Lab, line: Line) -> frozenset[int]:
    """The numbers between the ends of a line that were built ahead and not asked for so far; none without a crew: then
    what was built is asked for."""
    if lab.crew.builders < 2:
        return frozenset()
    failed, probed = lab.failures(), {sha for sha, _ in lab.series(Purpose.SEARCH)}
    own = ((number, line.built(number)) for number in built_before(lab, line))
    return frozenset(number for number, sha in own if sha not in failed and sha not in probed)


def measured_before(lab: Lab, line: Line, yardstick: Yardstick) -> tuple[dict[int, Cost], dict[int, str]]:
    """What was built and probed between the ends of a line so far: costs, and why there is none."""
    costs: dict[int, Cost] = {}
    dead: dict[int, str] = {}
    waiting = unprobed(lab, line)
    for number in built_before(lab, line):
        if number in waiting:
            continue
        try:
            costs[number] = cost(lab, line.built(number), yardstick)
        except Unobservable as reason:
            dead[number] = str(reason)
    return costs, dead


def cost(lab: Lab, sha: str, yardstick: Yardstick) -> Cost:
    """What a commit costs in the metric that is counted, without what is explained: the median of as many counts as the
    yardstick says, and of those that were made to confirm a step; raises Unobservable."""
    repeats = yardstick.repeats
    rows = [*lab.probes(sha, Purpose.SEARCH, repeats)[:repeats], *lab.fresh_counts(sha)]
    found = Cost(median(counted(rows, lab.question.metric.counted)), mean_profile(rows), mean_attributed(rows))
    for known in explained(lab, sha, yardstick):
        found -= known
    return found


def explained(lab: Lab, sha: str, yardstick: Yardstick) -> list[Cost]:
    """The steps that are explained and that a commit contains."""
    return [known.step for known in yardstick.explained if lab.history.contains(sha, known.sha)]
