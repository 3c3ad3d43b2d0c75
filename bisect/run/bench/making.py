"""Builds and probes carried out on this host, one at a time, and kept before anything else is done."""

import contextlib
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.home import Home
from cpubisect.base.locks import wait_for
from cpubisect.base.metrics import INSTRUCTIONS, Counter, Simulation
from cpubisect.base.sandbox.policy import Kind
from cpubisect.base.scratch import scratch
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildResult, BuildSettings, Library, Outcome, Recipe, Toolchain
from cpubisect.builders.carry import carry_out
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.libraries import libraries
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.shelf import LibraryMissing, Shelf
from cpubisect.history.history import History
from cpubisect.records.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import BuildRow, Store
from cpubisect.run.measuring import Unobservable
from cpubisect.search import events
from cpubisect.search.events import Watch
from cpubisect.workloads.catalog import workload_of
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples, SettingRefused, Test, was_killed

PROBE_ATTEMPTS = 2
"""So many failed probes in a row make a commit unobservable: a single one may be the host's fault."""

KILLED_ATTEMPTS = 3
"""So often in a row a build or a probe is begun that is killed from outside, as by a host that is short of memory:
what was compiled until then is in the cache."""


_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_FULL_DISK_BYTES = 1 << 20


@dataclass(frozen=True)
class Bench:
    """Where builds and probes are made for one `owner`, a bisection or a comparison, into whose tables `store` writes.

    `toolchain` is the compiler for all builds, None for the matrix's preference; `profiled` is the metric of profiles;
    `again` is the command that goes on after an interruption; `flags` are those that commits are compiled by;
    `tell` takes what happens; at the `ends` (shas) a setting that is refused is the user's matter, not the commit's;
    `sandbox` is what builds and probes run in.
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
    toolchain: str | None = None
    jobs: int = 2
    simulations: tuple[Simulation, ...] = ()
    profiled: str = INSTRUCTIONS
    flags: Flags = Flags.PINNED
    ends: frozenset[str] = frozenset()
    sandbox: Kind = Kind.NONE
    _libraries: dict[str, tuple[Library, ...]] = field(default_factory=dict, repr=False)

    def version(self, sha: str) -> Version:
        """The release a commit's tree says it belongs to; raises UserError if it doesn't say."""
        version = self.history.version_at(sha)
        if version is None:
            raise UserError(
                f"commit {sha[:12]} has no version file of {self.engine.name}", "choose a later good commit"
            )
        return version

    def recipe(self, sha: str) -> Recipe:
        """How a commit is built now; raises UserError if there is no way."""
        return self.matrix.recipe(
            self.engine,
            sha,
            self.version(sha),
            self.toolchains,
            prefer=self.toolchain,
            flags=self.flags,
            libraries=self._wanted(sha),
        )

    def find_or_make(self, sha: str) -> BuildRow:
        """The build of a commit that is kept, or one made now; raises Unobservable if there is no recipe, UserError if
        this host lacks a library."""
        try:
            recipe = self.recipe(sha)
        except LibraryMissing:
            raise
        except UserError as reason:
            raise Unobservable(reason.problem) from reason
        own = {build.id for build, _ in self.store.builds(self.owner, [sha])}
        # Its own come first: the probes there are belong to them.
        rows = sorted(self.store.builds_of_recipe(recipe.key()), key=lambda row: row.id in own, reverse=True)
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

    def make(self, recipe: Recipe, lost: BuildRow | None = None) -> BuildRow:
        """Build by a recipe, and keep what came of it; if that has the code of a build whose artifact was `lost`, as
        that one's. Raises UserError if the disk is full, a library is not to be had, or what was built before cannot be
        built now."""
        self.provide(recipe)
        started, sha = time.time(), recipe.commit
        log = self.home.logs / f"build-{sha[:12]}-{recipe.key()[:8]}-{int(started)}.log"
        self.tell(events.BuildStarted(sha=sha, toolchain=recipe.toolchain.name, log=str(log)))
        with scratch(self.home.work) as work:
            result = self._carried_out(recipe, work, log)
            self.check_disk(sha, result.outcome, result.first_error)
            digest = self.artifacts.put(result.output) if result.output else None
        row = self._recorded(replace(result, output=None), digest, started, lost)
        self.artifacts.prune(DEFAULT_LIMIT_BYTES, self.store.artifacts_in_use())
        self.tell(
            events.BuildFinished(
                sha=sha,
                outcome=row.outcome,
                wall_seconds=result.wall_seconds,
                first_error=row.first_error,
                cache_hits=result.cache_hits,
                cache_misses=result.cache_misses,
                repairs=len(row.repairs),
            )
        )
        return row

    def _carried_out(self, recipe: Recipe, work: Path, log: Path) -> BuildResult:
        """What came of building; one that was killed is begun again."""
        for attempt in range(KILLED_ATTEMPTS):
            result = carry_out(
                recipe,
                builder_of(self.engine),
                self.history.path,
                work,
                self.settings(),
                log=log,
                progress=lambda text: self.tell(events.Progress(text=text)),
            )
            if result.outcome is not Outcome.OUT_OF_MEMORY or attempt == KILLED_ATTEMPTS - 1:
                break
            self.tell(events.Killed(sha=recipe.commit, what="build", why=result.first_error))
        return result

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

    def settings(self) -> BuildSettings:
        """What every build here has."""
        return BuildSettings(
            ccache_dir=self.home.ccache,
            patches_dir=self.matrix.patches_dir,
            jobs=self.jobs,
            unread=self.engine.unread,
            bundled=self.engine.bundled,
            libraries=self.home.libraries,
            sandbox=self.sandbox,
        )

    def provide(self, recipe: Recipe) -> None:
        """Have the libraries of a recipe here; raises UserError."""
        for library in recipe.libraries:
            addresses = self.matrix.addresses(self.engine, library.name)
            self._shelf.provide(library, addresses, lambda text: self.tell(events.Progress(text=text)))

    def _wanted(self, sha: str) -> tuple[Library, ...]:
        """The libraries that a commit's tree wants; raises UserError for one of which nothing is known."""
        if sha not in self._libraries:
            sections = self.matrix.libraries(self.engine)
            self._libraries[sha] = libraries(sections, self.history.tree(sha), self._shelf)
        return self._libraries[sha]

    @cached_property
    def _shelf(self) -> Shelf:
        return Shelf(self.home.libraries)

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
        digest = self.store.links(build.id).get(link) if link else build.artifact
        found = self.artifacts.path(digest) if digest else None
        if digest is None or found is None or self.artifacts.sound(digest):
            return found
        self.artifacts.discard(digest)
        self.tell(events.ArtifactDamaged(sha=build.sha, digest=digest))
        return None

    @cached_property
    def artifacts(self) -> Artifacts:
        """The kept builds of this host."""
        return Artifacts(self.home.artifacts)

    def probe(self, build: BuildRow, purpose: Purpose, test: Test, parameters: Mapping[str, str]) -> bool:
        """One probe more, kept whatever becomes of it; False if it failed. An artifact that is gone or damaged is made
        anew before; raises UserError if it is another one then, or an end refuses a setting of the user's."""
        sha, build = build.sha, self._at_hand(build, purpose)
        with only_probe(self.home):
            self.tell(events.ProbeStarted(sha=sha, purpose=str(purpose)))
            for attempt in range(KILLED_ATTEMPTS):
                started, began = time.time(), time.monotonic()
                samples, error = self._probed(build, purpose, test, parameters)
                seconds = time.monotonic() - began
                if error is None or not was_killed(error) or attempt == KILLED_ATTEMPTS - 1:
                    break
                self.tell(events.Killed(sha=sha, what="probe", why=error))
        self.store.add_probe(
            self.owner,
            build.id,
            purpose,
            test.name,
            parameters,
            started,
            samples,
            seconds=seconds,
            counter=self.counter.value,
            error=error,
        )
        told = events.ProbeFinished(sha=sha, purpose=str(purpose), seconds=seconds, error=error)
        if samples:
            values = {name: list(found) for name, found in samples.values.items()}
            told = replace(told, values=values, note=samples.note)
        self.tell(told)
        return error is None

    def _probed(
        self, build: BuildRow, purpose: Purpose, test: Test, parameters: Mapping[str, str]
    ) -> tuple[Samples | None, str | None]:
        """The samples of one probe, or why there are none; raises UserError if an end refuses a setting, or the disk is
        full."""
        with scratch(self.home.work) as work:
            request = self._request(build, purpose, test, parameters, work)
            try:
                return (asked if purpose.only_asks else measure)(self.engine, request), None
            except ProbeError as failure:
                if isinstance(failure, SettingRefused) and build.sha in self.ends and purpose.counts:
                    raise UserError(str(failure), "leave that setting out: no commit is to blame for it") from failure
                if _FULL.search(str(failure)) or shutil.disk_usage(work).free < _FULL_DISK_BYTES:
                    raise UserError(
                        f"the disk became full while {build.sha[:12]} was probed ({failure})",
                        f"free space (`bisect artifacts prune`) and run `{self.again}`",
                    ) from failure
                return None, str(failure)

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

    def _request(
        self, build: BuildRow, purpose: Purpose, test: Test, parameters: Mapping[str, str], work: Path
    ) -> ProbeRequest:
        """What a probe of a build is asked for; raises UserError if its artifact is gone."""
        artifact = self.binary(build, purpose.link)
        if artifact is None:
            raise UserError(f"the artifact of {build.sha[:12]} was pruned while in use", f"run `{self.again}`")
        return ProbeRequest(
            artifact=artifact,
            version=self.version(build.sha),
            test=test,
            parameters=parameters,
            counter=self.counter,
            scratch=work,
            instructions=not purpose.only_clock and self.counter is not Counter.NONE,
            clock=purpose.clocks,
            simulations=self.simulations,
            profiled=self.profiled,
            sandbox=self.sandbox,
        )


def measure(engine: Engine, request: ProbeRequest) -> Samples:
    """What the engine's workload measures; raises ProbeError."""
    return workload_of(engine).probe(request)


def asked(engine: Engine, request: ProbeRequest) -> Samples:
    """No samples, but the variables of what would be measured; raises ProbeError."""
    started = time.monotonic()
    variables = workload_of(engine).variables(request)
    return Samples({}, request.counter, request.parameters, time.monotonic() - started, variables=variables)


@contextlib.contextmanager
def only_probe(home: Home) -> Iterator[None]:
    """Held while a probe runs: one at a time per host, across all bisections and comparisons."""
    with wait_for(home.root / "probe.lock"):
        yield
