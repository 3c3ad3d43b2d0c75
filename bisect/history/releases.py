"""Which release a commit belongs to, and where in a history without tags a release was cut."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cpubisect.base.engine import VersionFile
from cpubisect.base.version import Version
from cpubisect.history.repository import Repository


@dataclass(frozen=True)
class Raise:
    """A commit whose tree says `after` where none of its parents does; `point` is the parent that says `before`.

    The version file names the next release, so `point` is where `before` was cut. `merge` says that the commit is a
    merge, `committed` is in Unix seconds.
    """

    commit: str
    point: str
    before: Version
    after: Version
    subject: str
    committed: int
    merge: bool


class VersionReader:
    """Reads versions out of trees; the first of `files` that a tree holds and whose patterns all match decides."""

    def __init__(self, repository: Repository, files: Sequence[VersionFile]) -> None:
        self._repository = repository
        self._files = files
        self._paths = list(dict.fromkeys(file.path for file in files))
        self._patterns = {file: [re.compile(pattern, re.MULTILINE) for pattern in file.patterns] for file in files}
        self._known: dict[tuple[VersionFile, str], Version | None] = {}

    def versions(self, commits: Iterable[str]) -> dict[str, Version | None]:
        """The version of each commit's tree, None where no version file is found; few git calls, for any number."""
        wanted = list(dict.fromkeys(commits))
        if not wanted or not self._files:
            return dict.fromkeys(wanted)
        there = self._repository.files_at(wanted, self._paths)
        held = {
            commit: [(file, blobs[file.path]) for file in self._files if file.path in blobs]
            for commit, blobs in there.items()
        }
        self._read({pair for pairs in held.values() for pair in pairs} - self._known.keys())
        return {
            commit: next((version for pair in pairs if (version := self._known[pair]) is not None), None)
            for commit, pairs in held.items()
        }

    def raises(self, heads: Sequence[str]) -> list[Raise]:
        """Every commit reachable from `heads` that raised the version, merges included, in no special order."""
        if not self._paths:
            return []
        touching = self._repository.text("rev-list", "--full-history", "--stdin", "--", *self._paths, stdin=heads)
        differing = self._repository.text(
            *("diff-tree", "--stdin", "-c", "-r", "--no-renames", "--", *self._paths), stdin=touching.splitlines()
        )
        listing = self._repository.text(
            *("rev-list", "--no-walk=unsorted", "--stdin", "--format=%H%x00%P%x00%ct%x00%s"),
            stdin=_with_changes(differing.splitlines()),
        )
        rows = [line.split("\0", 3) for line in listing.splitlines() if "\0" in line]
        versions = self.versions(sha for commit, parents, _, _ in rows for sha in (commit, *parents.split()))
        found = []
        for commit, parents, committed, subject in rows:
            after = versions[commit]
            earlier = {parent: versions[parent] for parent in parents.split()}
            if after is None or after in earlier.values():
                continue
            lower = [
                (version, parent) for parent, version in earlier.items() if version is not None and version < after
            ]
            if lower:
                before, point = max(lower, key=lambda pair: pair[0])
                found.append(Raise(commit, point, before, after, subject, int(committed), len(earlier) > 1))
        return found

    def _read(self, wanted: Iterable[tuple[VersionFile, str]]) -> None:
        by_blob: dict[str, list[VersionFile]] = {}
        for file, blob in wanted:
            by_blob.setdefault(blob, []).append(file)
        self._repository.provide(by_blob)
        for blob, content in self._repository.blobs(by_blob):
            text = content.decode(errors="replace")
            for file in by_blob[blob]:
                self._known[file, blob] = _version_in(text, self._patterns[file])


def ranked_raises(raises: Iterable[Raise], version: Version) -> list[Raise]:
    """The raises that end `version`, the most trustworthy first.

    An ordinary commit comes before a merge; then one whose subject names the version ("Raise version number after
    cloning 5.6.10"); then the one to the nearest next version, as on a release branch; then the newest.
    """
    named = re.compile(rf"(?<![\d.]){re.escape('.'.join(map(str, version.parts)))}(?!\.?\d)")
    fitting = [raised for raised in raises if raised.before == version]
    fitting.sort(key=lambda raised: (-raised.committed, raised.commit))
    return sorted(fitting, key=lambda raised: (raised.merge, named.search(raised.subject) is None, raised.after))


def nearest(known: Iterable[Version], wanted: Version, count: int = 3) -> list[Version]:
    """The `count` known versions most like `wanted`: the longest common beginning, then the least difference in the
    first part that differs, then the higher one."""

    def distance(version: Version) -> tuple[int, int]:
        pairs = list(zip(version.parts, wanted.parts, strict=False))
        common = next((i for i, (one, other) in enumerate(pairs) if one != other), len(pairs))
        return -common, abs(pairs[common][0] - pairs[common][1]) if common < len(pairs) else 0

    return sorted(sorted(set(known), reverse=True), key=distance)[:count]


def _with_changes(lines: Iterable[str]) -> Iterator[str]:
    """The commits of a raw `diff-tree` listing under whose sha a change (`:…`, for a merge `::…`) follows."""
    commit = ""
    for line in lines:
        if not line.startswith(":"):
            commit = line
        elif commit:
            yield commit
            commit = ""


def _version_in(text: str, patterns: Sequence[re.Pattern[str]]) -> Version | None:
    parts: list[str] = []
    for pattern in patterns:
        match = pattern.search(text)
        if match is None:
            return None
        parts += [group for group in match.groups() if group is not None]
    try:
        return Version.read(".".join(parts))
    except ValueError:
        return None
