"""The search on CPU time: each reading is noise and drift too, and says a little."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import cpu_samples
from cpubisect.run.measuring import Lab, Unobservable, once_more
from cpubisect.run.strategies.estimates import Estimates
from cpubisect.run.strategies.loop import Action, Searched
from cpubisect.search import events
from cpubisect.search.clock import noisy as changepoint
from cpubisect.search.clock.digest import Reading
from cpubisect.search.clock.posterior import Posterior
from cpubisect.search.clock.situation import ENOUGH, NoStep, Probe, Situation, Steps
from cpubisect.search.ends import Yardstick
from cpubisect.search.exact import Done
from cpubisect.search.line import Line
from cpubisect.search.many import ahead
from cpubisect.search.many.ahead import next_builds, while_waiting, with_pending
from cpubisect.search.many.moves import ahead as confirming
from cpubisect.search.stats import uncertainty

SCATTERED = 0.95
"""Where layouts scatter with at least this probability, readings of one binary each are given up."""

LEAST_TOLD = 0.005
"""A gap that holds the step with less than this probability is not worth a place in the journal."""

BESIDE = "a builder is free, and it splits the rest"
"""Why a commit is built that is not what is read next."""


class NoisySearch:
    """A strategy for one line; every reading is kept at once, and a search that was interrupted goes on with all."""

    def __init__(self, lab: Lab, line: Line, yardstick: Yardstick) -> None:
        self._lab = lab
        self._line = line
        self._yardstick = yardstick
        self._estimates = Estimates(lab, line)
        self._numbers = {sha: number for number, group in enumerate(line.classes) for sha in group}
        failures = lab.failures()
        shas = {number: line.built(number) for number in range(line.size)}
        self._dead = {number: failures[sha] for number, sha in shas.items() if sha in failures}
        self._priced = False
        self._told = 0
        self._changes = 0
        self._being_built: Mapping[int, float] = {}
        self._over = False
        self._read: Situation | None = None

    def next(self) -> Action | Searched:
        """What to measure now, or the end of the search."""
        situation = self._situation()
        if (given_up := self._looked_at(situation)) is not None:
            return given_up
        action = changepoint.next_action(situation)
        return self._action(action) if isinstance(action, Probe) else self._searched(action, situation)

    def next_together(self, free: int, pending: Mapping[int, float]) -> Sequence[Action] | Searched:
        """What so many free builders begin now, beside what is `pending` (number → seconds until it is measured), or
        the end of the search."""
        situation = self._situation()
        if (given_up := self._looked_at(situation)) is not None:
            self._over = True
            return given_up
        self._being_built = _unbuilt(situation, pending)
        action = changepoint.next_action(with_pending(situation, self._being_built))
        if not isinstance(action, Probe):
            self._over = True
            return self._searched(action, situation)
        numbers = next_builds(situation, free, self._being_built)
        return [self._action(action if n == action.number else Probe(n, 1, BESIDE)) for n in numbers]

    def next_probe(self, ready: Collection[int]) -> Action | None:
        """What to read now of what is there or `ready`: what tells most, or what tells most meanwhile if that is being
        built; None if nothing would tell anything."""
        situation = self._situation()
        action = changepoint.next_action(with_pending(situation, self._being_built))
        if not isinstance(action, Probe):
            return None
        if action.number in ready or situation.build_s(action.number) == 0:
            return self._action(action)
        meanwhile = while_waiting(situation)
        return self._action(meanwhile) if meanwhile else None

    def waiting(self, ready: Collection[int]) -> Collection[int]:
        """Those of the numbers that are `ready` to be built: what is there is read as often as it tells something."""
        situation = self._situation()
        return [number for number in ready if situation.build_s(number) > 0]

    def pointless(self, pending: Mapping[int, float]) -> frozenset[int]:
        """The pending numbers that nobody asks for any more; all at the end of the search."""
        situation = self._situation()
        return frozenset(pending) if self._over else ahead.pointless(situation, _unbuilt(situation, pending))

    def ahead(self, built: Collection[str]) -> Sequence[tuple[str, float]]:
        """The commits that are likely needed to confirm the step and not `built`, with how likely."""
        return confirming(self._line, ahead.chances(self._situation()), built)

    def _looked_at(self, situation: Situation) -> Searched | None:
        """Tell what is known now, once for each reading; the end of the search if layouts scatter too much for it."""
        self._tell_changes(situation.data.changes)
        now = changepoint.current(situation) if changepoint.reproduced(situation) else None
        if now is None:
            return None
        if not self._priced:
            self._tell_price(now)
            self._priced = True
        if self._told != len(situation.readings):
            self._tell(now)
            self._told = len(situation.readings)
        if now.scattered >= SCATTERED and not self._yardstick.redrawn and not self._lab.redraws:
            return self._searched(NoStep(now.step, 0.0), situation, scattered=True)
        return None

    def _action(self, probe: Probe) -> Action:
        seconds = self._estimates.build_s(probe.number, self._estimates.price())
        return Action(probe.number, probe.why, partial(self._visit, probe), seconds=seconds)

    def stated(self, low: int, high: int) -> float:
        """How likely a step is between two numbers that were measured, by all readings there are."""
        now = changepoint.current(self._situation())
        return changepoint.held(now, low, high) if now is not None else 0.0

    def give_up(self, number: int, why: str) -> None:
        """A number could not be measured: it stays a candidate that can't be."""
        self._dead[number] = why

    def _situation(self) -> Situation:
        redrawn = self._yardstick.redrawn
        readings = [
            Reading(self._numbers[sha], cpu_samples([row])[0], row.started, redrawn=bool(row.purpose.link))
            for sha, row in self._lab.clocked()
            if sha in self._numbers and (row.purpose.link or not redrawn)
        ]
        price, probe_s = self._estimates.price(Purpose.CLOCK), self._estimates.probe_s(Purpose.CLOCK)
        situation = Situation(
            size=self._line.size,
            readings=readings,
            build_s=lambda number: price(number) - probe_s,
            probe_s=probe_s,
            dead=dict(self._dead),
            direction=self._yardstick.direction,
            min_step=self._yardstick.min_step,
            most_rounds=changepoint.MOST_ROUNDS,
            enough=ENOUGH if self._lab.question.min_step is None else 1.0,
        )
        if self._read is None or len(self._read.readings) != len(readings):
            self._read = situation
        return situation.with_data_of(self._read)

    def _visit(self, action: Probe) -> None:
        """Read a commit, and the one beside it if asked for, in alternating order; raises Unobservable."""
        shas = [self._line.built(action.number)]
        if action.beside is not None:
            shas.insert(0, self._line.built(action.beside))
        self._lab.build(shas[-1])
        for turn in range(action.count):
            for sha in shas if turn % 2 == 0 else reversed(shas):
                # What is beside it was read before, even if it fails now: the commit itself is what is asked about.
                with contextlib.nullcontext() if sha == shas[-1] else contextlib.suppress(Unobservable):
                    once_more(self._lab, sha, Purpose.CLOCK, redrawn=self._yardstick.redrawn)

    def _tell_changes(self, changes: Sequence[float]) -> None:
        """Changes of the host that were not told yet, into the journal."""
        for percent in changes[self._changes :]:
            self._lab.tell(events.HostChanged(percent=percent))
        self._changes = max(self._changes, len(changes))

    def _tell_price(self, now: Posterior) -> None:
        """What the search is likely to cost, into the journal."""
        build_s, probe_s = self._estimates.likely_build_s(), self._estimates.probe_s(Purpose.CLOCK)
        builds, seconds = changepoint.expected_cost(self._line.size, now.step, now.sigma, build_s, probe_s)
        self._lab.tell(
            events.Price(
                builds=round(builds),
                most_builds=None,
                seconds=seconds,
                noise_percent=now.sigma,
                inside=self._line.inside,
            )
        )

    def _tell(self, now: Posterior) -> None:
        """The posterior, as it is now, into the journal."""
        best = int(now.probabilities.argmax())
        low, high = now.gaps[best]
        self._lab.tell(
            events.Posterior(
                low=self._line.built(low),
                high=self._line.built(high),
                candidates=high - low,
                probability=float(now.probabilities[best]),
                percent=now.step,
                noise_percent=now.sigma,
                drift_percent=now.drift,
                layout_percent=now.layout,
                bits=uncertainty(now.probabilities),
                gaps=tuple(
                    (self._line.built(first), self._line.built(last), round(float(probability), 4))
                    for (first, last), probability in zip(now.gaps, now.probabilities, strict=True)
                    if probability >= LEAST_TOLD
                ),
                inside=self._line.inside,
            )
        )

    def _searched(self, answer: Steps | NoStep, situation: Situation, *, scattered: bool = False) -> Searched:
        """The end of the search, with CPU times from which drift is taken out."""
        data = situation.data
        costs = {number: data.level * (1 + mean / 100) for number, mean in data.averages.items()}
        if isinstance(answer, NoStep):
            done = Done((), (), answer.percent, 0.0, unsure=answer.visible, small=answer.small)
        else:
            done = Done(answer.found, (), answer.remainder, 0.0)
        return Searched(self._line, done, costs, self._dead, data.sigma, scattered)


def _unbuilt(situation: Situation, pending: Mapping[int, float]) -> dict[int, float]:
    """Those of the pending numbers whose binary is not there yet."""
    return {number: seconds for number, seconds in pending.items() if situation.build_s(number) > 0}
