"""What a bisection can be started with: tests, repositories, toolchains.

What the matrix knows is loaded when it is asked for: no page that only shows needs it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.history.mirrors import is_url, mirror_path
from cpubisect.web.models import Choices, Repository, TestChoice


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
    from cpubisect.service.askable import askable

    for engine, url in askable().repositories.items():
        found.setdefault(engine, Source(engine, url, engine))
    return found


def is_here(home: Home, source: Source) -> bool:
    """Whether a clone is on this host."""
    return not is_url(source.where) or mirror_path(home, source.where).is_dir()


def choices(home: Home, known: Mapping[str, Source]) -> Choices:
    """All that a form can offer."""
    from cpubisect.service.askable import askable

    return Choices(
        repositories=[Repository(name=name, here=is_here(home, source)) for name, source in known.items()],
        tests=[
            TestChoice(
                engine=test.engine,
                name=test.name,
                group=test.group,
                summary=test.summary,
                parameters=dict(test.parameters),
            )
            for test in askable().tests
        ],
        toolchains=list(askable().toolchains),
    )


def groups_by_test(engine: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    """The tests of an engine in the order of the catalogue: each with its group and its default settings."""
    from cpubisect.service.askable import askable

    return {test.name: (test.group, test.parameters) for test in askable().tests if test.engine == engine}
