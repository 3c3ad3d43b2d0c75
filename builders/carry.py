"""Carries a recipe out: from a clone and a commit to a directory with what a probe needs, or the reason why not."""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from cpubisect.base.disk.space import is_scarce
from cpubisect.base.objects import ObjectFile
from cpubisect.base.process import Finished
from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.policy import Kind, Sandbox
from cpubisect.base.sandbox.surroundings import confined, visible_path
from cpubisect.builders.build import BuildResult, BuildSettings, Outcome, Recipe, Repair
from cpubisect.builders.recipes.toolchain import (
    cache_counts,
    cache_environment,
    compiler_environment,
    find_ccache,
    missed_sources,
)
from cpubisect.builders.repairs.budget import Budget, told, whole_build_s
from cpubisect.builders.repairs.diagnostics import classify, telling_line, without_lines
from cpubisect.builders.repairs.repair import Change, Repairer
from cpubisect.builders.trees import shared
from cpubisect.builders.trees.cache import ApartCache
from cpubisect.builders.trees.code import code_digest, spans_of
from cpubisect.builders.trees.compilations import timed
from cpubisect.builders.trees.linker import LINKERS, PROGRAM
from cpubisect.builders.trees.relay import Redis, relay
from cpubisect.builders.trees.shop import Builder, CommandFailed, Shop
from cpubisect.builders.trees.source import SourceTree, checked_out

_MOST_ROUNDS = 60
_LOCALE = "C.UTF-8"
_PRIVATE = ("HOME", "TMPDIR")


def carry_out(
    recipe: Recipe,
    builder: Builder,
    repository: Path,
    work: Path,
    settings: BuildSettings,
    progress: Callable[[str], None] | None = None,
    *,
    log: Path | None = None,
) -> BuildResult:
    """Check out, patch, configure, compile with repairs, collect.

    `repository` is only read. Trees are made below `work` and removed again; the result's `output` is a new directory
    in `work` that from then on belongs to the caller. The log (default: one in `work`) is overwritten. `progress` is
    told in a few words what is going on, e.g. "compiling 120/346".

    A build that fails, hangs or runs out of memory or disk is a result, not an exception; UserError is raised if the
    commit, a patch or ccache is not there.
    """
    log = log or work / f"build-{recipe.commit[:12]}-{recipe.key()[:8]}.log"
    job = Job(recipe, builder, settings, work, log, progress or (lambda text: None))
    job.carry_out(repository)
    return job.result()


