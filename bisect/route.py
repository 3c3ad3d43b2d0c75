"""From the history's candidates to the path a search runs over."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cpubisect.engine import Engine
from cpubisect.history import Candidates, History
from cpubisect.path import Path
from cpubisect.relevance import Evidence, Irrelevant


def main_path(history: History, engine: Engine, candidates: Candidates) -> Path:
    """The path from where the candidates start to bad, commits that cannot change the binary joined to classes."""
    return _path(history, engine, candidates, ())


def joined(engine: Engine, path: Path, changes: Mapping[str, Sequence[str]], evidence: Evidence) -> Path:
    """The path with those commits in their predecessors' classes that touch only what no build was compiled from.

    `changes` maps the first commit of each class but the first to the paths it touches.
    """
    irrelevant = Irrelevant(engine.irrelevant).matches
    unchanged = {
        sha for sha, changed in changes.items() if all(irrelevant(name) or evidence.unused(name) for name in changed)
    }
    return path.joined(unchanged)


def merged_paths(history: History, engine: Engine, merge: str, parent: str, inside: tuple[str, ...]) -> list[Path]:
    """The lines a merge brought to `parent`, each from where it left `parent`'s history to the merged head."""
    paths = []
    for candidates in history.inside_merge(merge, parent):
        branch = replace(candidates, commits=candidates.commits[:-1])
        if branch.commits:
            paths.append(_path(history, engine, branch, (*inside, merge)))
    return paths


def _path(history: History, engine: Engine, candidates: Candidates, inside: tuple[str, ...]) -> Path:
    commits = candidates.commits
    return Path(
        classes=tuple(found.members for found in history.classes(candidates, engine.irrelevant)),
        parents={commit.sha: commit.parent for commit in commits},
        subjects={commit.sha: commit.subject for commit in commits},
        merges=frozenset(commit.sha for commit in commits if commit.is_merge),
        inside=inside,
    )
