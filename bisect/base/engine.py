"""What is known of an engine before anything is built, and how the objects that serve it are found.

Both are named in its section of `compiler-matrix.yaml`.
"""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from cpubisect.base.errors import UserError


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
    paths that cannot change the built target; `unread` are directories (`/mysql-test/suite/`) that no build reads;
    `bundled` are directories (`/extra/*/`) that hold a library each which comes with the tree; `builder` and `workload`
    name modules of those rooms, `screening` the one that makes cheaper builds for a first look, empty if none does."""

    name: str
    repository: str
    tags: tuple[str, ...]
    version_files: tuple[VersionFile, ...]
    irrelevant: tuple[str, ...]
    builder: str
    workload: str
    unread: tuple[str, ...] = ()
    bundled: tuple[str, ...] = ()
    screening: str = ""


def offered(package: str, kind: str, wanted: str, engine: str) -> Any:
    """What the module `wanted` of a package offers as the `kind` that the matrix gives an engine: the object that has
    the kind's name in capitals, such as `BUILDER` in `cpubisect.builders.mysql`.

    Raises UserError, with the modules there are that offer one, if this does not.
    """
    name = kind.upper().replace(" ", "_")
    modules = [found.name for found in pkgutil.iter_modules(importlib.import_module(package).__path__)]
    if wanted in modules and hasattr(module := importlib.import_module(f"{package}.{wanted}"), name):
        return getattr(module, name)
    there = [module for module in modules if hasattr(importlib.import_module(f"{package}.{module}"), name)]
    raise UserError(f"the matrix gives {engine} the {kind} {wanted!r}, which does not exist", f"use {', '.join(there)}")
