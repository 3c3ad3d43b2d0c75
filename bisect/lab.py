"""Builds and probes for one bisection: asks the store first, so that nothing finished is done again."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cpubisect.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.bench import Bench
from cpubisect.builders.build import BuildSettings, Outcome, Recipe
from cpubisect.builders.carry import carry_out
from cpubisect.engine import module_of
from cpubisect.errors import UserError
from cpubisect.locks import wait_for
from cpubisect.paths import Home
from cpubisect.scratch import scratch
from cpubisect.store import BuildRow, ProbeRow
from cpubisect.version import Version
from cpubisect.workloads.probe import Counter, ProbeError, ProbeRequest, Test

PROBE_ATTEMPTS = 2
"""So many failed probes in a row make a commit unobservable: a single one may be the host's fault."""


class Purpose:
    """Why a probe is made: `SEARCH` counts instructions and CPU time, `CLOCK` only CPU time, in interleaved rounds."""

    SEARCH = "search"
    CLOCK = "clock"

    @staticmethod
    def counts(purpose: str) -> bool:
        """Whether a probe was made with the question's own settings: what it says counts for its commit."""
        return purpose == Purpose.SEARCH or purpose.startswith(Purpose.CLOCK)

    @staticmethod
    def clock(sha: str, against: str = "") -> str:
        """CPU time of one commit beside others: rounds of their own, so that all are probed anew, interleaved."""
        return f"{Purpose.CLOCK} {sha[:12]}" + (f" against {against[:12]}" if against else "")


class Unobservable(Exception):
    """This commit cannot be measured; the message is the first line that says why."""


