"""A comparison is measured: all versions are built, then probed round by round; what is done is never done again."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from cpubisect.builders.build import Outcome
from cpubisect.records.comparisons import Comparisons, Probed
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow
from cpubisect.run.bench.making import PROBE_ATTEMPTS, Bench
from cpubisect.run.measuring import Unobservable
from cpubisect.search import events
from cpubisect.search.comparing.question import LEAST_SIDES, Asked, Row, Side
from cpubisect.search.comparing.turns import Turn, turns
from cpubisect.search.events import Event, Watch
from cpubisect.workloads.probe import Test

_Place = tuple[str, str, int]
"""What is probed: a commit, a test, and with how many clients."""


@dataclass
class _Progress:
    """What was probed so far: successes, and failures since the last of them."""

    done: dict[_Place, int] = field(default_factory=dict)
    failed: dict[_Place, int] = field(default_factory=dict)

    def take(self, place: _Place, error: bool) -> None:
        if error:
            self.failed[place] = self.failed.get(place, 0) + 1
        else:
            self.done[place] = self.done.get(place, 0) + 1
            self.failed[place] = 0


def measure_rounds(bench: Bench, comparisons: Comparisons, asked: Asked, tests: Mapping[str, Test]) -> None:
    """Build and probe what has not been; raises UserError where the host cannot go on.

    A version that cannot be built, and one that cannot be probed in a row, is left out of it, and the reason kept.
    """
    told = events.Comparing(
        names=tuple(side.name for side in asked.sides),
        shas=tuple(side.sha for side in asked.sides),
        rows=len(asked.rows),
        rounds=asked.rounds,
        probes=len(asked.sides) * len(asked.rows) * asked.rounds,
    )
    bench.tell(told)
    builds = _builds(bench, asked)
    if len(builds) < LEAST_SIDES:
        return
    progress, left_out = _so_far(comparisons.probes(bench.owner))
    started, made = time.monotonic(), 0
    planned = [turn for turn in turns(asked) if turn.side.sha in builds]
    for place, turn in enumerate(planned):
        made += _take(bench, asked, turn, builds[turn.side.sha], tests, progress, left_out)
        ends = place + 1 == len(planned) or planned[place + 1].round != turn.round
        if ends and made:
            pace = (time.monotonic() - started) / made
            left = sum(1 for later in planned[place + 1 :] if _place(later.side, later.row) not in left_out)
            bench.tell(events.RoundDone(number=turn.round, of=asked.rounds, left=pace * left))
    bench.tell(events.Compared())


def _builds(bench: Bench, asked: Asked) -> dict[str, BuildRow]:
    """The builds of those versions that have one."""
    found = {}
    for side in asked.sides:
        try:
            build = bench.find_or_make(side.sha)
            if build.outcome != Outcome.BUILT:
                raise Unobservable(build.first_error or build.outcome)
            found[side.sha] = build
        except Unobservable as reason:
            bench.tell(events.LeftOut(sha=side.sha, name=side.name, why=str(reason)))
    return found


def _so_far(probes: list[Probed]) -> tuple[_Progress, set[_Place]]:
    """What earlier runs did, and what they gave up: where no probe has worked, and often enough not."""
    progress = _Progress()
    for probe in probes:
        progress.take((probe.sha, probe.test, probe.clients), bool(probe.error))
    given_up = {
        place for place, count in progress.failed.items() if count >= PROBE_ATTEMPTS and not progress.done.get(place)
    }
    # Where any has worked, failures of an earlier run were likely the host's.
    progress.failed.clear()
    return progress, given_up


def _take(
    bench: Bench,
    asked: Asked,
    turn: Turn,
    build: BuildRow,
    tests: Mapping[str, Test],
    progress: _Progress,
    left_out: set[_Place],
) -> int:
    """Make the probe of one turn unless it is there; how many were made."""
    place, made = _place(turn.side, turn.row), 0
    purpose = Purpose.SEARCH if turn.counts else Purpose.CLOCK
    label = asked.label(turn.row)
    telling = replace(bench, tell=partial(_tell_of, bench.tell, label)) if len(asked.rows) > 1 else bench
    while place not in left_out and progress.done.get(place, 0) < turn.round:
        worked = telling.probe(build, purpose, tests[turn.row.test], turn.row.parameters)
        made += 1
        progress.take(place, not worked)
        if progress.failed[place] >= PROBE_ATTEMPTS:
            left_out.add(place)
            probes = bench.store.probes(bench.owner, build.id, test=turn.row.test)
            why = next((probe.error for probe in reversed(probes) if probe.error), "") or ""
            bench.tell(events.LeftOut(sha=turn.side.sha, name=turn.side.name, row=label, why=why))
    return made


def _tell_of(tell: Watch, label: str, event: Event) -> None:
    tell(replace(event, test=label))


def _place(side: Side, row: Row) -> _Place:
    return side.sha, row.test, row.clients
