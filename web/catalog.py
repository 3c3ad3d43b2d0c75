"""What a bisection can be started with: tests, repositories, toolchains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cpubisect.builders.matrix import Matrix
from cpubisect.errors import UserError
from cpubisect.paths import Home
from cpubisect.repositories import clone_path, is_url
from cpubisect.web.models import Choices, Repository, TestChoice
from cpubisect.workloads.catalog import tests_of


@dataclass(frozen=True)
class Source:
    """A repository that bisections may be started in: `where` is a path or a URL; `engine` is "" if its tree tells."""

    name: str
    where: str
    engine: str = ""


def sources(configured: Sequence[str]) -> dict[str, Source]:
    """By name: what was configured as `NAME=WHERE` or `WHERE`, and every engine's public repository.

    Raises UserError for a path that is not there or a name that is given twice.
    """
    found: dict[str, Source] = {}
    for text in configured:
        name, equals, where = text.partition("=")
        if not equals or "/" in name:
            name, where = Path(text.rstrip("/")).name.removesuffix(".git"), text
        if not is_url(where):
            path = Path(where).expanduser()
            if not path.is_dir():
                raise UserError(f"--repo {text}: there is no directory {path}", "name a clone or a URL")
            where = str(path.resolve())
        if not name or name in found:
            raise UserError(f"--repo {text}: the name {name!r} is taken", "write --repo NAME=PATH with another name")
        found[name] = Source(name, where)
    for engine in Matrix.load().engines():
        if engine.repository:
            found.setdefault(engine.name, Source(engine.name, engine.repository, engine.name))
    return found


def is_here(home: Home, source: Source) -> bool:
    """Whether a clone is on this host."""
    return not is_url(source.where) or clone_path(home, source.where).is_dir()


def choices(home: Home, known: Mapping[str, Source]) -> Choices:
    """All that a form can offer."""
    return Choices(
        repositories=[Repository(name=name, here=is_here(home, source)) for name, source in known.items()],
        tests=list(_tests()),
        toolchains=list(_toolchains()),
    )


@lru_cache(maxsize=1)
def _toolchains() -> tuple[str, ...]:
    return Matrix.load().toolchain_names()


@lru_cache(maxsize=1)
def _tests() -> tuple[TestChoice, ...]:
    return tuple(
        TestChoice(
            engine=engine.name,
            name=test.name,
            group=test.group,
            summary=test.summary,
            parameters=dict(test.parameters),
        )
        for engine in Matrix.load().engines()
        for test in tests_of(engine)
    )


def groups_by_test(engine: str) -> dict[str, tuple[str, dict[str, str]]]:
    """The tests of an engine in the order of the catalogue: each with its group and its default settings."""
    return {test.name: (test.group, test.parameters) for test in _tests() if test.engine == engine}
