"""The history of one clone: names to commits, the candidates between two, and what a commit touches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cpubisect.engine import Engine
from cpubisect.errors import UserError
from cpubisect.graph import Graph, Span, parse_parents
from cpubisect.names import Commit, Names
from cpubisect.releases import VersionReader
from cpubisect.relevance import CommitClass, Irrelevant, group
from cpubisect.repository import Repository
from cpubisect.version import Version

_DIFFS_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class Candidate:
    """One commit to search; `parent` is the one of its `parents` that comes before it on the path, and so the commit
    its step is measured against."""

    sha: str
    parent: str
    parents: tuple[str, ...]
    subject: str
    authored: datetime

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents, and so may have to be searched inside."""
        return len(self.parents) > 1


@dataclass(frozen=True)
class Candidates:
    """What lies between `good` and `bad`, oldest first: `commits` begins after `start` and ends with `bad`.

    `start` is measured too: it is `good`, or the point where the lines of good and bad parted (`fork`). `entry` is the
    first of the commits that contains `good`, None if `bad` does not contain it.
    """

    good: str
    bad: str
    start: str
    commits: tuple[Candidate, ...]
    entry: str | None

    @property
    def fork(self) -> str | None:
        """The point where the path of `bad` left `good`'s history, None if the path begins at `good` itself."""
        return None if self.start == self.good else self.start

    def __len__(self) -> int:
        return len(self.commits)


@dataclass(frozen=True)
class FileChange:
    """Lines added and deleted in one file; both None for a binary file."""

    path: str
    added: int | None
    deleted: int | None


@dataclass(frozen=True)
class CommitDetails:
    """One commit for a report; `files` are its changes against its first parent (a root commit's: all its files)."""

    sha: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: datetime
    committed: datetime
    subject: str
    message: str
    files: tuple[FileChange, ...]

    @property
    def added(self) -> int:
        """Lines added in all its text files."""
        return sum(file.added or 0 for file in self.files)

    @property
    def deleted(self) -> int:
        """Lines deleted in all its text files."""
        return sum(file.deleted or 0 for file in self.files)


