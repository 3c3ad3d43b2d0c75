"""One search over one path: measures what `search` asks for until it says where the steps are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from cpubisect.bench import Bench
from cpubisect.ends import Regime
from cpubisect.lab import Lab, Purpose, Unobservable
from cpubisect.path import Path
from cpubisect.prior import Prior
from cpubisect.search import Cost, Done, Measure, State, next_move
from cpubisect.stats import standard_error_percent
from cpubisect.store import ProbeRow
from cpubisect.workloads.probe import CPU, INSTRUCTIONS

FEWEST_ROUNDS = 3
MOST_ROUNDS = 15
"""Interleaved rounds of CPU time for one commit between the ends, at least and at most."""

SETTLED_PART = 8.0
"""A mean of CPU time is settled when its standard error is this part of the smallest step."""


TRUSTED_MOVES = 3
"""The prior decides so many moves of a search at most; after them candidates weigh alike, so that wrong suspects cost
no more than these."""

FEWEST_FOR_PRIOR = 5
"""On a shorter path there is nothing to gain from a prior."""


@dataclass(frozen=True)
class Yardstick:
    """How commits are compared in this bisection: `repeats` counts per commit in the exact regime, steps from
    `min_step` percent on, `direction` +1 for regressions; `anchors` are the good and bad commits, re-probed beside
    every other one in the noisy regime so that drift cancels."""

    metric: str
    regime: Regime
    repeats: int
    min_step: float
    direction: int
    anchors: tuple[str, str]

    def samples(self, rows: Sequence[ProbeRow]) -> list[float]:
        """This metric's samples, one per probe."""
        return instructions(rows) if self.metric == INSTRUCTIONS else cpu_samples(rows)


class Narrower:
    """Runs searches with one yardstick."""

    def __init__(self, lab: Lab, bench: Bench, yardstick: Yardstick) -> None:
        self._lab = lab
        self._bench = bench
        self._yardstick = yardstick

    def narrow(self, path: Path, min_step: float | None = None) -> tuple[Done, State]:
        """Search the whole path; raises Unobservable if one of its ends can't be measured."""
        ends = {number: self.cost(path.built(number)) for number in (0, path.size - 1)}
        known, dead = self._known(path)
        state = State(
            size=path.size,
            costs={**ends, **known},
            dead=dead,
            min_step=self._yardstick.min_step if min_step is None else min_step,
            direction=self._yardstick.direction,
        )
        state = replace(state, weights=self._prior(path, state))
        while isinstance(move := next_move(state), Measure):
            sha = path.built(move.number)
            self._bench.watch(
                "next", sha=sha, number=move.number, of=path.size - 1, why=move.why, inside=list(path.inside)
            )
            try:
                costs = {**state.costs, move.number: self.cost(sha)}
                state = replace(state, costs=costs)
            except Unobservable as reason:
                state = replace(state, dead={**state.dead, move.number: str(reason)})
                self._bench.watch("unobservable", sha=sha, why=str(reason))
            if len(state.costs) + len(state.dead) >= 2 + len(known) + len(dead) + TRUSTED_MOVES:
                state = replace(state, weights=())
        return move, state

    def _known(self, path: Path) -> tuple[dict[int, Cost], dict[int, str]]:
        """What the searches of other tests have had built and probed between the ends: costs, and why there is none."""
        costs: dict[int, Cost] = {}
        dead: dict[int, str] = {}
        shared = self._lab.shared() if self._yardstick.regime is Regime.EXACT else ()
        for number in range(1, path.size - 1):
            if path.built(number) in shared:
                try:
                    costs[number] = self.cost(path.built(number))
                except Unobservable as reason:
                    dead[number] = str(reason)
        return costs, dead

    def _prior(self, path: Path, state: State) -> tuple[float, ...]:
        """The weight of each number by what its commit's diff touches of what grew; empty where nothing tells."""
        before, after = state.costs[0], state.costs[path.size - 1]
        if path.size < FEWEST_FOR_PRIOR or not before.functions or not after.functions:
            return ()
        prior = Prior(self._bench, path)
        prior.record(before, after)
        return (0.0, *prior.weights(0, path.size - 1, before, after))

    def cost(self, sha: str) -> Cost:
        """What a commit costs per query; raises Unobservable."""
        if self._yardstick.regime is Regime.EXACT:
            rows = self._lab.probes(sha, Purpose.SEARCH, self._yardstick.repeats)[: self._yardstick.repeats]
            return Cost(fmean(instructions(rows)), mean_profile(rows), mean_attributed(rows))
        return Cost(self._settled_cpu(sha))

    def _settled_cpu(self, sha: str) -> float:
        """Mean CPU time, as its ratio to the good end in the same rounds times the good end's overall mean."""
        good, bad = self._yardstick.anchors
        sha = self._lab.stand_in(sha)
        reference = fmean(cpu_samples(self._lab.probes(good, Purpose.CLOCK, 1)))
        if sha == good:
            return reference
        shas = [good, sha] if sha == bad else [good, sha, bad]
        for count in range(FEWEST_ROUNDS, MOST_ROUNDS + 1):
            rounds = self._lab.rounds(shas, Purpose.clock(sha), count)
            beside, own = cpu_samples(rounds[0]), cpu_samples(rounds[1])
            if standard_error_percent(own) <= self._yardstick.min_step / SETTLED_PART:
                break
        return reference * fmean(own) / fmean(beside)


def instructions(rows: Sequence[ProbeRow]) -> list[float]:
    """Instructions per query, one value per probe."""
    return [fmean(row.values[INSTRUCTIONS]) for row in rows]


def cpu_samples(rows: Sequence[ProbeRow]) -> list[float]:
    """CPU microseconds per query, one value per probe: the smallest of its runs.

    Load on a shared host only ever adds; measured across server restarts, the minimum of a few short runs varies by
    about half as much as their mean.
    """
    return [min(row.values[CPU]) for row in rows]


def mean_profile(rows: Sequence[ProbeRow]) -> Mapping[str, float]:
    """Instructions per query of every function, averaged over probes."""
    return _mean([row.profile for row in rows])


def mean_attributed(rows: Sequence[ProbeRow]) -> Mapping[str, float]:
    """`mean_profile` with what libraries did for each function, over the probes that know; empty if none does."""
    return _mean([row.attributed for row in rows if row.attributed])


def _mean(profiles: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = {name for profile in profiles for name in profile}
    return {name: fmean(profile.get(name, 0.0) for profile in profiles) for name in names}
