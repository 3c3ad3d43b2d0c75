"""The lab in which the product's own orchestration runs a simulated history: nothing is built, and the host's clock
says what it would have taken."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from cpubisect.base.metrics import CPU, INSTRUCTIONS
from cpubisect.base.objects import ObjectFile
from cpubisect.builders.build import Outcome
from cpubisect.history.candidates import Candidate, Candidates
from cpubisect.history.history import CommitDetails
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow, ProbeRow
from cpubisect.run.crew import ALONE, Crew
from cpubisect.run.measuring import Touched, Unobservable
from cpubisect.search.claims import Touch
from cpubisect.search.events import Event
from cpubisect.search.graph import Graph, Node
from cpubisect.search.line import Line
from cpubisect.search.question import Question
from cpubisect.search.suspects import Suspicion
from cpubisect.search.verdict import Side
from searching.host import Host

OBJECTS = 600
"""Files that a full build compiles: what the compiler's cache had of them tells the search what a full build takes."""

_WHEN = datetime(2024, 1, 1, tzinfo=UTC)


class StraightPast:
    """A history without merges, each number of a host being a commit of that name."""

    def __init__(self, size: int) -> None:
        self._size = size

    def candidates(self, good: str, bad: str) -> Candidates:
        """All numbers after good up to bad."""
        commits = tuple(Candidate(str(n), str(n - 1), "", False) for n in range(int(good) + 1, int(bad) + 1))
        return Candidates(good, good, commits)

    def since(self, start: str, end: str) -> Candidates:
        """The same: there is one line."""
        return self.candidates(start, end)

    def classes(self, candidates: Candidates, irrelevant: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Each commit by itself."""
        return ((candidates.start,), *((commit.sha,) for commit in candidates.commits))

    def graph(self, start: str, end: str) -> Graph:
        """The same numbers."""
        return Graph(start, tuple(Node(str(n), (str(n - 1),)) for n in range(int(start) + 1, int(end) + 1)))

    def contains(self, sha: str, old: str) -> bool:
        """Whether it is no later."""
        return int(old) <= int(sha)

    def release(self, sha: str) -> str:
        """None is one."""
        return ""

    def inside_merge(self, merge: str, parent: str) -> Sequence[Candidates]:
        """There are none."""
        return ()

    def changes(self, commits: Sequence[tuple[str, str]]) -> Iterable[tuple[str, tuple[str, ...]]]:
        """Nothing is known of them."""
        return ()

    def versions(
        self, commits: Sequence[tuple[str, str]], folders: Sequence[str]
    ) -> Iterable[tuple[str, Mapping[str, tuple[str, str]]]]:
        """Nor of their files."""
        return ()

    def files(self, sha: str) -> Mapping[str, bool]:
        """Nor is this."""
        return {}

    def describe(self, sha: str) -> CommitDetails:
        """Its name."""
        return CommitDetails("", _WHEN, sha, sha, ())


class SimulatedLab:
    """Measures a host's numbers, each being a commit of that name: on CPU time, and in instructions where its world
    counts them."""

    bisection = 1
    test_name = "simulated"
    irrelevant = ()
    expected_spread = 0.0
    redraws = ""
    side = Side.BAD
    crew: Crew = ALONE

    def __init__(self, host: Host) -> None:
        self.host = host
        self.counts_instructions = host.counts
        self.history = StraightPast(host.size)
        good, bad = "0", str(host.size - 1)
        self.question = Question("", "", good, bad, good, bad, (self.test_name,), "")
        self._rows: dict[str, tuple[BuildRow, bool]] = {}
        self._again: set[str] = set()
        self._probes: dict[tuple[str, Purpose], list[ProbeRow]] = {}
        self._series: dict[Purpose, list[tuple[str, ProbeRow]]] = {}
        self._clocked: list[tuple[str, ProbeRow]] = []

    @property
    def proof(self) -> "SimulatedLab":
        """This one: all its builds are of one kind."""
        return self

    def on_good_side(self, question: Question) -> "SimulatedLab":
        """Never asked for: a straight history has no fork point."""
        raise AssertionError("a straight history has no fork point")

    def build(self, sha: str) -> BuildRow:
        """The first time takes the host's time; raises Unobservable."""
        number = int(sha)
        if sha not in self._rows:
            there, share, before = self.host.has(number), self.host.share(number), self.host.clock_s
            built = self.host.build(number)
            self._rows[sha] = (self._row(sha, built, share, self.host.clock_s - before), not there)
        if number in self.host.failures:
            raise Unobservable(self.host.failures[number])
        return self._rows[sha][0]

    def _row(self, sha: str, built: bool, share: float, seconds: float) -> BuildRow:
        misses = max(1, round(OBJECTS * share))
        return BuildRow(
            id=int(sha),
            sha=sha,
            outcome=(Outcome.BUILT if built else Outcome.FAILED).value,
            artifact=sha,
            first_error=self.host.failures.get(int(sha), ""),
            cpu_seconds=seconds,
            wall_seconds=seconds,
            cache_hits=OBJECTS - misses,
            cache_misses=misses,
            log="",
            diff="",
            recipe_key="",
            recipe={},
            repairs=(),
            compiled=(),
            code=sha,
        )

    def build_again(self, sha: str) -> bool:
        """Takes the host's time as the first one did, once."""
        number = int(sha)
        if sha in self._again or number not in self.host.failures:
            return False
        self._again.add(sha)
        share, before = self.host.share(number), self.host.clock_s
        built = self.host.build_again(number)
        self._rows[sha] = (self._row(sha, built, share, self.host.clock_s - before), True)
        return built

    def mishaps(self) -> list[str]:
        """What was built the second time."""
        return [sha for sha in self._again if self.host.has(int(sha))]

    def same_code(self, one: str, other: str) -> bool:
        """Every commit does something else."""
        return one == other

    def probes(self, sha: str, purpose: Purpose, count: int) -> list[ProbeRow]:
        """As many as there are, and at least `count`, which take the host's time; raises Unobservable."""
        build = self.build(sha)
        done = self._probes.setdefault((sha, purpose), [])
        while len(done) < count:
            counting = self.counts_instructions and not purpose.only_clock
            if counting:
                values = {INSTRUCTIONS: (self.host.count(int(sha)),)}
            else:
                values = {CPU: (self.host.probe(int(sha), purpose.link),)}
            started = self.host.clock_s - self.host.probe_s
            row = ProbeRow(
                self.host.probes,
                build.id,
                self.test_name,
                purpose,
                self.host.probe_s,
                None,
                values,
                {},
                {},
                (),
                started,
            )
            done.append(row)
            self._series.setdefault(purpose, []).append((sha, row))
            if purpose.only_clock:
                self._clocked.append((sha, row))
        return done

    def fresh_counts(self, sha: str) -> list[ProbeRow]:
        """All of them."""
        found = [rows for (own, purpose), rows in self._probes.items() if own == sha and purpose.only_counts]
        return [row for rows in found for row in rows]

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        """There are no settings; raises Unobservable."""
        raise Unobservable("a simulated server has no settings")

    def ask(self, sha: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        """There are none."""
        return {}

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        """Its own name."""
        return variable

    def builds(self) -> list[tuple[BuildRow, bool]]:
        """All, in order, and whether each was made now."""
        return list(self._rows.values())

    def objects(self, build: int) -> Mapping[str, ObjectFile]:
        """Not known."""
        return {}

    def built_here(self) -> list[str]:
        """All of them."""
        return list(self._rows)

    def failures(self) -> dict[str, str]:
        """Those that failed, with why."""
        return {str(number): why for number, why in self.host.failures.items()}

    def kept(self, shas: Sequence[str]) -> frozenset[str]:
        """Those that are there."""
        return frozenset(sha for sha in shas if self.host.has(int(sha)))

    def series(self, purpose: Purpose) -> list[tuple[str, ProbeRow]]:
        """Those for a purpose, in order."""
        return self._series.get(purpose, [])

    def clocked(self) -> list[tuple[str, ProbeRow]]:
        """Those of CPU time alone, in order."""
        return self._clocked

    def variables(self, sha: str) -> Mapping[str, str]:
        """There are none."""
        return {}

    def touched(self, line: Line, variables: Mapping[str, float]) -> Touched:
        """Nothing is known of what they touch."""
        return Touched((Touch(frozenset(), frozenset()),) * (line.size - 1), {})

    def record_line(self, line: Line) -> None:
        """Nobody asks for it."""

    def record_suspects(self, line: Line, found: Mapping[str, Suspicion]) -> None:
        """Nor for them."""

    def tell(self, event: Event) -> None:
        """Nobody listens."""
