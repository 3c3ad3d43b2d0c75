"""What is known of an engine before anything is built; read from its section of `compiler-matrix.yaml`."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from cpubisect.errors import UserError

_SERVING = "PROGRAMS"
"""What a module has if an engine may name it."""


@dataclass(frozen=True)
class VersionFile:
    """Where a tree says which release it belongs to: each of `patterns` is a regular expression searched (multiline)
    in the file at `path`; the groups of all of them, joined by dots, are the version. All must match."""

    path: str
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class Engine:
    """One engine: `repository` is the public URL cloned when the user names none; `tags` are tag forms with
    `{version}`; the first of `version_files` that a tree holds decides; `irrelevant` are gitignore-style globs of
    paths that cannot change the built target; `builder` and `workload` name modules of those rooms."""

    name: str
    repository: str
    tags: tuple[str, ...]
    version_files: tuple[VersionFile, ...]
    irrelevant: tuple[str, ...]
    builder: str
    workload: str


def module_of(engine: Engine, room: str) -> Any:
    """The module of `builders` or `workloads` that serves an engine; raises UserError, with those there are, if it
    names none."""
    wanted = {"builders": engine.builder, "workloads": engine.workload}[room]
    names = [found.name for found in pkgutil.iter_modules(importlib.import_module(f"cpubisect.{room}").__path__)]
    if wanted in names and hasattr(module := importlib.import_module(f"cpubisect.{room}.{wanted}"), _SERVING):
        return module
    there = ", ".join(name for name in names if hasattr(importlib.import_module(f"cpubisect.{room}.{name}"), _SERVING))
    raise UserError(f"the matrix gives {engine.name} the {room[:-1]} {wanted!r}, which does not exist", f"use {there}")
