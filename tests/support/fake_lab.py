"""A lab in which nothing is built or run: scripted histories with known costs, a clock of its own, and seeded noise."""

import random
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from cpubisect.base.metrics import CPU, INSTRUCTIONS, SIMULATED, WITH_CLOCK
from cpubisect.base.objects import ObjectFile
from cpubisect.builders.build import Outcome
from cpubisect.history.candidates import Candidate, Candidates
from cpubisect.history.history import CommitDetails
from cpubisect.history.relevance import Irrelevant
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow, ProbeRow
from cpubisect.run.crew import ALONE, Crew
from cpubisect.run.measuring import Touched, Unobservable
from cpubisect.search import events
from cpubisect.search.claims import Touch
from cpubisect.search.events import Event
from cpubisect.search.graph import Graph, Node
from cpubisect.search.line import Line, join
from cpubisect.search.question import Question
from cpubisect.search.suspects import Suspicion
from cpubisect.search.variables import Setting
from cpubisect.search.verdict import Side
from cpubisect.workloads.sysbench import WORKLOAD

WHEN = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Commit:
    """A scripted commit: its `cost` in instructions per query, or those by function; its parents, first parent first.

    Commits of equal `code` do the same, an empty one being like no other. It may not build (`fails` says why), only the
    first time if it `mends`, or crash when it is probed (`crashes`). `variables` are its server's; `paths` are what it
    changes; `compiled` is what its build was made from, empty if that is not known; `words` are what its diff names;
    `refuses` are the variables, with values, that its server does not start with; `others` are its costs in other
    metrics than instructions and CPU time; `tag` is that of the release that it is, if it is one.
    """

    cost: float | Mapping[str, float] = 1000.0
    parents: tuple[str, ...] = ()
    code: str = ""
    fails: str = ""
    mends: bool = False
    crashes: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ("source.c",)
    compiled: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    refuses: frozenset[tuple[str, str]] = frozenset()
    others: Mapping[str, float] = field(default_factory=dict)
    tag: str = ""


Commits = Mapping[str, Commit]


def straight(*commits: Commit | float, name: str = "c", after: str = "") -> dict[str, Commit]:
    """A line of commits c0, c1, …, of which a number is the cost; the first one has the parent `after`, if any."""
    made = [one if isinstance(one, Commit) else Commit(one) for one in commits]
    shas = [after, *(f"{name}{number}" for number in range(len(made)))]
    parents = [(before,) if before else () for before in shas]
    return {
        sha: Commit(**{**vars(commit), "parents": commit.parents or own})
        for sha, own, commit in zip(shas[1:], parents, made, strict=False)
    }


def merged(inside: Sequence[float], trunk: float, both: float) -> dict[str, Commit]:
    """c0, then a side line of given costs merged to a trunk line as m0, and a last commit e0."""
    side = straight(*inside, name="s", after="c0")
    merge = Commit(both, parents=("t0", [*side][-1]))
    tail = {**straight(merge, name="m"), **straight(both, name="e", after="m0")}
    return {**straight(1000.0), **side, **straight(trunk, name="t", after="c0"), **tail}


