"""Where a build happens: one private tree, one recipe, one log; and what an engine's builder must offer."""

import contextlib
import errno
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import psutil

from cpubisect.base.objects import ObjectFile
from cpubisect.base.process import Finished, Guarded, printed, run
from cpubisect.base.sandbox import inside
from cpubisect.base.sandbox.policy import Sandbox
from cpubisect.base.tools import Header, Tool
from cpubisect.builders.build import BuildSettings, Recipe
from cpubisect.builders.trees.progress import CompileCounter, Silence

MOST_LOG_BYTES = 1 << 30
"""A build that prints more is ended: one of MySQL that shows all its commands prints some 10 MB."""

_KEEP_EVERY_S = 30.0
"""So much of what a build compiled is compiled again if it is killed, at most."""


class CommandFailed(Exception):
    """A command of the build ended badly; `finished` says how, with its output (`timed_out`: it hung or ran out of
    time and was killed)."""

    def __init__(self, finished: Finished) -> None:
        super().__init__(f"{finished.argv[0]} ended with {finished.returncode}")
        self.finished = finished


@dataclass
class Shop:
    """A tree being built.

    `environment` is the whole environment of its commands: CC and CXX are the recipe's compilers behind ccache, AR and
    RANLIB belong to them, TMPDIR and HOME are private and empty. `files` lists what the tree itself has. `log` gets
    every command with its output. `cpu_seconds` adds up what they used. `deadline` is a `time.monotonic()` value (0:
    none). `progress` is told, e.g., "compiling 120/346"; a builder that knows how many compilations there will be sets
    `compiles.expected`, and one that keeps the results of a configure script's checks how long they took where there
    were none, in seconds, `checking`.
    In a `sandbox` commands see the tree and what belongs to it only; `keep` keeps what was compiled so far; `origin`
    is what the results of one clone's builds are known by.
    """

    tree: Path
    recipe: Recipe
    settings: BuildSettings
    log: Path
    environment: Mapping[str, str]
    files: Callable[[], Sequence[str]]
    cpu_seconds: float = 0.0
    deadline: float = 0.0
    progress: Callable[[str], None] | None = None
    compiles: CompileCounter = field(default_factory=CompileCounter)
    checking: float | None = None
    repair_cflags: list[str] = field(default_factory=list)
    repair_cxxflags: list[str] = field(default_factory=list)
    sandbox: Sandbox | None = None
    keep: Callable[[], object] = int
    origin: str = ""

    @property
    def cflags(self) -> tuple[str, ...]:
        """C flags of the recipe and of repairs made so far."""
        return (*self.recipe.cflags, *self.repair_cflags)

    @property
    def cxxflags(self) -> tuple[str, ...]:
        """C++ flags: the standard, those of the recipe, its forced includes, and those of repairs made so far."""
        standard = (f"-std={self.recipe.std}",) if self.recipe.std else ()
        forced = tuple(word for header in self.recipe.forced_includes for word in ("-include", header))
        return (*standard, *self.recipe.cxxflags, *forced, *self.repair_cxxflags)

    @property
    def shares_headers(self) -> bool:
        """Whether headers that many sources share are compiled once: gcc alone can."""
        return self.recipe.precompiled and self.recipe.toolchain.name.startswith("gcc")

    @property
    def options(self) -> tuple[str, ...]:
        """Arguments of the build system: those of the recipe, and where its libraries are. A place in the tree is told
        as it is seen from there, which is the same in all trees."""
        places = [
            (one.option, one.carried or one.host or str(one.unpacked(self.settings.libraries)))
            for one in self.recipe.libraries
        ]
        return (*self.recipe.options, *(option.replace("{path}", place) for option, place in places))

    def note(self, text: str) -> None:
        """Write a line of our own into the log."""
        with self.log.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"bisect: {text}\n")

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        extra_environment: Mapping[str, str] | None = None,
        silent: bool = False,
    ) -> Finished:
        """Run one command in the tree (or `cwd`), its output appended to the log; raises CommandFailed.

        With `silent`, what it writes is not taken for progress.
        It is killed with all its descendants, and `timed_out` set, when the deadline of the build passes, when it
        printed more than MOST_LOG_BYTES, or when for `settings.silence_s` it neither wrote anything nor used the CPU.
        """
        self.note(shlex.join(argv))
        offset = self.log.stat().st_size
        started = time.monotonic()
        environment = {**self.environment, **(extra_environment or {})}
        with (
            self.log.open("ab") as sink,
            Guarded(argv, cwd=cwd or self.tree, env=environment, output=sink, sandbox=self.sandbox) as child,
        ):
            spent = self._watch(child, offset, silent)
            if spent is not None:
                child.kill()
        with self.log.open("rb") as log:
            output = printed(log, offset)
        finished = child.finished(timed_out=spent is not None, output=output)
        if spent is not None:
            finished = replace(finished, cpu_seconds=spent, wall_seconds=time.monotonic() - started)
        self.cpu_seconds += finished.cpu_seconds
        if not finished.ok:
            raise CommandFailed(finished)
        return finished

    def ask(self, argv: Sequence[str]) -> Finished:
        """What a command says of what was built; it is not part of the build. It may fail."""
        return run(argv, cwd=self.tree, env=self.environment, sandbox=self.sandbox)

    def read(self, path: Path) -> str:
        """A file of the tree; raises CommandFailed if there is something else in its place."""
        with _in_the_tree("read", path):
            return inside.read_text(path, self.tree)

    def write(self, path: Path, text: str) -> None:
        """Write a file of the tree; raises CommandFailed if there is something else in its place."""
        with _in_the_tree("write", path):
            inside.write_text(path, self.tree, text)

    def take(self, path: Path, target: Path) -> None:
        """Copy a file of the tree to a place of ours; raises CommandFailed if there is something else in its place."""
        with _in_the_tree("take", path):
            inside.copy(path, self.tree, target)

    def has(self, path: Path) -> bool:
        """Whether there is a plain file in the tree."""
        return inside.is_file(path, self.tree)

    def _watch(self, child: Guarded, offset: int, silent: bool) -> float | None:
        """Wait for the end; the CPU seconds spent so far if it has to be killed instead."""
        silence = Silence(self.settings.silence_s, time.monotonic(), offset)
        interval = min(1.0, self.settings.silence_s / 5)
        kept = time.monotonic()
        while not child.wait(interval):
            now = time.monotonic()
            if now - kept > _KEEP_EVERY_S:
                self.keep()
                kept = time.monotonic()
            size = self.log.stat().st_size
            if size != offset:
                if not silent:
                    self._report(offset)
                offset = size
            if size > MOST_LOG_BYTES:
                self.note(f"killed: the build printed more than {MOST_LOG_BYTES >> 20} MiB")
                return _cpu_seconds_of_tree(child.pid)
            if self.deadline and now > self.deadline:
                self.note(f"killed: the build took longer than {self.settings.timeout_s:g} s")
                return _cpu_seconds_of_tree(child.pid)
            if silence.suspicious(now, size) and silence.lasts(now, _cpu_seconds_of_tree(child.pid)):
                self.note(f"killed: no output and no CPU use for {self.settings.silence_s:g} s")
                return _cpu_seconds_of_tree(child.pid)
        return None

    def _report(self, offset: int) -> None:
        with self.log.open("rb") as log:
            text = self.compiles.feed(printed(log, offset))
        if text and self.progress:
            self.progress(text)