class Lab:
    """Carries out builds and probes of one bisection, one at a time."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._artifacts = Artifacts(bench.home.artifacts)
        self._builder = module_of(bench.engine, "builders").BUILDER
        self._probe = module_of(bench.engine, "workloads").probe
        self._built: dict[str, BuildRow] = {}
        self._twins: dict[str, str] = {}

    def beside(self, test: Test) -> "Lab":
        """The same lab for another test of the question: what one has built, the other has."""
        other = Lab(self._bench.only(test))
        other._built, other._twins = self._built, self._twins
        return other

    def build(self, sha: str) -> BuildRow:
        """The build of a commit, made now unless the store has it; raises Unobservable if it can't be built.

        With several tests, each probes it before anything else is built.
        """
        if sha not in self._built:
            self._built[sha] = self._find_or_make(sha)
            if self._bench.several and self._built[sha].outcome == Outcome.BUILT:
                for test in self._bench.tests:
                    with contextlib.suppress(Unobservable):
                        self.beside(test).probes(sha, Purpose.SEARCH, 1)
        row = self._built[sha]
        if row.outcome != Outcome.BUILT:
            raise Unobservable(row.first_error or row.outcome)
        return row

    def _find_or_make(self, sha: str) -> BuildRow:
        bench = self._bench
        try:
            recipe = self._recipe(sha)
        except UserError as reason:
            raise Unobservable(reason.problem) from reason
        tried_here = {build.id for build, _ in bench.store.builds(bench.bisection)}
        for row in bench.store.builds_of_recipe(recipe.key()):
            kept = row.artifact is not None and self._artifacts.path(row.artifact) is not None
            # Another bisection's failure may have been the host's: a missing package, since installed.
            if kept or (row.outcome != Outcome.BUILT and row.id in tried_here):
                bench.store.use_build(bench.bisection, row.id)
                bench.watch("build-reused", sha=sha, outcome=row.outcome)
                return row
        started = time.time()
        log = bench.home.logs / f"build-{sha[:12]}-{recipe.key()[:8]}-{int(started)}.log"
        bench.watch("build-started", sha=sha, toolchain=recipe.toolchain.name, log=str(log))
        settings = BuildSettings(
            ccache_dir=bench.home.ccache, patches_dir=bench.matrix.patches_dir, jobs=bench.question.jobs
        )
        with scratch(bench.home.work) as work:
            result = carry_out(
                recipe,
                self._builder,
                bench.history.path,
                work,
                settings,
                log=log,
                progress=lambda text: bench.watch("progress", text=text),
            )
            if result.outcome is Outcome.OUT_OF_DISK:
                raise UserError(
                    f"the disk became full while {sha[:12]} was built ({result.first_error})",
                    f"free space (`bisect artifacts prune`) and run `bisect resume {bench.bisection}`",
                )
            digest = self._artifacts.put(result.output) if result.output else None
        row = bench.store.add_build(bench.bisection, replace(result, output=None), digest, started)
        self._artifacts.prune(DEFAULT_LIMIT_BYTES, bench.store.artifacts_in_use())
        bench.watch(
            "build-finished",
            sha=sha,
            outcome=row.outcome,
            wall_seconds=row.wall_seconds,
            first_error=row.first_error,
            cache_hits=row.cache_hits,
            cache_misses=row.cache_misses,
            repairs=len(row.repairs),
        )
        return row

    def version(self, sha: str) -> Version:
        """The release a commit's tree says it belongs to; raises UserError if it doesn't say."""
        version: Version | None = self._bench.history.version_at(sha)
        if version is None:
            raise UserError(
                f"commit {sha[:12]} has no version file of {self._bench.engine.name}", "choose a later good commit"
            )
        return version

    def same_code(self, one: str, other: str) -> bool:
        """Whether two commits' builds do the same when run; raises Unobservable if one can't be built."""
        first, second = self.build(one), self.build(other)
        return first.same_as == second.same_as and self.version(one) == self.version(other)

    def stand_in(self, sha: str) -> str:
        """The commit whose probes count for this one's: the first that was probed of those with equal code, for what is
        measured between two of them is noise. The release must be the same, since a probe's settings follow from it."""
        if sha not in self._twins:
            code = self.build(sha).same_as
            probed = [known.sha for known in self._bench.store.probed(self._bench.bisection) if known.code == code]
            twin = next((known for known in probed if self.version(known) == self.version(sha)), None)
            if twin is None:
                return sha
            self._twins[sha] = twin
            if twin != sha:
                self._bench.watch("equal-code", sha=sha, twin=twin)
        return self._twins[sha]

    def shared(self) -> frozenset[str]:
        """Commits that cost no further build: another test, or this bisection before it was interrupted, had them built
        or tried to."""
        return frozenset(build.sha for build, _ in self._bench.store.builds(self._bench.bisection))

    def made(self) -> list[str]:
        """Commits that were built for this bisection, in order."""
        return [build.sha for build, made in self._bench.store.builds(self._bench.bisection) if made]

    def probes(self, sha: str, purpose: str, count: int) -> list[ProbeRow]:
        """At least `count` probes of a commit; raises Unobservable if it can't be built or probes keep failing.

        Those for `SEARCH` may be another commit's with equal code. Where any have worked, failures of an earlier run
        don't count: they were likely the host's.
        """
        build = self.build(self.stand_in(sha) if purpose == Purpose.SEARCH else sha)
        failed_now = 0
        while True:
            rows = self._bench.store.probes(self._bench.bisection, build.id, purpose, self._bench.test.name)
            done = [row for row in rows if not row.error]
            if len(done) >= count:
                return done
            latest = [row.error for row in rows[-PROBE_ATTEMPTS:]]
            failing = len(latest) == PROBE_ATTEMPTS and all(latest)
            if failing and (failed_now >= PROBE_ATTEMPTS or not self._has_worked(build)):
                raise Unobservable(f"probe: {latest[-1]}")
            failed_now += not self._make_probe(build, purpose)

    def _has_worked(self, build: BuildRow) -> bool:
        """Whether any probe of a build has ended well in this bisection."""
        rows = self._bench.store.probes(self._bench.bisection, build.id, test=self._bench.test.name)
        return any(not row.error for row in rows)

    def once_more(self, sha: str, purpose: str) -> None:
        """One more probe of a commit for a purpose; raises Unobservable."""
        rows = self._bench.store.probes(self._bench.bisection, self.build(sha).id, purpose, self._bench.test.name)
        self.probes(sha, purpose, sum(not row.error for row in rows) + 1)

    def series(self, purpose: str) -> list[tuple[str, ProbeRow]]:
        """All probes for a purpose, with their commits, in the order they were made."""
        shas = {build.id: build.sha for build, _ in self._bench.store.builds(self._bench.bisection)}
        rows = self._bench.store.probes(self._bench.bisection, purpose=purpose, test=self._bench.test.name)
        return [(shas[row.build], row) for row in rows if not row.error and row.build in shas]

    def built(self) -> dict[str, BuildRow]:
        """The builds that this bisection has, by commit."""
        rows = (row for row, _ in self._bench.store.builds(self._bench.bisection))
        return {row.sha: row for row in rows if row.outcome == Outcome.BUILT}

    def failures(self) -> dict[str, str]:
        """Commits that this bisection could not build by today's recipe, with why."""
        found: dict[str, str] = {}
        for build, _ in self._bench.store.builds(self._bench.bisection):
            if build.outcome != Outcome.BUILT and self._is_of_today(build.sha, build.recipe_key):
                found[build.sha] = build.first_error or build.outcome
        return found

    def kept(self, shas: Sequence[str]) -> frozenset[str]:
        """Those of some commits that need not be built: the binary of today's recipe is there, from any bisection."""
        bench = self._bench
        stored = bench.store.artifacts_of(bench.engine.name, shas)
        return frozenset(
            sha
            for sha, recipe_key, artifact in stored
            if self._artifacts.path(artifact) is not None and self._is_of_today(sha, recipe_key)
        )

    def _is_of_today(self, sha: str, recipe_key: str) -> bool:
        """Whether a commit would be built by that recipe now; False if by none."""
        try:
            return self._recipe(sha).key() == recipe_key
        except UserError:
            return False

    def _recipe(self, sha: str) -> Recipe:
        bench = self._bench
        return bench.matrix.recipe(
            bench.engine, sha, self.version(sha), bench.toolchains, prefer=bench.question.toolchain
        )

    def rounds(self, shas: Sequence[str], purpose: str, count: int) -> list[list[ProbeRow]]:
        """`count` probes of each commit, interleaved: every other round runs in reverse, so that drift cancels."""
        for sha in shas:
            self.build(sha)
        for number in range(1, count + 1):
            for sha in shas if number % 2 else reversed(shas):
                self.probes(sha, purpose, number)
        return [self.probes(sha, purpose, count)[:count] for sha in shas]

    def probe_with(self, sha: str, overrides: Mapping[str, str]) -> ProbeRow:
        """One probe of a commit with other settings than the question's; kept under a purpose of its own."""
        settings = ",".join(f"{key}={value}" for key, value in sorted(overrides.items()))
        purpose = f"with {settings}"
        build = self.build(sha)
        asked = (self._bench.bisection, build.id, purpose, self._bench.test.name)
        done = self._bench.store.probes(*asked)
        if not done:
            self._make_probe(build, purpose, overrides)
            done = self._bench.store.probes(*asked)
        if done[0].error:
            raise Unobservable(f"probe: {done[0].error}")
        return done[0]

    def _make_probe(self, build: BuildRow, purpose: str, overrides: Mapping[str, str] | None = None) -> bool:
        """One probe more, kept whatever becomes of it; False if it failed."""
        bench, sha = self._bench, build.sha
        artifact = self._artifacts.path(build.artifact or "")
        if artifact is None:
            raise UserError(
                f"the artifact of {sha[:12]} was pruned while in use", f"run `bisect resume {bench.bisection}`"
            )
        parameters = {**bench.question.parameters[bench.test.name], **(overrides or {})}
        with only_probe(bench.home), scratch(bench.home.work) as work:
            bench.watch("probe-started", sha=sha, purpose=purpose)
            started = time.time()
            request = ProbeRequest(
                artifact=artifact,
                version=self.version(sha),
                test=bench.test,
                parameters=parameters,
                counter=bench.counter,
                scratch=work,
                instructions=not purpose.startswith(Purpose.CLOCK) and bench.counter is not Counter.NONE,
                clock=True,
            )
            try:
                samples, error = self._probe(request), None
            except ProbeError as failure:
                samples, error = None, str(failure)
            seconds = time.time() - started
        bench.store.add_probe(
            bench.bisection,
            build.id,
            purpose,
            bench.test.name,
            parameters,
            started,
            samples,
            seconds=seconds,
            counter=bench.counter.value,
            error=error,
        )
        values = {name: list(found) for name, found in samples.values.items()} if samples else {}
        bench.watch("probe-finished", sha=sha, purpose=purpose, seconds=seconds, error=error, values=values)
        return error is None


@contextlib.contextmanager
def only_probe(home: Home) -> Iterator[None]:
    """Held while a probe runs: one at a time per host, across all bisections."""
    with wait_for(home.root / "probe.lock"):
        yield