class ScriptedPast:
    """The history of scripted commits."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    def candidates(self, good: str, bad: str) -> Candidates:
        """The first parents of bad, from good or the fork point on."""
        start, shas = self._line(good, bad)
        return Candidates(good, start, self._listed(start, shas))

    def since(self, start: str, end: str) -> Candidates:
        """The first parents that contain the start."""
        shas = [end]
        while shas[-1] != start:
            shas.append(next(one for one in self._commits[shas[-1]].parents if self.contains(one, start)))
        return Candidates(start, start, self._listed(start, shas[-2::-1]))

    def graph(self, start: str, end: str) -> Graph:
        """What the end has and the start has not, in the order in which they were written down."""
        own = self._contained(end) - self._contained(start)
        nodes = (Node(sha, self._commits[sha].parents, f"Subject of {sha}") for sha in self._commits if sha in own)
        return Graph(start, tuple(nodes))

    def contains(self, sha: str, old: str) -> bool:
        """Whether one is the other or among its ancestors."""
        return old in self._contained(sha)

    def release(self, sha: str) -> str:
        """As the script says."""
        return self._commits[sha].tag

    def inside_merge(self, merge: str, parent: str) -> tuple[Candidates, ...]:
        """The merged lines."""
        lines = (self.candidates(parent, head) for head in self._commits[merge].parents)
        return tuple(line for line in lines if line.commits)

    def classes(self, candidates: Candidates, irrelevant: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """By the globs, as a real history does."""
        covers = Irrelevant(irrelevant).covers
        shas = [candidates.start, *(commit.sha for commit in candidates.commits)]
        return join(((sha,) for sha in shas), {sha for sha in shas if covers(self._commits[sha].paths)})

    def changes(self, commits: Sequence[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
        """The paths that each commit says it changes."""
        return [(sha, self._commits[sha].paths) for sha, _ in commits]

    def versions(
        self, commits: Sequence[tuple[str, str]], folders: Sequence[str]
    ) -> list[tuple[str, Mapping[str, tuple[str, str]]]]:
        """Not known."""
        return []

    def files(self, sha: str) -> dict[str, bool]:
        """All paths that any commit names are in every tree."""
        return {path: True for commit in self._commits.values() for path in (*commit.paths, *commit.compiled)}

    def describe(self, sha: str) -> CommitDetails:
        """Something to tell of a commit."""
        return CommitDetails("Ann", WHEN, f"Subject of {sha}", f"Subject of {sha}", ())

    def _contained(self, sha: str) -> set[str]:
        """A commit with all its ancestors."""
        found, waiting = set(), [sha]
        while waiting:
            found.add(own := waiting.pop())
            waiting += [parent for parent in self._commits[own].parents if parent not in found]
        return found

    def _line(self, known: str, head: str) -> tuple[str, list[str]]:
        """Where the first parents of a head leave the history of a known commit, and those since, oldest first."""
        before = self._contained(known)
        shas = []
        while head not in before:
            shas.append(head)
            head = self._commits[head].parents[0]
        return head, shas[::-1]

    def _listed(self, start: str, shas: Sequence[str]) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(sha, before, f"Subject of {sha}", len(self._commits[sha].parents) > 1)
            for before, sha in pairwise([start, *shas])
        )


class FakeLab:
    """Measures scripted commits.

    Counts are exact, but `slips` of them (a ratio) are 1 % too high; CPU time is a hundredth of them in microseconds,
    with noise of `sigma` (a ratio). Each link of a commit, that of its build too, has an effect of its own on CPU time,
    the same in all its probes, whose standard deviation is `layout` (a ratio). A setting that is another value than a
    server's own costs what `prices` say, by (variable, value), in the function `priced` if there are any; one that
    keeps its own defaults costs what `own` says more, by variable for one value of it. A build takes `build_s` seconds
    of the clock, a redraw `link_s` and a probe `probe_s`; `redraws` says why there are none. `journal` is all that was
    told, `lines` and `suspects` are what was remembered.
    """

    bisection = 1
    test_name = "scan"
    irrelevant = ("docs/",)
    expected_spread = 0.0
    side = Side.BAD
    crew: Crew = ALONE

    def __init__(
        self,
        commits: Commits,
        question: Question,
        *,
        sigma: float = 0.0,
        layout: float = 0.0,
        seed: int = 1,
        counts_instructions: bool = True,
        prices: Mapping[tuple[str, str], float] | None = None,
        priced: str = "",
        build_s: float = 100.0,
        probe_s: float = 10.0,
        link_s: float = 2.0,
        redraws: str = "",
        slips: float = 0.0,
        own: Mapping[str, tuple[str, float]] | None = None,
    ) -> None:
        self.question = question
        self.counts_instructions = counts_instructions
        self.history = ScriptedPast(commits)
        self.commits = commits
        self.clock_s = 0.0
        self.journal: list[Event] = []
        self.lines: dict[str, Line] = {}
        self.suspects: dict[str, Mapping[str, Suspicion]] = {}
        self.redraws = redraws
        self._sigma, self._layout = sigma, layout
        self.ordinary: FakeLab | None = None
        self._seed, self._random = seed, random.Random(seed)
        self._slips = slips
        self._prices = prices or {}
        self._priced = priced
        self._own = own or {}
        self._build_s, self._probe_s, self._link_s = build_s, probe_s, link_s
        self._linked: set[tuple[str, int]] = set()
        self._built: dict[str, BuildRow] = {}
        self._again: set[str] = set()
        self._probes: list[tuple[str, ProbeRow]] = []

    @property
    def proof(self) -> "FakeLab":
        """The one with ordinary builds if it was given another; else this one."""
        return self.ordinary or self

    def on_good_side(self, question: Question) -> "FakeLab":
        """The same lab, with all it knows, for another question; its clock goes on by itself."""
        other = copy(self)
        other.question, other.side = question, Side.GOOD
        return other

    def tell(self, event: Event) -> None:
        """Keep it."""
        self.journal.append(event)

    def told(self, kind: type[Event]) -> list[Event]:
        """What was told of one kind."""
        return [event for event in self.journal if isinstance(event, kind)]

    def record_line(self, line: Line) -> None:
        """Keep it."""
        self.lines[line.path(self.side)] = line

    def record_suspects(self, line: Line, found: Mapping[str, Suspicion]) -> None:
        """Keep them."""
        self.suspects[line.path(self.side)] = found

    def build(self, sha: str) -> BuildRow:
        """Take the time of a build, the first time; raises Unobservable if the script says so."""
        commit = self.commits[sha]
        if sha not in self._built:
            self.clock_s += self._build_s
            self._built[sha] = self._row(sha, commit)
            self.tell(events.BuildFinished(sha=sha, outcome=self._built[sha].outcome))
        if commit.fails:
            raise Unobservable(commit.fails)
        return self._built[sha]

    def build_again(self, sha: str) -> bool:
        """Only what the script says is mended by that."""
        commit = self.commits[sha]
        if sha in self._again or sha not in self._built:
            return False
        self._again.add(sha)
        self.clock_s += self._build_s
        if commit.mends:
            self.commits = {**self.commits, sha: replace(commit, fails="")}
            self._built[sha] = self._row(sha, self.commits[sha])
        return commit.mends

    def mishaps(self) -> list[str]:
        """As they were mended."""
        return [sha for sha in self._built if self.commits[sha].mends and not self.commits[sha].fails]

    def same_code(self, one: str, other: str) -> bool:
        """Whether the script says so; raises Unobservable."""
        return self.build(one).code == self.build(other).code

    def probes(self, sha: str, purpose: Purpose, count: int) -> list[ProbeRow]:
        """As many as there are, and at least `count`; raises Unobservable if the script says that it crashes, or for a
        redraw where there are none."""
        self.build(sha)
        if purpose.link and self.redraws:
            raise Unobservable(self.redraws)
        while len(done := [row for own, row in self._probes if (own, row.purpose) == (sha, purpose)]) < count:
            self._probes.append((sha, self._probed(sha, purpose, {})))
        return done

    def fresh_counts(self, sha: str) -> list[ProbeRow]:
        """Those that were made against another one."""
        return [row for own, row in self._probes if own == sha and row.purpose.only_counts]

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        """One with other values of some variables; raises Unobservable."""
        self.build(sha)
        return self._probed(sha, Purpose.trial(settings), self._given(sha, settings))

    def ask(self, sha: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        """Those of the script and the given ones; raises Unobservable for what its server refuses."""
        self.build(sha)
        return {**self.commits[sha].variables, **self._given(sha, settings)}

    def _given(self, sha: str, settings: Mapping[str, str]) -> dict[str, str]:
        given = {name.rpartition("loose_")[2]: value for name, value in settings.items()}
        if refused := self.commits[sha].refuses & set(given.items()):
            raise Unobservable(f"probe: the server does not start: wrong value of {min(refused)[0]}")
        return given

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        """As of MySQL's servers."""
        return WORKLOAD.variable(variable, lenient=lenient)

    def builds(self) -> list[tuple[BuildRow, bool]]:
        """All were made here."""
        return [(row, True) for row in self._built.values()]

    def objects(self, build: int) -> Mapping[str, ObjectFile]:
        """Not known: prices are by distance."""
        return {}

    def built_here(self) -> list[str]:
        """All of them."""
        return list(self._built)

    def failures(self) -> dict[str, str]:
        """Those that failed so far."""
        return {sha: self.commits[sha].fails for sha in self._built if self.commits[sha].fails}

    def kept(self, shas: Sequence[str]) -> frozenset[str]:
        """Nothing but what was built."""
        return frozenset(sha for sha in shas if sha in self._built and not self.commits[sha].fails)

    def series(self, purpose: Purpose) -> list[tuple[str, ProbeRow]]:
        """Those for a purpose, in order."""
        return [(sha, row) for sha, row in self._probes if row.purpose == purpose]

    def clocked(self) -> list[tuple[str, ProbeRow]]:
        """Those of CPU time alone, in order."""
        return [(sha, row) for sha, row in self._probes if row.purpose.only_clock]

    def variables(self, sha: str) -> Mapping[str, str]:
        """Those of the script."""
        return self.commits[sha].variables

    def touched(self, line: Line, variables: Mapping[str, float]) -> Touched:
        """The words of the script; a variable is defined by its name."""
        firsts = [self.commits[line.first(number)] for number in range(1, line.size)]
        settings = tuple(Setting(name, share, frozenset({name})) for name, share in variables.items())
        return Touched(tuple(Touch(commit.words, frozenset(commit.paths)) for commit in firsts), {}, settings)

    def layout_of(self, sha: str, link: int) -> float:
        """The effect of one link on CPU time, as a ratio: the same for the same seed, whatever was measured before."""
        return self._layout * random.Random(f"{self._seed} {sha} {link}").gauss(0.0, 1.0)

    def cpu_of(self, sha: str, cost: float) -> float:
        """CPU microseconds per query of one probe."""
        return cost / 100 * (1 + self._sigma * self._random.gauss(0.0, 1.0))

    def _row(self, sha: str, commit: Commit) -> BuildRow:
        number = len(self._built) + 1
        outcome = Outcome.FAILED if commit.fails else Outcome.BUILT
        given: dict[str, Any] = {"log": "", "diff": "", "recipe_key": "", "recipe": {}, "repairs": ()}
        return BuildRow(
            id=number,
            sha=sha,
            outcome=outcome.value,
            artifact=None if commit.fails else f"artifact of {sha}",
            first_error=commit.fails,
            cpu_seconds=self._build_s,
            wall_seconds=self._build_s,
            cache_hits=0,
            cache_misses=100,
            compiled=tuple(commit.compiled),
            code=commit.code or sha,
            **given,
        )

    def _probed(self, sha: str, purpose: Purpose, given: Mapping[str, str]) -> ProbeRow:
        commit = self.commits[sha]
        if purpose.link and (sha, purpose.link) not in self._linked:
            self._linked.add((sha, purpose.link))
            self.clock_s += self._link_s
        started = self.clock_s
        self.clock_s += self._probe_s
        if commit.crashes:
            raise Unobservable(f"probe: {commit.crashes}")
        variables = {**commit.variables, **given}
        profile = dict(commit.cost) if isinstance(commit.cost, Mapping) else {}
        cost = sum(profile.values()) if profile else float(commit.cost)  # type: ignore[arg-type]
        dearer = sum(self._prices.get(pair, 0.0) for pair in variables.items())
        cost += dearer
        if profile and dearer:
            profile[self._priced] = profile.get(self._priced, 0.0) + dearer
        if given.get("defaults") == "server":
            cost += sum(price for name, (value, price) in self._own.items() if commit.variables.get(name) == value)
        clocked = self.cpu_of(sha, cost * (1 + self.layout_of(sha, purpose.link)))
        values = {} if purpose.only_counts else {CPU: (clocked,)}
        if self.counts_instructions and not purpose.only_clock:
            slipped = bool(self._slips) and self._random.random() < self._slips
            values[INSTRUCTIONS] = (cost * 1.01 if slipped else cost,)
            values |= {metric: (cost,) for metric, cost in commit.others.items() if metric in SIMULATED}
        if not purpose.only_counts:
            values |= {metric: (cost,) for metric, cost in commit.others.items() if metric in WITH_CLOCK}
        number = len(self._probes) + 1
        build = self._built[sha].id
        about = (number, build, self.test_name, purpose, self._probe_s, None)
        return ProbeRow(*about, values, profile, variables, (), started)
