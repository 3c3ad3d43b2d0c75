"""Builds and probes of one question: ordered, and kept before anything else is done."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.home import Home
from cpubisect.base.metrics import INSTRUCTIONS, Counter, Simulation
from cpubisect.base.sandbox.policy import Kind
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildResult, Library, NoRecipe, Outcome, Recipe, Toolchain
from cpubisect.builders.libraries import HOST, libraries
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.shelf import Shelf
from cpubisect.history.history import History
from cpubisect.records.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import BuildRow
from cpubisect.records.store import Store
from cpubisect.run.bench.orders import BuildOrder, Built, Executor, Handle, ProbeOrder
from cpubisect.run.measuring import Unobservable
from cpubisect.run.turns import Turns
from cpubisect.search import events
from cpubisect.search.events import Event, Watch
from cpubisect.workloads.probe import Test


@dataclass
class Begun:
    """A build by a `recipe` that was ordered, at a time of the monotonic clock, and is expected to take so many
    `seconds`; `host` is where it is made, empty as long as it waits for one; `ended` says that it was seen to end;
    `wanted_by` are the tests that asked for it, and `row` is what was recorded of it."""

    recipe: Recipe
    handle: Handle[Built]
    at: float
    seconds: float
    host: str = ""
    ended: bool = False
    wanted_by: set[str] = field(default_factory=set)
    row: BuildRow | None = None


LOOK_S = 1.0
"""While something is waited for, it is looked so often what becomes of builds that were begun."""

Result = TypeVar("Result")

PROBE_ATTEMPTS = 2
"""So many failed probes in a row make a commit unobservable: a single one may be the host's fault."""


