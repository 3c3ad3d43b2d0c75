"""Builds that measurements are made with, kept in a directory: found in homes of bisections, or made there."""

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.version import Version
from cpubisect.builders.build import BuildSettings, Recipe, Toolchain
from cpubisect.builders.carry import carry_out
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.history.history import History

COLD = 0.25
"""Share of cache hits up to which a build's CPU time counts as that of a full build."""


class Place:
    """Where all is kept: artifacts in `KIND/SHA`, numbers in `known.json`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        self._file = self.root / "known.json"
        self.known: dict[str, float | None] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def artifact(self, sha: str, kind: str) -> Path:
        """Where a build's artifact belongs."""
        return self.root / (kind or "ordinary") / sha

    def keep(self, name: str, value: float | None) -> None:
        """Remember a number."""
        self.known[name] = value
        self._file.write_text(json.dumps(self.known, indent=1))


@dataclass(frozen=True)
class KeptBuilds:
    """Builds of some commits of one clone, all with one compiler.

    `homes` are looked into for artifacts (read only, copied out); what they lack is made if its kind is in `made`.
    """

    place: Place
    history: History
    commits: Sequence[str]
    homes: Sequence[Path]
    made: Collection[str]
    ccache: Path
    jobs: int

    @cached_property
    def engine(self) -> Engine:
        """What the clone is of; raises UserError for none that is known."""
        return self.history.detect_engine(self._matrix.engines())

    @cached_property
    def _matrix(self) -> Matrix:
        return Matrix.load()

    @cached_property
    def _toolchains(self) -> Sequence[Toolchain]:
        return installed_toolchains()

    @cached_property
    def _toolchain(self) -> str | None:
        versions = [self.version(sha) for sha in self.commits]
        return self._matrix.shared_toolchain(self.engine, versions, self._toolchains)

    def version(self, sha: str) -> Version:
        """The release a commit's tree says it belongs to; raises UserError if it doesn't say."""
        version = self.history.version_at(sha)
        if version is None:
            raise UserError(f"commit {sha[:12]} has no version file of {self.engine.name}", "leave it out")
        return version

    def has(self, sha: str, kind: str = "") -> bool:
        """Whether the artifact is there, found or made now if need be."""
        if not self.place.artifact(sha, kind).is_dir():
            recipe = self._recipe(sha, kind)
            if not self._find(recipe) and (kind or "ordinary") in self.made:
                self._make(recipe)
        return self.place.artifact(sha, kind).is_dir()

    def _recipe(self, sha: str, kind: str) -> Recipe:
        version = self.version(sha)
        return self._matrix.recipe(self.engine, sha, version, self._toolchains, prefer=self._toolchain, variant=kind)

    def _find(self, recipe: Recipe) -> bool:
        """Copy the artifact from a home that has built this recipe; the fullest of its builds gives the time."""
        key = recipe.key()
        found = [(*build, home) for home in self.homes for build in _builds(home / "store.sqlite", key)]
        for _, artifact, cpu_seconds, hits, misses, home in sorted(found, key=lambda build: build[3] - build[4]):
            source = home / "artifacts" / artifact[:2] / artifact
            if source.is_dir():
                self._take(recipe, source, _cold(cpu_seconds, hits, misses))
                return True
        return False

    def _make(self, recipe: Recipe) -> None:
        builder, kind = builder_of(self.engine, recipe.variant), recipe.variant or "ordinary"
        settings = BuildSettings(self.ccache / kind, self._matrix.patches_dir, jobs=self.jobs)
        log = self.place.root / "logs" / f"{recipe.commit[:12]}-{kind}.log"
        with tempfile.TemporaryDirectory(dir=self.place.root) as work:
            result = carry_out(recipe, builder, self.history.path, Path(work), settings, log=log)
            say(f"{recipe.commit[:12]} {kind}: {result.outcome} {result.first_error}")
            if result.output:
                cpu_seconds = _cold(result.cpu_seconds, result.cache_hits, result.cache_misses)
                self._take(recipe, result.output, cpu_seconds)

    def _take(self, recipe: Recipe, output: Path, cpu_seconds: float | None) -> None:
        target = self.place.artifact(recipe.commit, recipe.variant)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as staged:
            shutil.copytree(output, Path(staged, "copy"), symlinks=True)
            Path(staged, "copy").rename(target)
        self.place.keep(cpu_name(recipe.commit, recipe.variant), cpu_seconds)


def cpu_name(sha: str, kind: str) -> str:
    """What a place knows the CPU seconds of a build by."""
    return f"{sha} {kind} cpu seconds"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every measurement with kept builds is told."""
    parser.add_argument("--repo", required=True, type=Path)
    parser.add_argument("--place", required=True, type=Path)
    parser.add_argument("--home", action="append", default=[], type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)


def kept_builds(arguments: argparse.Namespace, *, commits: Sequence[str], made: Collection[str]) -> KeptBuilds:
    """From the arguments of `add_arguments`; the compiler cache, with a part for each kind of build, is a place's own
    unless $CCACHE_DIR names one."""
    place = Place(arguments.place)
    history = History(arguments.repo)
    shas = [history.resolve(name).sha for name in commits]
    ccache = Path(os.environ.get("CCACHE_DIR") or place.root / "ccache")
    return KeptBuilds(place, history, shas, arguments.home, made, ccache, arguments.jobs)


def say(text: str) -> None:
    """A line of progress."""
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


def _cold(cpu_seconds: float, hits: int, misses: int) -> float | None:
    return cpu_seconds if hits <= COLD * (hits + misses) else None


def _builds(store: Path, key: str) -> list[tuple[str, str, float, int, int]]:
    """Built artifacts of a recipe in a store: key, digest, CPU seconds, cache hits and misses. Only reads."""
    with contextlib.closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        question = (
            "select recipe_key, artifact, cpu_seconds, cache_hits, cache_misses from builds"
            " where recipe_key = ? and outcome = 'built' and artifact is not null"
        )
        return list(connection.execute(question, (key,)))
