"""What the orchestration asks of a lab, and what it measures with it in rounds.

Whatever takes time or touches the world is behind `Lab`: a host builds and probes, a simulation only says that it did.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from cpubisect.base.metrics import CPU, WITH_CLOCK, reading
from cpubisect.base.objects import ObjectFile
from cpubisect.history.candidates import Candidates
from cpubisect.history.history import CommitDetails
from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import cpu_samples
from cpubisect.records.rows import BuildRow, ProbeRow
from cpubisect.run.crew import Crew
from cpubisect.search.claims import Touch
from cpubisect.search.clock.digest import Digest, Reading, digest
from cpubisect.search.events import Event
from cpubisect.search.graph import Graph
from cpubisect.search.line import Line
from cpubisect.search.question import Question
from cpubisect.search.stats import Step, step, widened
from cpubisect.search.suspects import Suspicion
from cpubisect.search.variables import Setting
from cpubisect.search.verdict import Side


class Unobservable(Exception):
    """This commit cannot be measured; the message is the first line that says why."""


@dataclass(frozen=True)
class Touched:
    """What the commits of a line touch: `by` has one entry for each number but the first, `defined` maps a name to the
    files that define it, `settings` are the variables that were asked for."""

    by: tuple[Touch, ...]
    defined: Mapping[str, frozenset[str]]
    settings: tuple[Setting, ...] = ()


class Past(Protocol):
    """What the orchestration reads of a history; each as in `History`."""

    def candidates(self, good: str, bad: str) -> Candidates:
        """The commits to search between two shas; raises UserError if they are no range."""

    def since(self, start: str, end: str) -> Candidates:
        """The commits to search from an ancestor of `end` on, by the first parents that contain it."""

    def classes(self, candidates: Candidates, irrelevant: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Candidates that change nothing but `irrelevant` paths, with their predecessors."""

    def graph(self, start: str, end: str) -> Graph:
        """All commits that `end` has and `start` has not."""

    def contains(self, sha: str, old: str) -> bool:
        """Whether a commit contains an `old` one."""

    def release(self, sha: str) -> str:
        """The tag of the release that a commit is, empty if it is none."""

    def inside_merge(self, merge: str, parent: str) -> Sequence[Candidates]:
        """What a merge brought to `parent`, a list for each merged line."""

    def changes(self, commits: Sequence[tuple[str, str]]) -> Iterable[tuple[str, tuple[str, ...]]]:
        """Of each (sha, parent) the sha and the paths that differ."""

    def versions(
        self, commits: Sequence[tuple[str, str]], folders: Sequence[str]
    ) -> Iterable[tuple[str, Mapping[str, tuple[str, str]]]]:
        """Of each (sha, other) the sha and, of each path in some top-level folders that differs, both versions, the
        other's first, empty where there is no such file."""

    def files(self, sha: str) -> Mapping[str, bool]:
        """All paths in a commit's tree, and whether each is a plain file."""

    def describe(self, sha: str) -> CommitDetails:
        """What a commit is and changes."""


