"""Builds and probes for one bisection: asks the store first, so that nothing finished is done again."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cpubisect.base.engine import Engine
from cpubisect.base.home import Home
from cpubisect.base.metrics import Counter
from cpubisect.base.objects import ObjectFile
from cpubisect.base.sandbox.policy import Kind
from cpubisect.base.version import Version
from cpubisect.builders.build import SCREENING, NoRecipe, Outcome, Toolchain
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.shelf import LibraryMissing
from cpubisect.builders.trees.code import tells_apart
from cpubisect.history.history import History
from cpubisect.records.artifacts import DEFAULT_LIMIT_BYTES
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow, ProbeRow, SuspectRow
from cpubisect.records.store import Store
from cpubisect.run.bench.crew import HostCrew
from cpubisect.run.bench.making import PROBE_ATTEMPTS, Begun, Bench
from cpubisect.run.bench.orders import Drawn, DrawOrder, Executor
from cpubisect.run.measuring import Touched, Unobservable
from cpubisect.run.prior import read_settings, read_touched
from cpubisect.run.turns import Turns
from cpubisect.search import events
from cpubisect.search.events import Event, Watch
from cpubisect.search.line import Line
from cpubisect.search.question import Question
from cpubisect.search.suspects import Suspicion
from cpubisect.search.verdict import Side
from cpubisect.workloads.catalog import workload_of
from cpubisect.workloads.probe import Test

REDRAWS_AT_ONCE = 8
"""So many redraws of a build are made while its objects are there, which takes much longer than a link."""


@dataclass(frozen=True)
class HostLab:
    """A lab with real hosts: an `executor` makes builds and probes of one bisection, for one of its tests, others being
    answered beside it if they take `turns`.

    What does not change during a bisection is here: its question with everything that is needed to answer it. `tests`
    are all of the question's, `test` is the one that is being answered; `watch` is told what happens; `side`
    says on which way from the fork point commits are searched; `sandbox` is what builds and probes run in; a lab that
    `proves` has ordinary builds, where the search goes by others.
    """

    bisection: int
    question: Question
    engine: Engine
    test: Test
    tests: Sequence[Test]
    matrix: Matrix
    toolchains: Sequence[Toolchain]
    counter: Counter
    history: History
    home: Home
    store: Store
    watch: Watch
    executor: Executor
    side: Side = Side.BAD
    sandbox: Kind = Kind.NONE
    proves: bool = False
    _built: dict[str, BuildRow] = field(default_factory=dict, repr=False)
    _twins: dict[str, str] = field(default_factory=dict, repr=False)
    _undrawn: dict[str, str] = field(default_factory=dict, repr=False)
    _touched: dict[tuple[tuple[str, ...], ...], Touched] = field(default_factory=dict, repr=False)
    _objects: dict[int, Mapping[str, ObjectFile]] = field(default_factory=dict, repr=False)
    _begun: dict[str, Begun] = field(default_factory=dict, repr=False)
    _received: dict[str, BuildRow] = field(default_factory=dict, repr=False)
    _inboxes: dict[str, list[str]] = field(default_factory=dict, repr=False)
    _proofs: list["HostLab"] = field(default_factory=list, repr=False)
    turns: Turns = field(default_factory=Turns, repr=False)

    def beside(self, test: Test) -> "HostLab":
        """The same lab for another test of the question: what one has built, the other has."""
        return replace(self, test=test)

    def on_good_side(self, question: Question) -> "HostLab":
        """The same lab for the way from the fork point to good: what was built and probed, both have."""
        return replace(self, question=question, side=Side.GOOD)

    @cached_property
    def proof(self) -> "HostLab":
        """The same lab with ordinary builds, which those for other tests share with it."""
        if not self.question.screen:
            return self
        if not self._proofs:
            own = replace(self, _built={}, _twins={}, _undrawn={}, _begun={}, _received={}, _inboxes={}, proves=True)
            self._proofs.append(own)
        question = replace(self.question, screen=False)
        return replace(self._proofs[0], question=question, test=self.test, side=self.side)

    @property
    def test_name(self) -> str:
        """The test that is being answered."""
        return self.test.name

    @property
    def expected_spread(self) -> float:
        """How far apart, in percent, counts of one build by the test are known to be; 0 where that is not known."""
        return self.test.spread_percent or 0.0

    @property
    def counts_instructions(self) -> bool:
        """Whether they can be counted here."""
        return self.counter is not Counter.NONE

    @property
    def redraws(self) -> str:
        """Why builds cannot be linked in other orders here, in one line; empty if they can."""
        return self.executor.redraws

    @property
    def irrelevant(self) -> tuple[str, ...]:
        """Globs of paths that cannot change a binary of the engine."""
        return self.engine.irrelevant

    def tell(self, event: Event) -> None:
        """Say what happens; an event names its test where there are several, and what kind of builds was asked."""
        test = self.test.name if len(self.tests) > 1 else event.test
        self.watch(replace(event, test=test, variant=self._variant))

    def build(self, sha: str) -> BuildRow:
        """The build of a commit, made now unless the store has it; raises Unobservable if it can't be built.

        With several tests, each probes it before anything else is built.
        """
        if sha not in self._built:
            row = self.bench.find_or_make(sha)
            # Another test may have asked for it while this one waited.
            new = sha not in self._built
            self._built.setdefault(sha, row)
            if new and row.outcome == Outcome.BUILT and len(self.tests) > 1 and not self.proves:
                for test in self.tests:
                    with contextlib.suppress(Unobservable):
                        self.beside(test).probes(sha, Purpose.SEARCH, 1)
        row = self._built[sha]
        if row.outcome != Outcome.BUILT:
            raise Unobservable(row.first_error or row.outcome)
        return row

    def build_again(self, sha: str) -> bool:
        """Have a commit that could not be built tried once more, but never a third time; whether it is built now."""
        try:
            recipe = self.bench.recipe(sha)
        except NoRecipe:
            return False
        tries = (build for build, _ in self.builds() if build.sha == sha and build.recipe_key == recipe.key())
        failed = [build for build in tries if build.outcome != Outcome.BUILT]
        if len(failed) != 1:
            return False
        self._built[sha] = self.bench.make(recipe)
        return self._built[sha].outcome == Outcome.BUILT

    def mishaps(self) -> list[str]:
        """Commits that could not be built once, and were when that was tried again."""
        outcomes: dict[str, list[str]] = {}
        for build, _ in self.builds():
            outcomes.setdefault(build.sha, []).append(build.outcome)
        return [sha for sha, own in outcomes.items() if own[-1] == Outcome.BUILT and {*own} != {Outcome.BUILT}]

    @cached_property
    def bench(self) -> Bench:
        """Where this bisection's builds and probes are made."""
        return Bench(
            owner=self.bisection,
            store=self.store,
            engine=self.engine,
            matrix=self.matrix,
            toolchains=tuple(self.toolchains),
            counter=self.counter,
            history=self.history,
            home=self.home,
            tell=self.tell,
            again=f"bisect resume {self.bisection}",
            executor=self.executor,
            toolchain=self.question.toolchain,
            jobs=self.question.jobs,
            simulations=self.question.simulations,
            profiled=self.question.metric.counted,
            flags=self.question.flags,
            variant=self._variant,
            ends=frozenset((self.question.good_sha, self.question.bad_sha)),
            sandbox=self.sandbox,
            begun=self._begun,
            received=self._received,
            asker=self.test.name,
            turns=self.turns,
            inboxes=self._inboxes,
        )

    @cached_property
    def crew(self) -> HostCrew:
        """The builds that are made ahead: all tests have them in common."""
        return HostCrew(self.bench)

    @property
    def crews(self) -> tuple[HostCrew, ...]:
        """Its own, and that of the lab that confirms if that is another."""
        return (self.crew,) if self.proof is self else (self.crew, self.proof.crew)

    def _draw(self, build: BuildRow, link: int) -> None:
        """Have a redraw of a build, made now with others beside it unless it is there; raises Unobservable if it can't
        be linked in other orders, UserError if the disk is full."""
        if self.bench.binary(build, link) is not None:
            return
        if why := self._undrawn.get(build.sha) or self.redraws:
            raise Unobservable(why)
        first = link - (link - 1) % REDRAWS_AT_ONCE
        beside = range(first, first + REDRAWS_AT_ONCE)
        self._make_links(build, [number for number in beside if self.bench.binary(build, number) is None])

    def _make_links(self, build: BuildRow, links: Sequence[int]) -> None:
        """Link a build's objects in other orders, and keep what came of it; raises Unobservable, UserError."""
        sha, recipe = build.sha, self.bench.recipe(build.sha)
        log = self.home.logs / f"links-{sha[:12]}-{recipe.key()[:8]}-{int(time.time())}.log"
        self.tell(events.Redrawing(sha=sha, links=len(links), log=str(log)))
        drawn = self.executor.draw(DrawOrder(self.bench.order(recipe, log), tuple(links)), self.tell).result()
        self.bench.check_disk(sha, drawn.outcome, drawn.first_error)
        why = _why_not_of(drawn, build)
        artifacts = {} if why else drawn.artifacts
        self.store.set_links(build.id, artifacts)
        self.bench.artifacts.prune(DEFAULT_LIMIT_BYTES, self.store.artifacts_in_use())
        self.tell(
            events.Redrawn(
                sha=sha,
                links=len(artifacts),
                wall_seconds=drawn.wall_seconds,
                first_error=why,
                cache_hits=drawn.cache_hits,
                cache_misses=drawn.cache_misses,
            )
        )
        if why:
            self._undrawn[sha] = why
            raise Unobservable(why)

    def version(self, sha: str) -> Version:
        """The release a commit's tree says it belongs to; raises NoRecipe if it doesn't say."""
        return self.bench.version(sha)

    def same_code(self, one: str, other: str) -> bool:
        """Whether two commits' builds do the same when run; raises Unobservable if one can't be built."""
        first, second = self.build(one), self.build(other)
        return first.same_as == second.same_as and self.version(one) == self.version(other)

    def stand_in(self, sha: str) -> str:
        """The commit whose probes count for this one's: the first that was probed of those with equal code, for what is
        measured between two of them is noise. The release must be the same, since a probe's settings follow from it."""
        if sha not in self._twins:
            code = self.build(sha).same_as
            probed = [known.sha for known in self.store.probed(self.bisection) if known.code == code]
            twin = next((known for known in probed if self.version(known) == self.version(sha)), None)
            if twin is None:
                return sha
            self._twins[sha] = twin
            if twin != sha:
                self.tell(events.EqualCode(sha=sha, twin=twin))
        return self._twins[sha]

    def builds(self) -> list[tuple[BuildRow, bool]]:
        """All builds of this bisection of the kind that this lab has, in order, and whether each was made for it."""
        found = self.store.builds(self.bisection)
        return [(build, made) for build, made in found if build.variant == self._variant]

    @property
    def _variant(self) -> str:
        return SCREENING if self.question.screen else ""

    def objects(self, build: int) -> Mapping[str, ObjectFile]:
        """What each object of a build was made from, by names that other builds give them too; empty if not known."""
        if build not in self._objects:
            self._objects[build] = self.store.objects(build)
        return self._objects[build]

    def built_here(self) -> list[str]:
        """Commits that were built in answering this test, in order."""
        told = self.store.told(self.bisection, events.BuildFinished)
        return [event.sha for event in told if event.is_about(self.test.name) and event.variant == self._variant]

    def probes(self, sha: str, purpose: Purpose, count: int) -> list[ProbeRow]:
        """At least `count` probes of a commit; raises Unobservable if it can't be built or probes keep failing.

        Those for `SEARCH` may be another commit's with equal code; those of a redraw are of the commit's own build.
        Where any have worked, failures of an earlier run don't count: they were likely the host's.
        """
        build = self.build(self.stand_in(sha) if purpose == Purpose.SEARCH else sha)
        failed_now = 0
        while True:
            rows = self.store.probes(self.bisection, build.id, purpose, self.test.name)
            done = [row for row in rows if not row.error]
            if len(done) >= count:
                return done
            latest = [row.error for row in rows[-PROBE_ATTEMPTS:]]
            failing = len(latest) == PROBE_ATTEMPTS and all(latest)
            if failing and (failed_now >= PROBE_ATTEMPTS or not self._has_worked(build)):
                raise Unobservable(f"probe: {latest[-1]}")
            if purpose.link:
                self._draw(build, purpose.link)
            failed_now += not self._make_probe(build, purpose)

    def _has_worked(self, build: BuildRow) -> bool:
        """Whether any probe of a build has ended well in this bisection."""
        rows = self.store.probes(self.bisection, build.id, test=self.test.name)
        return any(not row.error for row in rows)

    def series(self, purpose: Purpose) -> list[tuple[str, ProbeRow]]:
        """All probes for a purpose, with their commits, in the order they were made."""
        shas = {build.id: build.sha for build, _ in self.builds()}
        rows = self.store.probes(self.bisection, purpose=purpose, test=self.test.name)
        return [(shas[row.build], row) for row in rows if not row.error and row.build in shas]

    def clocked(self) -> list[tuple[str, ProbeRow]]:
        """All probes of CPU time alone that worked, with their commits, in the order they were made."""
        shas = {build.id: build.sha for build, _ in self.builds()}
        rows = self.store.probes(self.bisection, test=self.test.name)
        clocked = (row for row in rows if row.purpose.only_clock and not row.error)
        return [(shas[row.build], row) for row in clocked if row.build in shas]

    def failures(self) -> dict[str, str]:
        """Commits that this bisection could not build by today's recipe, with why."""
        found: dict[str, str] = {}
        for build in {build.sha: build for build, _ in self.builds()}.values():
            if build.outcome != Outcome.BUILT and self._is_of_today(build.sha, build.recipe_key):
                found[build.sha] = build.first_error or build.outcome
        return found

    def kept(self, shas: Sequence[str]) -> frozenset[str]:
        """Those of some commits that need not be built: the binary of today's recipe is there, from any bisection of
        this clone."""
        stored = self.store.artifacts_of(self.bisection, self.engine.name, shas, self.history.identity)
        return frozenset(
            sha
            for sha, recipe_key, artifact in stored
            if self.bench.artifacts.path(artifact) is not None and self._is_of_today(sha, recipe_key)
        )

    def _is_of_today(self, sha: str, recipe_key: str) -> bool:
        """Whether a commit would be built by that recipe now; False if by none, or if a library of it is gone."""
        try:
            return self.bench.recipe(sha).key() == recipe_key
        except (NoRecipe, LibraryMissing):
            return False

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        """What a server's variable is called among a test's settings; if `lenient`, a server without it goes on."""
        return workload_of(self.engine).variable(variable, lenient=lenient)

    def variables(self, sha: str) -> dict[str, str]:
        """The variables of a commit's server; empty if it has none or was not asked."""
        return self.store.variables(self.bisection, sha, self.test.name)

    def touched(self, line: Line, variables: Mapping[str, float]) -> Touched:
        """What the commits of a line touch, as far as it can be read, and how some variables, each of which makes a
        part of the step, are defined at its ends."""
        if line.classes not in self._touched:
            self._touched[line.classes] = read_touched(self.history.path, line)
        settings = read_settings(self.history.path, line, variables) if variables else ()
        return replace(self._touched[line.classes], settings=settings)

    def record_line(self, line: Line) -> None:
        """Remember which commits a line has and which of them share a binary."""
        rows = [(sha, group[0], line.subjects.get(sha, "")) for group in line.classes for sha in group]
        self.store.set_candidates(self.bisection, line.path(self.side), rows)

    def record_suspects(self, line: Line, found: Mapping[str, Suspicion]) -> None:
        """Remember the ranking of a line's commits."""
        path = line.path(self.side)
        recorded = {sha: position for _, position, sha, _, _ in self.store.candidates(self.bisection, path)}
        # A class that is looked at commit by commit is no line of its own in the store.
        if tuple(recorded) == line.commits():
            rows = [SuspectRow(recorded[sha], sha, one.weight, one.because) for sha, one in found.items()]
            self.store.set_suspects(self.bisection, path, rows)

    def fresh_counts(self, sha: str) -> list[ProbeRow]:
        """The counts of a commit that were made to confirm a step, its own or the one after it, so far."""
        rows = self.store.probes(self.bisection, self.build(sha).id, test=self.test.name)
        return [row for row in rows if row.purpose.only_counts and not row.error]

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        """One probe of a commit with other settings than the question's; kept under a purpose of its own."""
        return self._with(sha, Purpose.trial(settings), settings)

    def ask(self, sha: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        """The variables of a commit's server with other settings than the question's, without a measurement; raises
        Unobservable if it does not start."""
        return self._with(sha, Purpose.ask(settings), settings).variables

    def _with(self, sha: str, purpose: Purpose, settings: Mapping[str, str]) -> ProbeRow:
        build = self.build(sha)
        asked = (self.bisection, build.id, purpose, self.test.name)
        done = self.store.probes(*asked)
        if not done:
            self._make_probe(build, purpose, settings)
            done = self.store.probes(*asked)
        if done[0].error:
            raise Unobservable(f"probe: {done[0].error}")
        return done[0]

    def _make_probe(self, build: BuildRow, purpose: Purpose, settings: Mapping[str, str] | None = None) -> bool:
        """One probe more, kept whatever becomes of it; False if it failed."""
        parameters = {**self.question.parameters[self.test.name], **(settings or {})}
        return self.bench.probe(build, purpose, self.test, parameters)


def _why_not_of(drawn: Drawn, build: BuildRow) -> str:
    """Why redraws are none of a build; empty if they are."""
    if drawn.outcome is not Outcome.BUILT:
        return drawn.first_error or drawn.outcome
    if build.code and tells_apart(drawn.code, build.code):
        return "its objects are no longer what they were when it was built: was a compiler or a library changed?"
    return ""