@dataclass
class Job:
    """One recipe being carried out, with what is known of it so far; fields are as in `carry_out` and its result.

    `unrepaired` is the first command that failed in a way that repairs may help, `settled` the output of the last such
    one whose repairs all helped.
    """

    recipe: Recipe
    builder: Builder
    settings: BuildSettings
    work: Path
    log: Path
    progress: Callable[[str], None]
    started: float = field(default_factory=time.monotonic)
    outcome: Outcome = Outcome.FAILED
    output: Path | None = None
    first_error: str = ""
    prepared: list[Repair] = field(default_factory=list)
    repairs: tuple[Repair, ...] = ()
    diff: str = ""
    hits: int = 0
    misses: int = 0
    compiled: tuple[str, ...] = ()
    objects: Mapping[str, ObjectFile] = field(default_factory=dict)
    code: str = ""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    compiling: float = 0.0
    shop: Shop | None = None
    unrepaired: Finished | None = None
    settled: str = ""
    repairer: Repairer | None = None
    origin: str = ""

    def carry_out(self, repository: Path) -> None:
        """All of it, from the checkout on; raises UserError if the commit, a patch or ccache is not there."""
        find_ccache()
        for directory in (self.work, self.log.parent):
            directory.mkdir(parents=True, exist_ok=True)
        try:
            self.log.write_bytes(b"")
            self.progress("checking out")
            where = self.work / "trees"
            with checked_out(repository, self.recipe.commit, where, self.settings.unread) as tree:
                self.origin = self.settings.origin or tree.origin
                with self._cache(tree) as cache:
                    self._build(tree, cache)
        except CommandFailed as failure:
            self.fail(failure.finished)
        except inside.Outside as refused:
            self.outcome, self.output, self.first_error = Outcome.FAILED, None, str(refused)
        except RecursionError:
            self.outcome, self.output = Outcome.FAILED, None
            self.first_error = "the build left directories in one another without end"
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self.outcome, self.first_error = Outcome.OUT_OF_DISK, str(error)
            elif error.filename and Path(os.fsdecode(error.filename)).is_relative_to((self.work / "trees").resolve()):
                # A file that a build made so that nobody can read it, say.
                self.outcome, self.output, self.first_error = Outcome.FAILED, None, str(error)
            else:
                raise

    @contextlib.contextmanager
    def _cache(self, tree: SourceTree) -> Iterator[ApartCache | None]:
        """The compiler cache of a build in a sandbox, with what hosts share, while it lasts; None without a sandbox."""
        settings, own = self.settings, tree.place / "cache"
        own.mkdir()
        if settings.sandbox is not Kind.BUBBLEWRAP:
            yield None
            return
        url = settings.shared_cache
        shared.check_confined(url)
        directory = shared.folder(url) if shared.kind_of(url) == shared.FILE else None
        cache = ApartCache.of(settings.ccache_dir.resolve(), self.origin, own, directory)
        if shared.kind_of(url) == shared.REDIS:
            with relay(Redis.at(url), cache.identity) as place:
                yield replace(cache, relayed=place)
        else:
            yield cache

    def _build(self, tree: SourceTree, cache: ApartCache | None) -> None:
        """Everything between the checkout and the end of the tree; sets the outcome, raises OSError."""
        stats_log = tree.place / "cache" / "stats.log"
        environment = _environment(self.recipe, self.settings, tree, stats_log)
        sandbox = None
        if cache:
            sandbox = _sandbox(self.recipe, self.settings, tree, cache, self.builder)
            path = visible_path(environment["PATH"], sandbox)
            environment = {**environment, **cache.environment(), "PATH": path}
            del environment["GIT_CEILING_DIRECTORIES"]
        shop = self.shop = Shop(
            tree=tree.path,
            recipe=self.recipe,
            settings=self.settings,
            log=self.log,
            environment=environment,
            deadline=self.started + self.settings.timeout_s,
            progress=self.progress,
            sandbox=sandbox,
            files=tree.files,
            keep=cache.keep if cache else int,
            origin=cache.identity if cache else "",
        )
        self._prepare(tree, shop)
        settings = self.settings
        repairer = self.repairer = Repairer(
            tree, self.recipe.repairs, settings.patches_dir, settings.bundled, _adder_of_flags(shop)
        )
        try:
            self._compile(tree, shop, repairer)
            self.finish(tree, shop)
            self.outcome = Outcome.BUILT
        except CommandFailed as failure:
            self.fail(failure.finished, tree.path)
        finally:
            self.repairs = (*self.prepared, *repairer.repairs)
            self.diff = tree.diff()
            if cache:
                cache.keep()
                cache.trim()
            if inside.is_file(stats_log, stats_log.parent):
                lines = inside.read_text(stats_log, stats_log.parent).splitlines()
                self.hits, self.misses = cache_counts(lines)
                self.objects = timed(self.objects, tree.path, missed_sources(lines), self.compiling, shop.settings.jobs)

    def _prepare(self, tree: SourceTree, shop: Shop) -> None:
        """The recipe's patches and edits, each where it fits."""
        for name in self.recipe.patches:
            patch = self.settings.patches_dir / name
            if tree.apply_patch(patch):
                self.prepared.append(Repair("patch", name, name, _reason(patch)))
            else:
                shop.note(f"the patch {name} does not fit here: not needed")
        for edit in self.recipe.edits:
            if tree.apply_edit(edit):
                self.prepared.append(Repair("edit", edit.file, f"{edit.find} -> {edit.replace}", edit.why))
            else:
                shop.note(f"the edit of {edit.file} finds nothing here: not needed")

    def _compile(self, tree: SourceTree, shop: Shop, repairer: Repairer) -> None:
        """Configure and compile; after a failure repair and go on, while there is something new to try and time."""
        configured = False
        budget: Budget | None = None
        for number in range(_MOST_ROUNDS):
            began = time.monotonic()
            try:
                if not configured:
                    self.progress("configuring")
                    self.builder.configure(shop)
                    configured = True
                    self.compiling = time.time()
                self.builder.compile(shop)
                return
            except CommandFailed as failure:
                finished = failure.finished
                ending = classify(finished.output, returncode=finished.returncode, timed_out=finished.timed_out)
                if ending is not Outcome.FAILED or number == _MOST_ROUNDS - 1:
                    raise
                took = time.monotonic() - began
                mended = repairer.judge(finished.output)
                if mended:
                    self.settled = finished.output
                if budget:
                    budget = budget.after(took, mended=mended)
                else:
                    self.unrepaired = finished
                    counted = shop.compiles
                    build_s = whole_build_s(took, counted.done, counted.expected)
                    budget = Budget(self.settings.repair_builds, build_s)
                if why := budget.ended():
                    shop.note(f"no more repairs: {why}")
                    raise
                change = repairer.round(finished.output)
                if repairer.hopeless:
                    shop.note(f"no include can repair this: {repairer.hopeless}")
                if change is Change.NOTHING:
                    raise
                self.progress(f"repaired, trying again ({len(repairer.repairs)} changes)")
                for repair in repairer.repairs:
                    shop.note(f"repair: {repair.kind} {repair.path} {repair.change} ({repair.why})")
                if change is Change.FLAGS:
                    tree.clean()
                    configured = False

    def finish(self, tree: SourceTree, shop: Shop) -> None:
        """Take what is wanted of a tree that compiled; raises CommandFailed."""
        self.progress("collecting")
        self.output = collect(self.builder, shop, self.work)
        self.compiled = self.builder.compiled(shop)
        self.objects = self.builder.objects(shop)
        spans = spans_of(tree.commit_dates(), self.began, datetime.now(UTC))
        try:
            self.code = code_digest(self.output, self.recipe, spans)
        except Exception as error:
            # Whatever a damaged file makes of the reader: nothing else is at work there.
            shutil.rmtree(self.output)
            self.output = None
            message = f"read: error: what was built is no program ({type(error).__name__}: {error})"
            raise CommandFailed(Finished(("read",), 1, 0.0, 0.0, 0, False, message)) from error

    def fail(self, finished: Finished, tree: Path | None = None) -> None:
        """Take down why a command ended the build."""
        self.outcome = classify(finished.output, returncode=finished.returncode, timed_out=finished.timed_out)
        if self.outcome is Outcome.FAILED and tree and is_scarce(tree):
            self.outcome = Outcome.OUT_OF_DISK
        line = self._failure(finished)
        self.first_error = line.replace(f"{tree}/", "") if tree else line
        if self.outcome is Outcome.HUNG:
            last = f" after: {self.first_error}" if self.first_error else ""
            self.first_error = f"{finished.argv[0]} hung{last}"

    def _failure(self, finished: Finished) -> str:
        """What ended the build, in the compiler's words: where repairs failed, those from before the first of them."""
        line = telling_line(finished.output, self.outcome)
        if self.outcome is not Outcome.FAILED or not self.unrepaired or not self.repairer:
            return line
        first = telling_line(self.unrepaired.output, Outcome.FAILED)
        mended = without_lines(first) not in without_lines(self.settled)
        then = telling_line(self.settled, Outcome.FAILED) if mended else ""
        return told(first, (*self.repairer.repairs, *self.repairer.vain), then)

    def result(self) -> BuildResult:
        """What carrying out the recipe came to."""
        return BuildResult(
            recipe=self.recipe,
            outcome=self.outcome,
            output=self.output,
            log=self.log,
            cpu_seconds=self.shop.cpu_seconds if self.shop else 0.0,
            wall_seconds=time.monotonic() - self.started,
            first_error=self.first_error,
            repairs=self.repairs,
            diff=self.diff,
            cache_hits=self.hits,
            cache_misses=self.misses,
            compiled=self.compiled,
            objects=self.objects,
            code=self.code,
            sandbox=self.settings.sandbox,
            origin=self.origin,
        )


