"""The history of one clone: names to commits, the candidates between two, and what a commit touches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.version import Version
from cpubisect.history.candidates import Candidates, between, graph, since
from cpubisect.history.diffs import changed_paths, changed_versions
from cpubisect.history.names import Commit, Names
from cpubisect.history.releases import VersionReader
from cpubisect.history.relevance import Irrelevant
from cpubisect.history.repository import Repository
from cpubisect.history.tagged import release_tags
from cpubisect.search.graph import Graph
from cpubisect.search.line import join
from cpubisect.search.verdict import ChangedFile


@dataclass(frozen=True)
class CommitDetails:
    """One commit for a report; `files` are its changes against its first parent (a root commit's: all its files)."""

    author: str
    authored: datetime
    subject: str
    message: str
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True)
class CommitTree:
    """The files of one commit."""

    repository: Repository
    sha: str

    def text(self, path: str) -> str | None:
        """What a file says; None if there is none at that path."""
        blob = self._blob(path)
        contents = self.repository.blobs([blob] if blob else [])
        return next((content.decode(errors="replace") for _, content in contents), None)

    def holds(self, path: str) -> bool:
        """Whether there is a file at that path."""
        return bool(self._blob(path))

    def _blob(self, path: str) -> str:
        return self.repository.files_at([self.sha], [path]).get(self.sha, {}).get(path, "")


