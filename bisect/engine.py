"""What is known of an engine before anything is built; read from its section of `compiler-matrix.yaml`."""

from dataclasses import dataclass


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
