"""From what a user types (a version, tag, branch, sha or any git revision) to one commit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.version import Version
from cpubisect.history.releases import Raise, VersionReader, nearest, ranked_raises
from cpubisect.history.repository import Repository, checked_name
from cpubisect.history.tagged import by_form

_ABBREVIATED = re.compile(r"[0-9a-fA-F]{4,64}")
_FOUND_LISTED = 5


class Source(StrEnum):
    """How a name was understood."""

    TAG = "tag"
    BRANCH = "branch"
    REVISION = "revision"
    RELEASE_POINT = "release point"
    BRANCH_TIP = "branch tip"


MOVING = frozenset((Source.BRANCH, Source.BRANCH_TIP))
"""What names another commit after a fetch."""


@dataclass(frozen=True)
class Commit:
    """The commit a name stands for, and `where` it was found.

    That is a tag, branch or revision; for a release point the commit after it that raises the version; for a branch
    tip the branch whose tip still has the version.
    """

    sha: str
    name: str
    source: Source
    where: str


class Names:
    """Resolves names in one repository, for one engine's tag forms and version files (none: no versions)."""

    def __init__(self, repository: Repository, engine: Engine | None) -> None:
        self._repository = repository
        self._engine = engine
        self._reader = VersionReader(repository, engine.version_files if engine else ())
        self._heads: list[tuple[str, str]] | None = None
        self._raises: list[Raise] | None = None
        self._tips: dict[str, Version | None] = {}
        self._holders: dict[str, set[str]] = {}

    def resolve(self, name: str) -> Commit:
        """The commit `name` stands for.

        Tried in this order: a tag, branch or ref of exactly this name (also a remote's branch, without the remote);
        a version through the engine's tag forms; a full or abbreviated sha or any other git revision; a version
        through the version file. Without a tag, a version X is the last commit that says X before the version is
        raised (the file names the next release), on the first line of history that has it: HEAD, then local, then
        remote branches by name; a branch whose tip says X stands for X by its tip. Raises UserError for a name
        that means nothing or several commits; for an unknown version it names the nearest known ones.
        """
        return self._direct(name) or self._released(name)

    def resolve_pair(self, good: str, bad: str) -> tuple[Commit, Commit]:
        """Both ends of one question, as `resolve_all` finds them."""
        first, last = self.resolve_all((good, bad))
        return first, last

    def resolve_all(self, names: Sequence[str]) -> list[Commit]:
        """Commits that belong together; like `resolve`, but versions without tags are all looked up on the first line
        of history that has all of the commits, because clones exist that hold the same ones twice under different
        shas."""
        direct = [self._direct(name) for name in names]
        found = [commit for commit in direct if commit is not None]
        if len(found) == len(names):
            return found
        for line in self._lines():
            on_line = [
                self._on_line(name, line) if commit is None else commit if self._holds(line, commit.sha) else None
                for name, commit in zip(names, direct, strict=True)
            ]
            found = [commit for commit in on_line if commit is not None]
            if len(found) == len(names):
                return found
        return [commit or self._released(name) for name, commit in zip(names, direct, strict=True)]

    def _direct(self, name: str) -> Commit | None:
        checked_name(name)
        return self._named_ref(name) or self._tagged(name) or self._revision(name) or self._remote_branch(name)

    def _named_ref(self, name: str) -> Commit | None:
        for prefix, source in (
            ("refs/tags/", Source.TAG),
            ("refs/heads/", Source.BRANCH),
            ("refs/remotes/", Source.BRANCH),
            ("", Source.REVISION),
        ):
            full = prefix + name
            if full.startswith("refs/") and self._repository.succeeds("show-ref", "--verify", "--quiet", full):
                sha = self._repository.commit(full)
                if sha is None:
                    raise UserError(f"{name} is no commit in {self._repository.path}", "name a tag of a commit")
                return Commit(sha, name, source, name)
        return None

    def _remote_branch(self, name: str) -> Commit | None:
        listing = self._repository.text("for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes")
        refs = [line.split(" ", 1) for line in listing.splitlines()]
        found = {ref.removeprefix("refs/remotes/"): sha for sha, ref in refs if ref.split("/", 3)[3:] == [name]}
        if len(set(found.values())) > 1:
            raise UserError(f"{name} is a branch of several remotes", f"say which: {', '.join(sorted(found))}")
        return next((Commit(sha, name, Source.BRANCH, where) for where, sha in sorted(found.items())), None)

    def _tagged(self, name: str) -> Commit | None:
        wanted = self._version(name)
        if wanted is None or self._engine is None:
            return None
        text, version = wanted
        tags = self._repository.text("for-each-ref", "--format=%(refname:strip=2)", "refs/tags").splitlines()
        known = set(tags)
        exact = [tag for form in self._engine.tags if (tag := form.replace("{version}", text)) in known]
        padded = (
            tag
            for form in self._engine.tags
            for tag in tags
            if (found := by_form(form, tag)) and _is_release(found[1], version)
        )
        for tag in (*exact, *padded):
            if (sha := self._repository.commit(f"refs/tags/{tag}")) is not None:
                return Commit(sha, name, Source.TAG, tag)
        return None

    def _revision(self, name: str) -> Commit | None:
        if (sha := self._repository.commit(name)) is not None:
            return Commit(sha, name, Source.REVISION, name)
        if _ABBREVIATED.fullmatch(name):
            ids = self._repository.text("rev-parse", f"--disambiguate={name}").split()
            kinds = self._repository.text("cat-file", "--batch-check=%(objecttype)", stdin=ids).split()
            commits = sorted(sha for sha, kind in zip(ids, kinds, strict=True) if kind == "commit")
            if len(commits) > 1:
                listed = ", ".join(sha[: len(name) + 4] for sha in commits[:_FOUND_LISTED])
                more = ", …" if len(commits) > _FOUND_LISTED else ""
                raise UserError(f"{name} is the beginning of {len(commits)} commits", f"say which: {listed}{more}")
        return None

    def _version(self, name: str) -> tuple[str, Version] | None:
        forms = (*(self._engine.tags if self._engine else ()), "{version}", "v{version}")
        return next((found for form in forms if (found := by_form(form, name))), None)

    def _lines(self) -> list[tuple[str, str]]:
        if self._heads is None:
            self._heads = self._repository.heads()
            self._tips = self._reader.versions(sha for _, sha in self._heads)
        return self._heads

    def _all_raises(self) -> list[Raise]:
        if self._raises is None:
            self._raises = self._reader.raises([sha for _, sha in self._lines()])
        return self._raises

    def _released(self, name: str) -> Commit:
        wanted = self._version(name)
        if wanted is None or self._engine is None:
            raise UserError(
                f"{name} names no commit in {self._repository.path}",
                "give a version, a tag, a branch or a sha; `git fetch --tags` brings in new ones",
            )
        for line in self._lines():
            if (found := self._on_line(name, line)) is not None:
                return found
        version = wanted[1]
        known = self._known_versions()
        series = sorted({other for other in known if other.parts[: len(version.parts)] == version.parts})
        if series and len(series[0].parts) > len(version.parts):
            named = f"from {series[0]} to {series[-1]}" if len(series) > 1 else str(series[0])
            raise UserError(f"{version} is a series, not one release", f"it has {named}")
        near = ", ".join(str(other) for other in nearest(known, version)) or "none, it has no versions"
        raise UserError(f"no version {version} in {self._repository.path}", f"nearest: {near}")

    def _on_line(self, name: str, line: tuple[str, str]) -> Commit | None:
        wanted = self._version(name)
        branch, tip = line
        if wanted is None or self._engine is None:
            return None
        version = wanted[1]
        at_tip = self._tips.get(tip)
        if at_tip == version and at_tip is not None and len(at_tip.parts) <= len(version.parts):
            return Commit(tip, name, Source.BRANCH_TIP, branch)
        ends = ranked_raises(self._all_raises(), version)
        raised = next((end for end in ends if self._holds(line, end.commit)), None)
        if raised is None or len(raised.before.parts) > len(version.parts):
            return None
        return Commit(raised.point, name, Source.RELEASE_POINT, raised.commit)

    def _holds(self, line: tuple[str, str], sha: str) -> bool:
        branch, tip = line
        if branch == "HEAD":
            return self._repository.is_ancestor(sha, tip)
        if sha not in self._holders:
            listing = self._repository.text("for-each-ref", f"--contains={sha}", "--format=%(objectname)")
            self._holders[sha] = set(listing.split())
        return tip in self._holders[sha]

    def _known_versions(self) -> set[Version]:
        found = {version for version in self._tips.values() if version is not None}
        found.update(raised.before for raised in self._raises or ())
        listing = self._repository.text("for-each-ref", "--format=%(refname:strip=2)", "refs/tags")
        for form in self._engine.tags if self._engine else ():
            found.update(match[1] for tag in listing.splitlines() if (match := by_form(form, tag)))
        return found


def _is_release(tagged: Version, wanted: Version) -> bool:
    """Whether a tag's version is the one wanted: 5.7.5-m15 is 5.7.5, which has no other tag; but one milestone is not
    another, and 17-beta1, of a series without a second number, is not 17.0."""
    if tagged != wanted or len(tagged.parts) > len(wanted.parts):
        return False
    if not tagged.suffix or tagged.suffix == wanted.suffix:
        return True
    return not wanted.suffix and len(tagged.parts) == len(wanted.parts)