class History:
    """Reads one clone, which is never changed; without an `engine`, names that need tag forms mean nothing.

    Raises UserError if `path` is missing, no git repository, without a commit, or a shallow clone.
    """

    def __init__(self, path: Path, engine: Engine | None = None) -> None:
        self._repository = Repository(path)
        self._graph = Graph({})
        self._set_engine(engine)

    def _set_engine(self, engine: Engine | None) -> None:
        self.engine = engine
        self._names = Names(self._repository, engine)
        self._reader = VersionReader(self._repository, engine.version_files if engine else ())

    @property
    def path(self) -> Path:
        """Where the clone is."""
        return self._repository.path

    def detect_engine(self, engines: Sequence[Engine], name: str | None = None) -> Engine:
        """Find the engine by its version files in the tree of commit `name` (default: HEAD, else the first branch), and
        use it from now on; the first of `engines` that fits wins. Raises UserError if none does."""
        sha = self._repository.heads()[0][1] if name is None else self.resolve(name).sha
        for engine in engines:
            if VersionReader(self._repository, engine.version_files).versions([sha])[sha] is not None:
                self._set_engine(engine)
                return engine
        known = ", ".join(engine.name for engine in engines)
        raise UserError(f"{self.path} holds no engine known here at {name or 'HEAD'}", f"say which: --engine ({known})")

    def resolve(self, name: str) -> Commit:
        """The commit a version, tag, branch, sha or git revision stands for; see `Names.resolve`."""
        return self._names.resolve(name)

    def resolve_pair(self, good: str, bad: str) -> tuple[Commit, Commit]:
        """Both ends, versions without tags being looked up on one line of history; see `Names.resolve_pair`."""
        return self._names.resolve_pair(good, bad)

    def version_at(self, sha: str) -> Version | None:
        """The release a commit's tree says it belongs to: in MySQL the next one to be cut."""
        return self.versions([sha])[sha]

    def versions(self, shas: Iterable[str]) -> dict[str, Version | None]:
        """`version_at` of many commits at once; files that are equal are read once."""
        return self._reader.versions(shas)

    def is_dirty(self) -> bool:
        """Whether tracked files of the working tree differ from HEAD (they are never built); False if bare."""
        return self._repository.is_dirty()

    def candidates(self, good: str, bad: str) -> Candidates:
        """The commits to search between two shas: the first-parent path of `bad`, from `good` or the fork point on.

        See `Graph.span` for where it begins if `good` does not lie on that path. Raises UserError if the two are one
        commit, unrelated, or in the wrong order.
        """
        if good == bad:
            raise UserError(f"good and bad are the same commit {good[:12]}", "name two different ones")
        graph = self._graph_of(good, bad)
        if graph.is_ancestor(bad, good):
            raise UserError(
                f"bad {bad[:12]} is older than good {good[:12]} and part of it",
                "swap them; what made it faster is found with --find improvement, good being the older one there too",
            )
        span = graph.span(good, bad)
        if span is None:
            raise UserError(
                f"{good[:12]} and {bad[:12]} have no common history", "name two commits of one line of history"
            )
        return self._listed(good, bad, span)

    def inside_merge(self, merge: str, parent: str | None = None) -> tuple[Candidates, ...]:
        """What a merge brought to `parent` (default: its first): one list for each other parent that brought commits.

        Each begins at the commit `start` where the merged line left `parent`'s history, which is measured as the good
        end; follows the first-parent path of the merged line; and ends with the merge itself, measured against the
        merged head. If that last step alone is slow, only the combination is. Call it again on a culprit that is a
        merge, with the culprit's `parent`. Empty if the commit is no merge, or brought only commits that `parent` had
        or that have no history in common with it.
        """
        graph = self._graph_of(merge)
        parents = graph.parents[merge]
        base = parent or next(iter(parents), "")
        if base not in parents:
            return ()
        found = []
        for head in dict.fromkeys(parents):
            if head == base or graph.is_ancestor(head, base):
                continue
            if (span := graph.span(base, head)) is not None:
                whole = Span(span.start, (*span.path, merge), merge)
                found.append(self._listed(base, merge, whole))
        return tuple(found)

    def classes(self, candidates: Candidates, irrelevant: Iterable[str]) -> list[CommitClass]:
        """Group candidates that cannot change the binary with their predecessors, `candidates.start` opening the first.

        Such a commit changes, against the parent before it on the path, nothing but paths that the gitignore-style
        globs `irrelevant` match. Raises UserError for a malformed glob.
        """
        globs = Irrelevant(irrelevant)
        pairs = [(commit.sha, commit.parent) for commit in candidates.commits]
        unchanged = {sha for sha, paths in self.changes(pairs) if globs.covers(paths)}
        return group(candidates.start, (commit.sha for commit in candidates.commits), unchanged)

    def changes(self, commits: Sequence[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Of each (sha, parent) pair the sha and the paths that differ; a renamed file counts with both names."""
        for first in range(0, len(commits), _DIFFS_AT_ONCE):
            pairs = commits[first : first + _DIFFS_AT_ONCE]
            output = self._repository.run(
                *("diff-tree", "--stdin", "--root", "--always", "-r", "-z", "--raw", "--no-renames"),
                stdin=(f"{sha} {parent}".rstrip() for sha, parent in pairs),
            )
            words = iter(output.decode(errors="surrogateescape").split("\0"))
            changed: dict[str, list[str]] = {sha: [] for sha, _ in pairs}
            current: list[str] = []
            for word in words:
                if word.startswith(":"):
                    current.append(next(words))
                elif word:
                    current = changed[word.strip()]
            yield from ((sha, tuple(paths)) for sha, paths in changed.items())

    def files(self, sha: str) -> dict[str, bool]:
        """All paths in the tree of a commit, and whether each is a plain file: no link, no other repository."""
        listing = self._repository.run("ls-tree", "-r", "-z", "--full-tree", sha).decode(errors="surrogateescape")
        rows = (row.partition("\t") for row in listing.split("\0") if row)
        return {path: about.startswith("100") for about, _, path in rows}

    def describe(self, sha: str) -> CommitDetails:
        """Author, dates, message and the lines changed in each file."""
        fields = self._repository.text(
            *("rev-list", "--no-walk", "--stdin", "--format=%P%x00%an%x00%ae%x00%at%x00%ct%x00%s%x00%B"), stdin=[sha]
        ).partition("\n")[2]
        parents, author, email, authored, committed, subject, message = fields.split("\0", 6)
        listing = self._repository.run(
            *("diff-tree", "--stdin", "--root", "--no-commit-id", "-r", "-z", "--numstat"),
            *("--no-renames", "--no-ext-diff", "--no-textconv"),
            stdin=[" ".join((sha, *parents.split()[:1]))],
        )
        return CommitDetails(
            sha=sha,
            parents=tuple(parents.split()),
            author=author,
            email=email,
            authored=_time(authored),
            committed=_time(committed),
            subject=subject,
            message=message.rstrip("\n"),
            files=tuple(_file_change(row) for row in listing.decode(errors="replace").split("\0") if row),
        )

    def _graph_of(self, *commits: str) -> Graph:
        if not self._graph.parents.keys() >= set(commits):
            listing = self._repository.text("rev-list", "--parents", "--stdin", stdin=commits)
            self._graph = Graph({**self._graph.parents, **parse_parents(listing)})
        return self._graph

    def _listed(self, good: str, bad: str, span: Span) -> Candidates:
        listing = self._repository.text(
            "rev-list", "--no-walk=unsorted", "--stdin", "--format=%H%x00%at%x00%s", stdin=span.path
        )
        rows = (line.split("\0", 2) for line in listing.splitlines() if "\0" in line)
        before = (span.start, *span.path)
        commits = tuple(
            Candidate(sha, parent, self._graph.parents[sha], subject, _time(authored))
            for (sha, authored, subject), parent in zip(rows, before, strict=False)
        )
        return Candidates(good, bad, span.start, commits, span.entry)


def _time(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _file_change(row: str) -> FileChange:
    added, deleted, path = row.split("\t", 2)
    return FileChange(path, None if added == "-" else int(added), None if deleted == "-" else int(deleted))
