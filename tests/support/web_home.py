"""A home directory with a finished bisection whose every name is hostile, and the application over it."""

import re
from dataclasses import dataclass
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient
from small_bisections import QUICK

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


@dataclass(frozen=True)
class Compared:
    """A comparison that was measured: its home, its clone, and its versions, of which the last cannot be built."""

    home: Path
    clone: Path
    shas: list[str]


def context(home: Path, *, host: str = "127.0.0.1", token: str = "", repositories: tuple[str, ...] = ()) -> Context:
    """What a server over a home directory works with."""
    paths = Home(home)
    registry = Registry(paths, Store(paths.store))
    return Context(registry, Access(host, token), sources(repositories), Clones(paths))


def application(home: Path, *, host: str = "127.0.0.1", token: str = "", repositories: tuple[str, ...] = ()) -> Flask:
    """The application over a home directory, as `bisect serve` makes it."""
    return create_app(context(home, host=host, token=token, repositories=repositories))


def comparison_form(client: FlaskClient, **fields: str) -> dict[str, str]:
    """What the form of the page that asks for a comparison would send."""
    token = re.search(r'name="csrf" value="([^"]+)"', client.get("/comparisons/new").text)
    assert token is not None
    settings = "\n".join(QUICK[1::2])
    plain = {"repository": "kv", "versions": "", "tests": "readrandom", "rounds": "2", "settings": settings}
    return {"csrf": token[1], **plain, **fields}