class History:
    """Reads one clone, which is never changed; without an `engine`, names that need tag forms mean nothing.

    Raises UserError if `path` is missing, no git repository, without a commit, or a shallow clone.
    """

    def __init__(self, path: Path, engine: Engine | None = None) -> None:
        self._repository = Repository(path)
        self._contained: dict[tuple[str, str], bool] = {}
        self._set_engine(engine)

    def _set_engine(self, engine: Engine | None) -> None:
        self.engine = engine
        self._names = Names(self._repository, engine)
        self._reader = VersionReader(self._repository, engine.version_files if engine else ())
        self._releases: dict[str, str] | None = None

    @property
    def path(self) -> Path:
        """Where the clone is."""
        return self._repository.path

    @property
    def identity(self) -> str:
        """What the clone is known by wherever what was made of it is kept: builds, compiler caches."""
        return self._repository.identity

    def detect_engine(self, engines: Sequence[Engine]) -> Engine:
        """Find the engine by its version files in the tree of HEAD (without one: of the first branch), and use it from
        now on. Of several that fit, as a fork and what it came from do, the one that asks most of a file wins, then the
        first. Raises UserError if none does."""
        sha = self._repository.heads()[0][1]
        readers = ((engine, VersionReader(self._repository, engine.version_files)) for engine in engines)
        fitting = [engine for engine, reader in readers if reader.versions([sha])[sha] is not None]
        if fitting:
            engine = max(fitting, key=lambda engine: max(len(file.patterns) for file in engine.version_files))
            self._set_engine(engine)
            return engine
        known = ", ".join(engine.name for engine in engines)
        raise UserError(f"{self.path} holds no engine known here at HEAD", f"say which: --engine ({known})")

    def resolve(self, name: str) -> Commit:
        """The commit a version, tag, branch, sha or git revision stands for; see `Names.resolve`."""
        return self._names.resolve(name)

    def resolve_pair(self, good: str, bad: str) -> tuple[Commit, Commit]:
        """Both ends, versions without tags being looked up on one line of history; see `Names.resolve_pair`."""
        return self._names.resolve_pair(good, bad)

    def resolve_all(self, names: Sequence[str]) -> list[Commit]:
        """Commits that belong together; see `Names.resolve_all`."""
        return self._names.resolve_all(names)

    def version_at(self, sha: str) -> Version | None:
        """The release a commit's tree says it belongs to: in MySQL the next one to be cut."""
        return self._reader.versions([sha])[sha]

    def release(self, sha: str) -> str:
        """The tag, of the engine's tag forms, of the release that a commit is; empty if it is none."""
        if self._releases is None:
            self._releases = release_tags(self._repository, self.engine.tags) if self.engine else {}
        return self._releases.get(sha, "")

    def is_dirty(self) -> bool:
        """Whether tracked files of the working tree differ from HEAD (they are never built); False if bare."""
        return self._repository.is_dirty()

    def candidates(self, good: str, bad: str) -> Candidates:
        """The commits to search between two shas: the first-parent path of `bad`, from `good` or the fork point on.

        See `between` for where it begins if `good` does not lie on that path. Raises UserError if the two are one
        commit, unrelated, or in the wrong order.
        """
        if good == bad:
            raise UserError(f"good and bad are the same commit {good[:12]}", "name two different ones")
        found = between(self._repository, good, bad)
        if found is None:
            raise UserError(
                f"{good[:12]} and {bad[:12]} have no common history", "name two commits of one line of history"
            )
        if not found.commits:
            raise UserError(
                f"bad {bad[:12]} is older than good {good[:12]} and part of it",
                "swap them; what made it faster is found with --find improvement, good being the older one there too",
            )
        return found

    def since(self, start: str, end: str) -> Candidates:
        """The commits to search from an ancestor of `end` on, by the first parents that contain it; see `since`."""
        return since(self._repository, start, end)

    def graph(self, start: str, end: str) -> Graph:
        """All commits that `end` has and `start` has not, those that merges brought too."""
        return graph(self._repository, start, end)

    def contains(self, sha: str, old: str) -> bool:
        """Whether a commit contains an `old` one; a commit contains itself."""
        if (sha, old) not in self._contained:
            self._contained[sha, old] = self._repository.is_ancestor(old, sha)
        return self._contained[sha, old]

    def inside_merge(self, merge: str, parent: str) -> tuple[Candidates, ...]:
        """What a merge brought to `parent`, one of its parents: one list for each other parent that brought commits.

        Each begins at the commit `start` where the merged line left `parent`'s history, which is measured as the good
        end, follows the first-parent path of the merged line, and ends with the merged head. If no step of it is slow,
        only the combination is. Call it again on a culprit that is a merge, with the culprit's `parent`. Empty if the
        commit is no merge, or brought only commits that `parent` had or that have no history in common with it.
        """
        heads = self._repository.text("rev-parse", f"{merge}^@").split()
        if parent not in heads:
            return ()
        lines = (between(self._repository, parent, head) for head in dict.fromkeys(heads))
        return tuple(line for line in lines if line is not None and line.commits)

    def classes(self, candidates: Candidates, irrelevant: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Group candidates that cannot change the binary with their predecessors, `candidates.start` opening the first.

        A class is one commit that can change the binary and all that follow it and cannot: these change, against the
        parent before them on the path, nothing but paths that the gitignore-style globs `irrelevant` match. Raises
        UserError for a malformed glob.
        """
        globs = Irrelevant(irrelevant)
        pairs = [(commit.sha, commit.parent) for commit in candidates.commits]
        unchanged = {sha for sha, paths in self.changes(pairs) if globs.covers(paths)}
        return join(((sha,) for sha in (candidates.start, *(sha for sha, _ in pairs))), unchanged)

    def changes(self, commits: Sequence[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Of each (sha, parent) pair the sha and the paths that differ; see `changed_paths`."""
        return changed_paths(self._repository, commits)

    def versions(
        self, commits: Sequence[tuple[str, str]], folders: Sequence[str]
    ) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
        """Of each (sha, other) pair the sha and, of each path in some top-level folders that differs, the other's
        version and its own; see `changed_versions`."""
        return changed_versions(self._repository, commits, folders)

    def files(self, sha: str) -> dict[str, bool]:
        """All paths in the tree of a commit, and whether each is a plain file: no link, no other repository."""
        listing = self._repository.run("ls-tree", "-r", "-z", "--full-tree", sha).decode(errors="surrogateescape")
        rows = (row.partition("\t") for row in listing.split("\0") if row)
        return {path: about.startswith("100") for about, _, path in rows}

    def tree(self, sha: str) -> "CommitTree":
        """The tree of a commit, to be read file by file."""
        return CommitTree(self._repository, sha)

    def describe(self, sha: str) -> CommitDetails:
        """Author, date, message and the lines changed in each file."""
        fields = self._repository.text(
            "rev-list", "--no-walk", "--stdin", "--format=%P%x00%an%x00%at%x00%s%x00%B", stdin=[sha]
        ).partition("\n")[2]
        parents, author, authored, subject, message = fields.split("\0", 4)
        listing = self._repository.run(
            *("diff-tree", "--stdin", "--root", "--no-commit-id", "-r", "-z", "--numstat"),
            *("--no-renames", "--no-ext-diff", "--no-textconv"),
            stdin=[" ".join((sha, *parents.split()[:1]))],
        )
        return CommitDetails(
            author=author,
            authored=datetime.fromtimestamp(int(authored), UTC),
            subject=subject,
            message=message.rstrip("\n"),
            files=tuple(_changed_file(row) for row in listing.decode(errors="replace").split("\0") if row),
        )


def _changed_file(row: str) -> ChangedFile:
    added, removed, path = row.split("\t", 2)
    return ChangedFile(path, None if added == "-" else int(added), None if removed == "-" else int(removed))