def _sandbox(recipe: Recipe, settings: BuildSettings, tree: SourceTree, cache: ApartCache, builder: Builder) -> Sandbox:
    """What a build sees beside the system: its tree and what belongs to that, its repository's compiler cache, and the
    compilers, libraries and programs of its recipe."""
    linkers = tree.place / LINKERS
    linkers.mkdir()
    toolchain = recipe.toolchain
    own = (toolchain.cc, toolchain.cxx, toolchain.ar, toolchain.ranlib, "ccache", PROGRAM)
    programs = (*own, *(tool.program for tool in builder.systems.get(recipe.system, ())))
    libraries = [
        Path(one.host) if one.host else one.unpacked(settings.libraries).absolute()
        for one in recipe.libraries
        if not one.carried
    ]
    return confined(
        writable=(tree.path, *(tree.place / name.lower() for name in _PRIVATE), cache.own),
        readable=(*libraries, linkers),
        named=cache.named,
        programs=programs,
    )


def _environment(recipe: Recipe, settings: BuildSettings, tree: SourceTree, stats_log: Path) -> dict[str, str]:
    """The whole environment of a build: nothing of the user's but PATH, so that no flags of theirs leak in.

    The locale is fixed because ccache hashes it.
    """
    settings.ccache_dir.mkdir(parents=True, exist_ok=True)
    private = {name: tree.place / name.lower() for name in _PRIVATE}
    for directory in private.values():
        directory.mkdir(exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": _LOCALE,
        "GIT_CEILING_DIRECTORIES": str(tree.place),
        **{name: str(directory) for name, directory in private.items()},
        **compiler_environment(recipe.toolchain, "ccache"),
        **cache_environment(settings.ccache_dir.resolve(), tree.path, stats_log, tree.commit_time()),
        **({"CCACHE_REMOTE_STORAGE": settings.shared_cache} if settings.shared_cache else {}),
        **recipe.environment,
    }


def _adder_of_flags(shop: Shop) -> Callable[..., None]:
    def add(cflags: tuple[str, ...], cxxflags: tuple[str, ...]) -> None:
        shop.repair_cflags += cflags
        shop.repair_cxxflags += cxxflags

    return add


def collect(builder: Builder, shop: Shop, work: Path) -> Path:
    """A new directory in `work` with what a probe needs; raises CommandFailed."""
    output = Path(tempfile.mkdtemp(prefix="output-", dir=work))
    output.chmod(0o755)
    try:
        builder.collect(shop, output)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
    return output


def _reason(patch: Path) -> str:
    """The first line of a patch's header."""
    for line in patch.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(("diff ", "--- ")):
            break
        if line.strip():
            return line.strip()
    return ""
