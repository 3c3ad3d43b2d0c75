"""Labs of scripted commits for several tests of one bisection, which share builders whose builds end as a lot falls."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

from fake_lab import Commits, FakeLab

from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow, ProbeRow
from cpubisect.run.bench.crew import HostCrew
from cpubisect.run.bench.making import Begun
from cpubisect.run.measuring import Unobservable
from cpubisect.run.runner import run
from cpubisect.run.turns import Turns
from cpubisect.search.events import Event
from cpubisect.search.question import Question
from cpubisect.search.verdict import Verdict


class Slow:
    """A build that ends when it is looked at and the lot falls on it."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self.ended = self.cancelled = False

    def done(self) -> bool:
        self.ended = self.ended or self._draw.random() < 0.4
        return self.ended

    def wait(self, timeout_s: float | None = None) -> bool:
        return self.done()

    def cancel(self) -> None:
        assert not self.ended
        self.cancelled = True


@dataclass
class Yard:
    """What all tests share: so many builders, what they have `begun` and `built`, and what was `made` and `withdrawn`,
    in order."""

    builders: int
    draw: Random
    turns: Turns = field(default_factory=Turns)
    begun: dict[str, Begun] = field(default_factory=dict)
    built: dict[str, BuildRow] = field(default_factory=dict)
    inboxes: dict[str, list[str]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    labs: list["OneOfSeveral"] = field(default_factory=list)
    most: int = 0

    def order(self, sha: str, seconds: float) -> Begun:
        made: Any = Slow(self.draw)
        recipe: Any = None
        self.begun[sha] = Begun(recipe, made, 0.0, seconds)
        return self.begun[sha]


class SharedBench:
    """What a crew asks of a bench, for one test."""

    def __init__(self, lab: "OneOfSeveral", yard: Yard) -> None:
        self._lab, self._yard = lab, yard
        self.asker, self.turns, self.inboxes, self.begun = lab.test_name, yard.turns, yard.inboxes, yard.begun
        self.executor = SimpleNamespace(here=False, builders=yard.builders, hosts=lambda: ())

    def begin(self, sha: str, seconds: float) -> bool:
        if sha in self._yard.built:
            return False
        if sha not in self.begun:
            self._yard.order(sha, seconds)
            self._yard.most = max(self._yard.most, len(self.begun))
        return True

    def ended(self) -> list[str]:
        return [sha for sha, one in self.begun.items() if one.handle.done()]

    def receive(self, sha: str) -> None:
        del self.begun[sha]
        self._yard.made.append(sha)
        self._yard.built[sha] = self._lab.row(sha)
        for asker, inbox in self.inboxes.items():
            if asker != self.asker:
                inbox.append(sha)

    def make(self, sha: str) -> None:
        one = self.begun.get(sha) or self._yard.order(sha, 0.0)
        one.wanted_by.add(self.asker)
        while not one.handle.wait():
            self.turns.pass_on()
        if sha not in self._yard.built:
            self.receive(sha)

    def tell(self, event: Event) -> None:
        if event.kind == "build-withdrawn":
            self._yard.withdrawn.append(getattr(event, "sha", ""))


class OneOfSeveral(FakeLab):
    """A lab for one test; `probed` are the commits that were probed by it."""

    def __init__(self, name: str, commits: Commits, question: Question, yard: Yard) -> None:
        super().__init__(commits, question)
        self.test_name = name
        self.probed: list[str] = []
        self._yard, self._built = yard, yard.built
        self._seen: set[str] = set()
        bench: Any = SharedBench(self, yard)
        self._bench = bench
        self.crew: HostCrew = HostCrew(bench)
        yard.labs.append(self)

    def row(self, sha: str) -> BuildRow:
        return self._row(sha, self.commits[sha])

    def build(self, sha: str) -> BuildRow:
        if sha not in self._yard.built:
            self._bench.make(sha)
            for lab in self._yard.labs:
                with contextlib.suppress(Unobservable):
                    lab.probes(sha, Purpose.SEARCH, 1)
        return super().build(sha)

    def _probed(self, sha: str, purpose: Purpose, given: Mapping[str, str]) -> ProbeRow:
        self.probed.append(sha)
        return super()._probed(sha, purpose, given)


def answered(
    several: Mapping[str, tuple[Commits, Question]], builders: int, seed: int
) -> tuple[Yard, dict[str, Verdict]]:
    """The verdicts of tests that are answered side by side, and what their builders did."""
    yard, found = Yard(builders, Random(seed)), dict[str, Verdict]()
    labs: Sequence[OneOfSeveral] = [OneOfSeveral(name, *own, yard) for name, own in several.items()]

    def find(lab: OneOfSeveral) -> None:
        found[lab.test_name] = run(lab)
        lab.crew.leave()

    for lab in labs:
        lab.crew.join()
    yard.turns.run([partial(find, lab) for lab in labs])
    return yard, found
