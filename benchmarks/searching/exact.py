"""The other kind of metric: counts that repeat exactly, in histories with many small and several planted steps.

No noise, so a commit is measured once and only builds count. The product's search by function is compared with the
same search that sees totals only, and with `git bisect` by a cut, which finds one step.
"""

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from cpubisect.search.costs import Cost
from cpubisect.search.exact import Measure, State, next_move
from searching.git_bisect import next_commit

FUNCTIONS = 60
BASE = 100.0
QUIET_SHARE = 0.41
"""Share of commits that change nothing; the others change one function by a Laplace-distributed amount."""

SCALE = 0.02
"""Scale of that amount, in percent of the total."""

PLANTED = (4.6, 2.1, 1.2, 0.7, -0.9, -1.5)
"""Planted steps in percent of the total, spread over three functions."""

MIN_STEP = 0.4
_PLACES = 17


@dataclass(frozen=True)
class Exact:
    """One drawn history: which function each number changes, by how much, and where the planted steps are."""

    functions: tuple[int, ...]
    changes: tuple[float, ...]
    planted: tuple[int, ...]

    def cost(self, number: int) -> Cost:
        """The exact cost of a number, by function."""
        costs = np.full(FUNCTIONS, BASE / FUNCTIONS)
        np.add.at(costs, list(self.functions[: number + 1]), self.changes[: number + 1])
        return Cost(float(costs.sum()), {f"f{i}": float(cost) for i, cost in enumerate(costs)})


@dataclass(frozen=True)
class Tally:
    """Means over many histories: the share of planted steps found, of the largest one found, and builds."""

    found: float
    largest: float
    builds: float


def draw(seed: int, trial: int, size: int) -> Exact:
    """One history; the same for the same numbers."""
    rng = np.random.default_rng((seed, trial, size, _PLACES))
    functions = rng.integers(FUNCTIONS, size=size)
    changes = np.where(rng.random(size) < QUIET_SHARE, 0.0, rng.laplace(0.0, SCALE, size))
    changes[0] = 0.0
    planted = 1 + rng.permutation(size - 1)[: len(PLANTED)]
    changes[planted] = PLANTED
    functions[planted] = np.arange(len(PLANTED)) % 3
    return Exact(tuple(functions.tolist()), tuple(changes.tolist()), tuple(planted.tolist()))


def by_product(history: Exact, with_functions: bool, released: frozenset[int] = frozenset()) -> tuple[set[int], int]:
    """The single numbers the product's search ends with, and its builds; some numbers may be tagged releases."""
    size = len(history.changes)

    def measure(number: int) -> Cost:
        cost = history.cost(number)
        return cost if with_functions else Cost(cost.total)

    state = State(size, {number: measure(number) for number in (0, size - 1)}, min_step=MIN_STEP, released=released)
    while isinstance(move := next_move(state), Measure) or move.more:
        if isinstance(move, Measure):
            state = state.with_cost(move.number, measure(move.number))
        else:
            state = replace(state, settled=frozenset(step.high for step in move.steps))
    return {step.high for step in move.steps + move.shifts if step.single}, len(state.costs)


def by_git(history: Exact) -> tuple[set[int], int]:
    """Where `git bisect` ends with a cut in the middle between the ends, and its builds."""
    totals = list(accumulate(history.changes))
    cut = totals[-1] / 2
    low, high, builds = 0, len(totals) - 1, 2
    while (number := next_commit(low, high, ())) is not None:
        builds += 1
        if (totals[number] > cut) == (totals[-1] > cut):
            high = number
        else:
            low = number
    return {high}, builds


def compare(seed: int, trials: int, size: int) -> dict[str, Tally]:
    """All three searches over the same histories."""
    outcomes: dict[str, list[tuple[set[int], int, Exact]]] = {}
    for trial in range(trials):
        history = draw(seed, trial, size)
        for name, (found, builds) in (
            ("cpubisect, by function", by_product(history, True)),
            ("cpubisect, totals only", by_product(history, False)),
            ("git bisect ×1", by_git(history)),
        ):
            outcomes.setdefault(name, []).append((found, builds, history))
    return {
        name: Tally(
            found=sum(len(found & set(one.planted)) for found, _, one in several) / (len(PLANTED) * trials),
            largest=sum(one.planted[0] in found for found, _, one in several) / trials,
            builds=sum(builds for _, builds, _ in several) / trials,
        )
        for name, several in outcomes.items()
    }