@contextlib.contextmanager
def _in_the_tree(what: str, path: Path) -> Iterator[None]:
    """Something else in the place of a file is the build's failure; a full disk is not."""
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        message = f"{what}: error: {path.name}: {problem.strerror}"
        raise CommandFailed(Finished((what,), 1, 0.0, 0.0, 0, False, message)) from problem


def _cpu_seconds_of_tree(pid: int) -> float:
    """User and system seconds of all processes below the guard of `pid`, those already waited for included."""
    total = 0.0
    try:
        guard = psutil.Process(pid).parent()
        family = guard.children(recursive=True) if guard else []
    except psutil.NoSuchProcess:
        return 0.0
    for process in family:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


class Builder(Protocol):
    """What one engine's file offers, as a module-level object named `BUILDER`."""

    @property
    def systems(self) -> Mapping[str, Sequence[Tool]]:
        """The build systems that it knows, by the names that rules of the matrix give them, each with the programs that
        its builds run beside the compiler."""

    @property
    def headers(self) -> Sequence[Header]:
        """The headers of the host that its builds include, beside the compiler's own."""

    def configure(self, shop: Shop) -> None:
        """Make the tree ready to compile; run again after a repair only if it failed itself or the tree was cleaned."""

    def compile(self, shop: Shop) -> None:
        """Compile and link just what a probe needs; run again after each repair, so it must be incremental."""

    def linked(self, shop: Shop) -> Path:
        """The program that a probe runs, where `compile` links it; without it, `compile` only links it again. Raises
        CommandFailed if there is none."""

    def collect(self, shop: Shop, output: Path) -> None:
        """Copy what a probe needs into `output`, an empty directory."""

    def compiled(self, shop: Shop) -> tuple[str, ...]:
        """Source files and headers of the tree that the target was compiled from, relative to it, sorted."""

    def objects(self, shop: Shop) -> Mapping[str, ObjectFile]:
        """By their paths in the tree, the object files that were compiled for the target, with all that lies in the
        tree and that each was made from; `seconds` is how long each took, if that is known. Empty if the build system
        does not tell."""