class Lab(Protocol):
    """Builds and measures commits for one test, remembers what was found, and tells what happens.

    `bisection` is its number, `test_name` the test; `counts_instructions` says whether they can be counted here;
    `expected_spread` how far counts of one build are known to differ, in percent; `redraws` why builds cannot be linked
    in other orders here, in one line, empty if they can; `irrelevant` are globs of paths that cannot change a binary;
    `side` says on which way from the fork point it works; `crew` makes builds side by side, where there is one; `proof`
    is the lab in whose builds what was found is confirmed: itself, but where the question wants to be screened.
    """

    @property
    def bisection(self) -> int: ...
    @property
    def question(self) -> Question: ...
    @property
    def test_name(self) -> str: ...
    @property
    def counts_instructions(self) -> bool: ...
    @property
    def expected_spread(self) -> float: ...
    @property
    def redraws(self) -> str: ...
    @property
    def irrelevant(self) -> Sequence[str]: ...
    @property
    def history(self) -> Past: ...
    @property
    def side(self) -> Side: ...
    @property
    def crew(self) -> Crew: ...
    @property
    def proof(self) -> "Lab": ...

    def on_good_side(self, question: Question) -> "Lab":
        """The same lab for the way from the fork point to good, which is a question of its own."""

    def build(self, sha: str) -> object:
        """Have a commit built, now unless it is; raises Unobservable if it can't be."""

    def build_again(self, sha: str) -> bool:
        """Have a commit that could not be built tried once more, but never a third time; whether it is built now."""

    def mishaps(self) -> Sequence[str]:
        """Commits that could not be built once, and were when that was tried again."""

    def same_code(self, one: str, other: str) -> bool:
        """Whether two commits' builds do the same when run; raises Unobservable if one can't be built."""

    def probes(self, sha: str, purpose: Purpose, count: int) -> Sequence[ProbeRow]:
        """All probes of a commit for a purpose that worked, and at least `count`; of that redraw of its build which
        `purpose.link` numbers, made now unless it is there. Raises Unobservable."""

    def fresh_counts(self, sha: str) -> Sequence[ProbeRow]:
        """The counts of a commit that were made to confirm a step, its own or the one after it, so far."""

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        """A probe of a commit with other settings than the question's; raises Unobservable."""

    def ask(self, sha: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        """The variables of a commit's server that is started with other settings than the question's and not measured;
        raises Unobservable, with the server's own words, if it does not start."""

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        """What a server's variable is called among a test's settings; if `lenient`, a server without it goes on."""

    def builds(self) -> Sequence[tuple[BuildRow, bool]]:
        """All builds of this bisection, in order, and whether each was made for it."""

    def objects(self, build: int) -> Mapping[str, ObjectFile]:
        """What each object of a build was made from, by names that other builds give them too; empty if not known."""

    def built_here(self) -> Sequence[str]:
        """Commits that were built in answering this test, in order."""

    def failures(self) -> Mapping[str, str]:
        """Commits that cannot be built, with why."""

    def kept(self, shas: Sequence[str]) -> frozenset[str]:
        """Those of some commits that need not be built: their binaries are there."""

    def series(self, purpose: Purpose) -> Sequence[tuple[str, ProbeRow]]:
        """All probes for a purpose that worked, with their commits, in the order they were made."""

    def clocked(self) -> Sequence[tuple[str, ProbeRow]]:
        """All probes of CPU time alone that worked, with their commits, in the order they were made."""

    def variables(self, sha: str) -> Mapping[str, str]:
        """The variables of a commit's server; empty if it has none or was not asked."""

    def touched(self, line: Line, variables: Mapping[str, float]) -> Touched:
        """What the commits of a line touch, as far as it can be read, and how some variables, each of which makes a
        part of the step, are defined at its ends."""

    def record_line(self, line: Line) -> None:
        """Remember which commits a line has and which of them share a binary."""

    def record_suspects(self, line: Line, found: Mapping[str, Suspicion]) -> None:
        """Remember the ranking of a line's commits."""

    def tell(self, event: Event) -> None:
        """Say what happens."""


@dataclass(frozen=True)
class Beside:
    """Probes of two commits, made in turn: of CPU time disturbances are drawn in and drift is taken out."""

    before: Sequence[ProbeRow]
    after: Sequence[ProbeRow]

    @cached_property
    def cpu(self) -> Step:
        """The step in CPU time."""
        return widened(self._read.step(0, 1), self._read.turns(0, 1))

    @property
    def error(self) -> float:
        """The standard error of the step in CPU time, in percent of what the first commit costs."""
        return self._read.difference(0, 1)[1] / (1 + self._read.averages[0] / 100)

    @property
    def sigmas(self) -> float:
        """How many times its own standard error the step in CPU time is; negative for one downwards."""
        percent, error = self._read.difference(0, 1)
        return percent / error

    @property
    def base(self) -> float:
        """What the first commit costs in CPU microseconds per query."""
        return self._read.level * (1 + self._read.averages[0] / 100)

    @cached_property
    def _read(self) -> Digest:
        rows = [(row, number) for number, side in enumerate((self.before, self.after)) for row in side]
        rows.sort(key=lambda one: one[0].id)
        # Turns are compared, whatever lies between two: when a run was interrupted must not decide how many are made.
        begun = accumulate((row.seconds for row, _ in rows), initial=0.0)
        return digest(
            [Reading(number, cpu_samples([row])[0], at_s) for (row, number), at_s in zip(rows, begun, strict=False)]
        )

    @property
    def steps(self) -> dict[str, Step]:
        """The steps in CPU time, and in what is sampled with it where both have that."""
        return {CPU: self.cpu, **raw_steps(WITH_CLOCK, self.before, self.after)}


def raw_steps(metrics: Iterable[str], before: Sequence[ProbeRow], after: Sequence[ProbeRow]) -> dict[str, Step]:
    """The step in each metric that both commits have."""
    return {metric: change for metric in metrics if (change := raw_step(metric, before, after))}


def raw_step(metric: str, before: Sequence[ProbeRow], after: Sequence[ProbeRow]) -> Step | None:
    """The step between all samples of two commits; None unless both have some, and all are positive."""
    first, second = (
        [reading(metric, (value,)) for row in rows for value in row.values.get(metric, ())] for rows in (before, after)
    )
    return step(first, second) if first and second and min(*first, *second) > 0 else None


def rounds(lab: Lab, shas: Sequence[str], purpose: Purpose, count: int) -> list[Sequence[ProbeRow]]:
    """`count` probes of each commit, interleaved: every other round runs in reverse, so that drift cancels. Raises
    Unobservable."""
    for sha in shas:
        lab.build(sha)
    made = min(len(lab.probes(sha, purpose, 0)) for sha in shas)
    for number in range(made + 1, count + 1):
        for sha in shas if number % 2 else reversed(shas):
            lab.probes(sha, purpose, number)
    return [lab.probes(sha, purpose, count)[:count] for sha in shas]


def clock_rounds(
    lab: Lab,
    shas: tuple[str, str],
    purpose: Purpose,
    counts: Iterable[int],
    settled: Callable[[Beside], bool],
    *,
    redrawn: bool = False,
) -> Beside:
    """Rounds of CPU time of two commits, as few of `counts` as settle the matter, and at most all; if `redrawn`, of
    binaries that are linked anew for each round, so that the layout of code is noise as any other. Raises
    Unobservable."""
    for sha in shas:
        lab.build(sha)
    links: list[Sequence[ProbeRow]] = []
    for count in counts:
        if redrawn:
            links += [_of_link(lab, shas, purpose, link) for link in range(len(links) + 1, count + 1)]
            found = Beside(*zip(*links, strict=True))
        else:
            found = Beside(*rounds(lab, shas, purpose, count))
        if settled(found):
            break
    return found


def _of_link(lab: Lab, shas: Sequence[str], purpose: Purpose, link: int) -> Sequence[ProbeRow]:
    """A round of one redraw of each commit; raises Unobservable."""
    rows = {sha: lab.probes(sha, purpose.linked(link), 1)[0] for sha in (shas if link % 2 else reversed(shas))}
    return [rows[sha] for sha in shas]


def once_more(lab: Lab, sha: str, purpose: Purpose, *, redrawn: bool = False) -> None:
    """One more probe of a commit for a purpose, of a binary linked anew if `redrawn`; raises Unobservable."""
    if not redrawn:
        lab.probes(sha, purpose, len(lab.probes(sha, purpose, 0)) + 1)
        return
    link = 1
    while lab.probes(sha, purpose.linked(link), 0):
        link += 1
    lab.probes(sha, purpose.linked(link), 1)
