"""One search over one path: measures what `search` asks for until it says where the steps are."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from cpubisect.bench import Bench
from cpubisect.costs import Cost
from cpubisect.ends import Regime
from cpubisect.lab import Lab, Purpose, Unobservable
from cpubisect.noisy import NoisySearch
from cpubisect.path import Path
from cpubisect.pricing import Pricing
from cpubisect.prior import Prior
from cpubisect.readings import instructions, mean_attributed, mean_profile
from cpubisect.search import (
    SPARE,
    Done,
    Measure,
    State,
    Weigh,
    even,
    expected_moves,
    halvings,
    next_move,
)

FEWEST_FOR_PRIOR = 5
"""On a shorter path there is nothing to gain from a prior."""


@dataclass(frozen=True)
class Yardstick:
    """How commits are compared in this bisection: `repeats` counts per commit in the exact regime, steps from
    `min_step` percent on, `direction` +1 for regressions."""

    metric: str
    regime: Regime
    repeats: int
    min_step: float
    direction: int


class Narrower:
    """Runs searches with one yardstick."""

    def __init__(self, lab: Lab, bench: Bench, yardstick: Yardstick) -> None:
        self._lab = lab
        self._bench = bench
        self._yardstick = yardstick

    def narrow(self, path: Path, min_step: float | None = None) -> tuple[Done, State]:
        """Search the whole path; raises Unobservable if one of its ends can't be measured."""
        least = self._yardstick.min_step if min_step is None else min_step
        if self._yardstick.regime is Regime.NOISY:
            return NoisySearch(self._lab, self._bench, path, least, self._yardstick.direction).run()
        ends = {number: self.cost(path.built(number)) for number in (0, path.size - 1)}
        known, dead = self._known(path)
        pricing = Pricing(self._lab, path)
        state = State(
            size=path.size,
            costs={**ends, **known},
            dead=dead,
            min_step=least,
            direction=self._yardstick.direction,
            tried=() if self._bench.several else self._tried(path),
            free=pricing.free(),
        )
        prior = self._prior(path, state)
        self._price(path, pricing, self._weigher(prior, state)(0, path.size - 1))
        while isinstance(move := next_move(state, self._weigher(prior, state), pricing.now()), Measure):
            sha = path.built(move.number)
            low = max(number for number in state.costs if number < move.number)
            high = min(number for number in state.costs if number > move.number)
            self._bench.watch(
                "next",
                sha=sha,
                number=move.number,
                of=path.size - 1,
                why=move.why,
                low=path.built(low),
                high=path.built(high),
                inside=list(path.inside),
            )
            try:
                state = state.with_cost(move.number, self.cost(sha))
            except Unobservable as reason:
                state = state.with_failure(move.number, str(reason))
                self._bench.watch("unobservable", sha=sha, why=str(reason))
        return move, state

    def _price(self, path: Path, pricing: Pricing, weights: Sequence[float]) -> None:
        """What the search for one step is likely to cost, into the journal."""
        if path.size < 3:
            return
        builds = expected_moves(weights)
        self._bench.watch(
            "price",
            builds=round(builds),
            most_builds=min(halvings(path.size - 1) + SPARE, path.size - 2),
            seconds=builds * (pricing.full_build_s() + pricing.probe_s()),
            inside=list(path.inside),
        )

    def _weigher(self, prior: Prior | None, state: State) -> Weigh:
        """Prior weights within an interval, by what grew between its own two ends."""
        if prior is None:
            return even
        return lambda low, high: prior.weights(low, high, state.costs[low], state.costs[high])

    def _tried(self, path: Path) -> tuple[int, ...]:
        """The numbers between the ends that were built for this search before it was interrupted, in order."""
        numbers = {path.built(number): number for number in range(1, path.size - 1)}
        return tuple(numbers[sha] for sha in self._lab.made() if sha in numbers)

    def _known(self, path: Path) -> tuple[dict[int, Cost], dict[int, str]]:
        """What was built and probed between the ends before this search: costs, and why there is none."""
        costs: dict[int, Cost] = {}
        dead: dict[int, str] = {}
        shared = self._lab.shared()
        for number in range(1, path.size - 1):
            if path.built(number) in shared:
                try:
                    costs[number] = self.cost(path.built(number))
                except Unobservable as reason:
                    dead[number] = str(reason)
        return costs, dead

    def _prior(self, path: Path, state: State) -> Prior | None:
        """What the commits touch of what grew; None where nothing tells."""
        before, after = state.costs[0], state.costs[path.size - 1]
        if path.size < FEWEST_FOR_PRIOR or not before.functions or not after.functions:
            return None
        prior = Prior(self._bench, path)
        prior.record(before, after)
        return prior

    def cost(self, sha: str) -> Cost:
        """What a commit costs in instructions per query; raises Unobservable."""
        rows = self._lab.probes(sha, Purpose.SEARCH, self._yardstick.repeats)[: self._yardstick.repeats]
        return Cost(fmean(instructions(rows)), mean_profile(rows), mean_attributed(rows))