@dataclass(frozen=True)
class Bench:
    """Where builds and probes are made for one `owner`, a bisection or a comparison, into whose tables `store` writes,
    by an `executor`.

    `toolchain` is the compiler for all builds, None for the matrix's preference; `profiled` is the metric of profiles;
    `again` is the command that goes on after an interruption; `flags` are those that commits are compiled by, `variant`
    the kind of their builds; `tell` takes what happens; at the `ends` (shas) a setting that is refused is the user's
    matter, not the commit's; `sandbox` is what builds and probes run in. By their commits, `begun` are builds that were
    ordered and not waited for, and `received` those that were recorded and not asked for yet. Where several tests are
    answered side by side, `asker` is the one whose bench this is, `turns` whose turn it is, and `inboxes` have, by
    test, the commits whose builds others have recorded.
    """

    owner: int
    store: Store
    engine: Engine
    matrix: Matrix
    toolchains: tuple[Toolchain, ...]
    counter: Counter
    history: History
    home: Home
    tell: Watch
    again: str
    executor: Executor
    toolchain: str | None = None
    jobs: int = 2
    simulations: tuple[Simulation, ...] = ()
    profiled: str = INSTRUCTIONS
    flags: Flags = Flags.PINNED
    variant: str = ""
    ends: frozenset[str] = frozenset()
    sandbox: Kind = Kind.NONE
    begun: dict[str, Begun] = field(default_factory=dict, repr=False)
    received: dict[str, BuildRow] = field(default_factory=dict, repr=False)
    asker: str = ""
    turns: Turns = field(default_factory=Turns, repr=False)
    inboxes: dict[str, list[str]] = field(default_factory=dict, repr=False)
    _libraries: dict[str, tuple[Library, ...]] = field(default_factory=dict, repr=False)

    def version(self, sha: str) -> Version:
        """The release a commit's tree says it belongs to; raises NoRecipe if it doesn't say."""
        version = self.history.version_at(sha)
        if version is None:
            raise NoRecipe(f"commit {sha[:12]} has no version file of {self.engine.name}", "choose a later good commit")
        return version

    def recipe(self, sha: str) -> Recipe:
        """How a commit is built now; raises NoRecipe if there is no way, UserError if that cannot be known here now."""
        return self.matrix.recipe(
            self.engine,
            sha,
            self.version(sha),
            self.toolchains,
            prefer=self.toolchain,
            variant=self.variant,
            flags=self.flags,
            libraries=self._wanted(sha),
        )

    def find_or_make(self, sha: str) -> BuildRow:
        """The build of a commit that is kept of this clone, one that was begun, or one made now; raises Unobservable if
        there is no recipe, UserError if this host lacks a library or a partial clone cannot fetch now."""
        if sha in self.received:
            return self.received.pop(sha)
        try:
            recipe = self.recipe(sha)
        except NoRecipe as reason:
            raise Unobservable(reason.problem) from reason
        own = {build.id for build, _ in self.store.builds(self.owner, [sha])}
        kept = self.store.builds_of_recipe(self.owner, recipe.key(), self.history.identity)
        # Its own come first: the probes there are belong to them.
        rows = sorted(kept, key=lambda row: row.id in own, reverse=True)
        lost = None
        for row in rows:
            # Another one's failure may have been the host's: a missing package, since installed.
            failed = row.outcome != Outcome.BUILT and row.id in own and lost is None
            usable = self.binary(row) is not None if row.artifact else failed
            if usable and lost and row.artifact and row.code and row.code == lost.code:
                self.store.put_back(lost.id, row.artifact)
                row = replace(lost, artifact=row.artifact)
            if usable:
                self.store.use_build(self.owner, row.id)
                self.tell(events.BuildReused(sha=sha, outcome=row.outcome))
                return row
            if row.id in own and row.outcome == Outcome.BUILT:
                lost = lost or row
        return self.make(recipe, lost)

    def begin(self, sha: str, seconds: float) -> bool:
        """Have a commit built ahead, which is expected to take so long; whether it is being built. It is not if it was
        built, or cannot be: `find_or_make` says what of it is there, or why it is not."""
        if sha in self.received:
            return False
        if sha not in self.begun:
            try:
                recipe = self.recipe(sha)
            except UserError:
                return False
            if self._is_there(sha, recipe):
                return False
            self.begun[sha] = self._begin(recipe, seconds)
        return True

    def receive(self, sha: str) -> None:
        """Record a build that was begun and has ended; raises UserError as `make` does."""
        self.received[sha] = self.find_or_make(sha)

    def _is_there(self, sha: str, recipe: Recipe) -> bool:
        """Whether a commit need not be built; what is damaged on the disk is seen when it is asked for."""
        own = {build.id for build, _ in self.store.builds(self.owner, [sha])}
        kept = self.store.builds_of_recipe(self.owner, recipe.key(), self.history.identity)
        return any(
            self.artifacts.path(row.artifact) is not None if row.artifact else row.outcome != Outcome.BUILT
            for row in kept
            if row.artifact or row.id in own
        )

    def _begin(self, recipe: Recipe, seconds: float) -> Begun:
        """Order a build."""
        sha = recipe.commit
        log = self.home.logs / f"build-{sha[:12]}-{recipe.key()[:8]}-{int(time.time())}.log"
        self.tell(events.BuildStarted(sha=sha, toolchain=recipe.toolchain.name, log=str(log)))

        def tell(event: Event) -> None:
            if isinstance(event, events.Placed) and sha in self.begun:
                self.begun[sha].host = event.host
            self.tell(event)

        return Begun(recipe, self.executor.build(self.order(recipe, log), tell), time.monotonic(), seconds)

    def make(self, recipe: Recipe, lost: BuildRow | None = None) -> BuildRow:
        """Build by a recipe, unless that was begun, and keep what came of it; if that has the code of a build whose
        artifact was `lost`, as that one's. Raises UserError if the disk is full, a library is not to be had, or what
        was built before cannot be built now."""
        sha = recipe.commit
        begun = self.begun.get(sha) or self._begin(recipe, 0.0)
        begun.wanted_by.add(self.asker)
        if self.turns.several:
            # Another test that asks for it meanwhile waits for the same build.
            self.begun[sha] = begun
        try:
            built = self._waited(begun.handle, for_others=True)
        except Exception:
            self.begun.pop(sha, None)
            raise
        if begun.row is not None:
            return begun.row
        self.begun.pop(sha, None)
        result = built.result
        self.check_disk(sha, result.outcome, result.first_error)
        row = begun.row = self._recorded(result, built.artifact, built.started, lost)
        for asker, inbox in self.inboxes.items():
            if asker != self.asker:
                inbox.append(sha)
        self.artifacts.prune(DEFAULT_LIMIT_BYTES, (*self.store.artifacts_in_use(), *self._arrived()))
        self.tell(
            events.BuildFinished(
                sha=sha,
                outcome=row.outcome,
                wall_seconds=result.wall_seconds,
                first_error=row.first_error,
                cache_hits=result.cache_hits,
                cache_misses=result.cache_misses,
                repairs=len(row.repairs),
                host=built.host,
            )
        )
        return row

    def ended(self) -> list[str]:
        """The commits whose builds were begun and have ended; what their hosts tell is passed on."""
        for one in self.begun.values():
            one.ended = one.handle.done()
        return [sha for sha, one in self.begun.items() if one.ended]

    def _waited(self, handle: Handle[Result], *, for_others: bool = False) -> Result:
        """What came of something, with an eye on the builds that were begun beside it; the wait may be one `for_others`
        to go on. Raises turns.Ended."""
        while (self.begun or self.turns.several) and not handle.wait(LOOK_S):
            self.ended()
            if for_others:
                self.turns.pass_on()
            else:
                self.turns.look()
        return handle.result()

    def _arrived(self) -> Iterator[str]:
        """The artifacts of builds that have ended and are not recorded yet."""
        for one in self.begun.values():
            with contextlib.suppress(UserError):
                if one.ended and (digest := one.handle.result().artifact):
                    yield digest

    def _recorded(self, result: BuildResult, digest: str | None, started: float, lost: BuildRow | None) -> BuildRow:
        """What the store has of a build that has just ended; raises UserError if it ended well before."""
        if lost is None:
            return self.store.add_build(self.owner, result, digest, started)
        if digest is None:
            raise UserError(
                f"{lost.sha[:12]} was built before and cannot be built now ({result.first_error or result.outcome})",
                f"see {result.log}; `{self.again}` goes on",
            )
        if result.code != lost.code and digest != lost.artifact:
            return self.store.add_build(self.owner, result, digest, started)
        self.store.put_back(lost.id, digest)
        return replace(lost, artifact=digest)

    def order(self, recipe: Recipe, log: Path) -> BuildOrder:
        """What is ordered to have a recipe carried out."""
        return BuildOrder(
            recipe=recipe,
            engine=self.engine,
            repository=self.history.path,
            patches_dir=self.matrix.patches_dir,
            log=log,
            jobs=self.jobs,
            addresses={one.name: self.matrix.addresses(self.engine, one.name) for one in recipe.libraries},
            sandbox=self.sandbox,
        )

    def _wanted(self, sha: str) -> tuple[Library, ...]:
        """The libraries that a commit's tree wants; raises UserError for one of which nothing is known."""
        if sha not in self._libraries:
            sections = self.matrix.libraries(self.engine)
            # What another host has of its own is not known here.
            places = HOST if self.executor.here else ()
            self._libraries[sha] = libraries(sections, self.history.tree(sha), Shelf(self.home.libraries), places)
        return self._libraries[sha]

    def check_disk(self, sha: str, outcome: Outcome, first_error: str) -> None:
        """Raises UserError if a build ended for want of space: that says nothing about its commit."""
        if outcome is Outcome.OUT_OF_DISK:
            raise UserError(
                f"the disk became full while {sha[:12]} was built ({first_error})",
                f"free space (`bisect artifacts prune`) and run `{self.again}`",
            )

    def binary(self, build: BuildRow, link: int = 0) -> Path | None:
        """Where the artifact of a build or of its redraw is; None if it was pruned, never made, or is no longer what
        was kept: then it is thrown away, and that is told."""
        digest = self._digest(build, link)
        found = self.artifacts.path(digest) if digest else None
        if digest is None or found is None or self.artifacts.sound(digest):
            return found
        self.artifacts.discard(digest)
        self.tell(events.ArtifactDamaged(sha=build.sha, digest=digest))
        return None

    def _digest(self, build: BuildRow, link: int) -> str | None:
        return self.store.links(build.id).get(link) if link else build.artifact

    @cached_property
    def artifacts(self) -> Artifacts:
        """The kept builds of this home directory."""
        return Artifacts(self.home.artifacts)

    def probe(self, build: BuildRow, purpose: Purpose, test: Test, parameters: Mapping[str, str]) -> bool:
        """One probe more, kept whatever becomes of it; False if it failed. An artifact that is gone or damaged is made
        anew before; raises UserError if it is another one then, or an end refuses a setting of the user's."""
        sha, build = build.sha, self._at_hand(build, purpose)
        probed = self._waited(self.executor.probe(self._ordered(build, purpose, test, parameters), self.tell))
        samples, error, seconds = probed.samples, probed.error, probed.seconds
        if error is not None and probed.refused and sha in self.ends and purpose.counts:
            raise UserError(error, "leave that setting out: no commit is to blame for it")
        if error is not None and probed.full:
            raise UserError(
                f"the disk became full while {sha[:12]} was probed ({error})",
                f"free space (`bisect artifacts prune`) and run `{self.again}`",
            )
        self.store.add_probe(
            self.owner,
            build.id,
            purpose,
            test.name,
            parameters,
            probed.started,
            samples,
            seconds=seconds,
            counter=self.counter.value,
            error=error,
        )
        told = events.ProbeFinished(sha=sha, purpose=str(purpose), seconds=seconds, error=error, host=probed.host)
        if samples:
            values = {name: list(found) for name, found in samples.values.items()}
            told = replace(told, values=values, note=samples.note)
        self.tell(told)
        return error is None

    def _at_hand(self, build: BuildRow, purpose: Purpose) -> BuildRow:
        """A build with its artifact on the disk; raises UserError if the recipe makes another one now."""
        if purpose.link or self.binary(build) is not None:
            return build
        ((now, _),) = self.store.builds(self.owner, build=build.id)
        if now.artifact != build.artifact and self.binary(now) is not None:
            return now
        made = self.make(self.recipe(build.sha), build)
        if made.id != build.id:
            raise UserError(
                f"{build.sha[:12]} was lost, and is another program when it is built now",
                f"was a compiler or a library changed? `{self.again}` measures it anew",
            )
        return made

    def _ordered(self, build: BuildRow, purpose: Purpose, test: Test, parameters: Mapping[str, str]) -> ProbeOrder:
        """What is ordered to have a build probed; raises UserError if its artifact is gone."""
        digest = self._digest(build, purpose.link)
        if digest is None or self.binary(build, purpose.link) is None:
            raise UserError(f"the artifact of {build.sha[:12]} was pruned while in use", f"run `{self.again}`")
        return ProbeOrder(
            engine=self.engine,
            sha=build.sha,
            artifact=digest,
            version=self.version(build.sha),
            test=test,
            parameters=parameters,
            counter=self.counter,
            purpose=str(purpose),
            only_asks=purpose.only_asks,
            instructions=not purpose.only_clock and self.counter is not Counter.NONE,
            clock=purpose.clocks,
            simulations=self.simulations,
            profiled=self.profiled,
            sandbox=self.sandbox,
        )
