"""One search on CPU time: carries out what `changepoint` asks for until it has its answer."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from cpubisect import changepoint, search
from cpubisect.bench import Bench
from cpubisect.channel import uncertainty
from cpubisect.costs import Cost
from cpubisect.digest import Reading
from cpubisect.lab import Lab, Purpose, Unobservable
from cpubisect.path import Path
from cpubisect.posterior import Posterior
from cpubisect.pricing import Pricing
from cpubisect.readings import cpu_samples
from cpubisect.situation import ENOUGH, NoStep, Probe, Situation, Steps

MOST_ROUNDS = 60
"""Ends that don't surely differ after so many readings each count as equal."""

LEAST_TOLD = 0.005
"""A gap that holds the step with less than this probability is not worth a place in the journal."""


class NoisySearch:
    """Searches one path for steps of `min_step` percent in a direction; every reading is in the store at once, and a
    search that was interrupted goes on with all of them."""

    def __init__(self, lab: Lab, bench: Bench, path: Path, min_step: float, direction: int) -> None:
        self._lab = lab
        self._bench = bench
        self._path = path
        self._min_step = min_step
        self._direction = direction
        self._pricing = Pricing(lab, path)

    def run(self) -> tuple[search.Done, search.State]:
        """Search to the end; raises Unobservable if an end can't be measured."""
        dead = self._failed()
        priced = False
        while True:
            situation = self._situation(dead)
            now = changepoint.current(situation) if changepoint.reproduced(situation) else None
            if now is not None:
                if not priced:
                    self._price(now)
                    priced = True
                self._tell(now)
            action = changepoint.next_action(situation)
            if not isinstance(action, Probe):
                return self._done(action), self._state(situation)
            sha = self._path.built(action.number)
            self._bench.watch(
                "next",
                sha=sha,
                number=action.number,
                of=self._path.size - 1,
                why=action.why,
                inside=list(self._path.inside),
            )
            try:
                self._visit(action)
            except Unobservable as reason:
                if action.number in (0, self._path.size - 1):
                    raise
                dead[action.number] = str(reason)
                self._bench.watch("unobservable", sha=sha, why=str(reason))

    def _failed(self) -> dict[int, str]:
        """What this bisection already knows to be unbuildable."""
        failures = self._lab.failures()
        shas = {n: self._path.built(n) for n in range(self._path.size)}
        return {n: failures[sha] for n, sha in shas.items() if sha in failures}

    def _situation(self, dead: Mapping[int, str]) -> Situation:
        numbers = {self._path.built(number): number for number in range(self._path.size)}
        readings = [
            Reading(numbers[sha], cpu_samples([row])[0], row.started)
            for sha, row in self._lab.series(Purpose.CLOCK)
            if sha in numbers
        ]
        price, probe_s = self._pricing.now(Purpose.CLOCK), self._pricing.probe_s(Purpose.CLOCK)
        return Situation(
            size=self._path.size,
            readings=readings,
            build_s=lambda number: price(number) - probe_s,
            probe_s=probe_s,
            dead=dict(dead),
            direction=self._direction,
            min_step=self._min_step,
            most_rounds=MOST_ROUNDS,
            enough=ENOUGH if self._bench.question.min_step is None else 1.0,
        )

    def _visit(self, action: Probe) -> None:
        """Read a commit, and the one beside it if asked for, in alternating order."""
        shas = [self._path.built(action.number)]
        if action.beside is not None:
            shas.insert(0, self._path.built(action.beside))
        self._lab.build(shas[-1])
        for turn in range(action.count):
            for sha in shas if turn % 2 == 0 else reversed(shas):
                # What is beside it was read before, even if it fails now: the commit itself is what is asked about.
                with contextlib.nullcontext() if sha == shas[-1] else contextlib.suppress(Unobservable):
                    self._lab.once_more(sha, Purpose.CLOCK)

    def _price(self, now: Posterior) -> None:
        """What the search is likely to cost, into the journal."""
        build_s, probe_s = self._pricing.full_build_s(), self._pricing.probe_s(Purpose.CLOCK)
        builds, seconds = changepoint.expected_cost(self._path.size, now.step, now.noise.sigma, build_s, probe_s)
        self._bench.watch(
            "price",
            builds=round(builds),
            most_builds=None,
            seconds=seconds,
            noise_percent=now.noise.sigma,
            inside=list(self._path.inside),
        )

    def _tell(self, now: Posterior) -> None:
        """The posterior, as it is now, into the journal."""
        best = int(now.probabilities.argmax())
        low, high = now.gaps[best]
        self._bench.watch(
            "posterior",
            low=self._path.built(low),
            high=self._path.built(high),
            candidates=high - low,
            probability=float(now.probabilities[best]),
            percent=now.step,
            noise_percent=now.noise.sigma,
            drift_percent=now.drift,
            layout_percent=now.layout,
            bits=uncertainty(now.probabilities),
            gaps=[
                [self._path.built(first), self._path.built(last), round(float(probability), 4)]
                for (first, last), probability in zip(now.gaps, now.probabilities, strict=True)
                if probability >= LEAST_TOLD
            ],
            inside=list(self._path.inside),
        )

    def _state(self, situation: Situation) -> search.State:
        """What was measured, as the exact search would have it: CPU time of each commit, with drift taken out."""
        data = situation.data
        costs = {n: Cost(data.level * (1 + mean / 100)) for n, mean in data.averages.items()}
        return replace(
            search.State(self._path.size, costs),
            dead=dict(situation.dead),
            min_step=self._min_step,
            direction=self._direction,
        )

    def _done(self, answer: Steps | NoStep) -> search.Done:
        if isinstance(answer, NoStep):
            return search.Done((), (), answer.percent, 0.0, unsure=answer.visible, small=answer.small)
        return search.Done(answer.found, (), answer.remainder, 0.0)
