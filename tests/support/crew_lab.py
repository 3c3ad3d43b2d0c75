"""A lab of scripted commits with several builders, whose builds end in an order that is drawn."""

from collections.abc import Collection, Mapping
from random import Random
from typing import Any

from fake_lab import Commits, FakeLab

from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow, ProbeRow
from cpubisect.search.question import Question


class ScriptedCrew:
    """So many builders: of what was begun, one or several that are drawn have ended when somebody waits, and others
    without that."""

    def __init__(self, lab: "CrewLab", builders: int, draw: Random) -> None:
        self.builders = builders
        self.most = 0
        self.withdrawn: list[str] = []
        self.ordered: list[str] = []
        self.at_once: list[int] = []
        self._lab = lab
        self._draw = draw
        self._begun: dict[str, float] = {}

    def begin(self, sha: str, seconds: float | None = None) -> bool:
        if sha in self._lab.known:
            return False
        if sha not in self._begun:
            self._begun[sha] = seconds or 100.0
            self.ordered.append(sha)
            self.most = max(self.most, len(self._begun))
        return True

    def begun(self) -> Mapping[str, float]:
        return dict(self._begun)

    def take_in(self, *, wait: bool) -> tuple[str, ...]:
        if not self._begun or not (wait or self._draw.random() < 0.3):
            return ()
        ended = self._draw.sample(sorted(self._begun), self._draw.randint(1, len(self._begun)))
        for sha in ended:
            del self._begun[sha]
            self._lab.receive(sha)
        return tuple(ended)

    def want(self, shas: Collection[str]) -> None:
        assert set(shas) <= self._begun.keys()

    def withdraw(self, shas: Collection[str], why: str) -> None:
        for sha in shas:
            if self._begun.pop(sha, None) is not None:
                self.withdrawn.append(sha)

    def claim(self, sha: str) -> None:
        """Somebody asks for a commit: it is waited for."""
        if self._begun.pop(sha, None) is None:
            self.ordered.append(sha)


class CrewLab(FakeLab):
    """A lab with a crew; `made` are the commits that were built, in order, and `probed` those that were probed."""

    def __init__(self, commits: Commits, question: Question, builders: int, seed: int = 1, **host: Any) -> None:
        super().__init__(commits, question, seed=seed, **host)
        self.known: set[str] = set()
        self.made: list[str] = []
        self.probed: list[str] = []
        self.crew: ScriptedCrew = ScriptedCrew(self, builders, Random(seed))

    def receive(self, sha: str) -> None:
        """A build has ended, and is in the store."""
        self.known.add(sha)
        self.made.append(sha)
        self._built[sha] = self._row(sha, self.commits[sha])

    def build(self, sha: str) -> BuildRow:
        if sha not in self.known:
            self.crew.claim(sha)
            self.receive(sha)
        return super().build(sha)

    def _probed(self, sha: str, purpose: Purpose, given: Mapping[str, str]) -> ProbeRow:
        self.probed.append(sha)
        return super()._probed(sha, purpose, given)
