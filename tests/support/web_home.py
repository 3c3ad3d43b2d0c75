"""A home directory with a finished bisection whose every name is hostile, and the application over it."""

from dataclasses import dataclass
from pathlib import Path

from flask import Flask

from cpubisect.base.home import Home
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.web.app import create_app
from cpubisect.web.context import Context
from cpubisect.web.security import Access
from cpubisect.web.service.catalog import sources
from cpubisect.web.service.clones import Clones

HOSTILE = "<script>alert('subject')</script> & \"quotes\" {{ 7 * 7 }}"
TOKEN = "a-token-for-the-tests-of-the-web"


@dataclass(frozen=True)
class Known:
    """The finished bisection: its home, its clone, and the culprit that was planted."""

    home: Path
    clone: Path
    shas: dict[int, str]
    culprit: str


def context(home: Path, *, host: str = "127.0.0.1", token: str = "", repositories: tuple[str, ...] = ()) -> Context:
    """What a server over a home directory works with."""
    paths = Home(home)
    registry = Registry(paths, Store(paths.store))
    return Context(registry, Access(host, token), sources(repositories), Clones(paths))


def application(home: Path, *, host: str = "127.0.0.1", token: str = "", repositories: tuple[str, ...] = ()) -> Flask:
    """The application over a home directory, as `bisect serve` makes it."""
    return create_app(context(home, host=host, token=token, repositories=repositories))
