"""Writes the example's history as a real git repository: the same commits, to the last bit, on every machine.

The engine is `minikv`; its base sources are in `tree/`, what happened to them in the modules `release_*`. From v1.0.0
to v1.4.0 it holds, on purpose: a step of seeks inside a merged branch (the culprit) whose neighbours lack a standard
header, a smaller step and an improvement on the main line, a step of gets alone, cost that only moved, commits that
lack a header of their own, five commits in a row that no repair can build, and a merge that changes nothing. What may
follow v1.4.0 (`placement`) changes the layout alone.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from cpubisect.base.errors import UserError
from cpubisect.example import release_1_1, release_1_2, release_1_3, release_1_4
from cpubisect.example.placement import STEPS as PLACEMENT
from cpubisect.example.step import Commit, Merge, Step, Tag, Tree, apply

GOOD, BAD = "v1.0.0", "v1.4.0"
STEPS: tuple[Step, ...] = (*release_1_1.STEPS, *release_1_2.STEPS, *release_1_3.STEPS, *release_1_4.STEPS)

_AUTHORS = ("Ada Miller <ada@minikv.example>", "Ben Okafor <ben@minikv.example>", "Chen Li <chen@minikv.example>")
_EPOCH_S = 1672653600  # 2023-01-02 10:00 UTC
_PAUSE_S = 7 * 3600


@dataclass(frozen=True)
class Generated:
    """The repository at `path`: `good` and `bad` are tags; `main_line` are the commits by first parents, the root
    first; `branches` maps a merge's label to the commits that it brought, oldest first; `labelled` maps every label
    of the steps to its commit."""

    path: Path
    good: str
    bad: str
    main_line: tuple[str, ...]
    branches: Mapping[str, tuple[str, ...]]
    labelled: Mapping[str, str]

    @property
    def culprit(self) -> str:
        """The commit of the branch that made seeks costlier."""
        return self.labelled["culprit"]

    @property
    def merge(self) -> str:
        """The merge that brought the culprit."""
        return self.labelled["merge"]

    @property
    def unbuildable(self) -> tuple[str, ...]:
        """Main-line commits that no repair can build."""
        return self._from_to(self.main_line, "broken", "builds again")

    @property
    def repairable(self) -> tuple[str, ...]:
        """Commits that build once a forgotten header is included: on the main line, then on the culprit's branch."""
        own = self._from_to(self.main_line, "forgotten project header", "project header included")
        standard = self._from_to(self.branches["merge"], "forgotten standard header", "standard header included")
        return own + standard

    def _from_to(self, commits: Sequence[str], first: str, end: str) -> tuple[str, ...]:
        return tuple(commits[commits.index(self.labelled[first]) : commits.index(self.labelled[end])])


@dataclass
class _Stream:
    """A `git fast-import` stream in the making; commits are known by their marks."""

    chunks: list[bytes] = field(default_factory=list)
    trees: dict[int, Tree] = field(default_factory=lambda: {0: {}})
    labels: dict[str, int] = field(default_factory=dict)

    def commit(self, subject: str, tree: Tree, parents: Sequence[int], label: str = "") -> int:
        mark = len(self.trees)
        self.trees[mark] = tree
        if label:
            self.labels[label] = mark
        who = f"{_AUTHORS[mark * mark % len(_AUTHORS)]} {_EPOCH_S + mark * _PAUSE_S} +0000"
        self._line(f"commit refs/heads/main\nmark :{mark}\nauthor {who}\ncommitter {who}")
        self._data(f"{subject}\n")
        for word, parent in zip(("from", "merge"), parents, strict=False):
            self._line(f"{word} :{parent}")
        before = self.trees[parents[0]] if parents else {}
        for path in sorted(tree):
            if before.get(path) != tree[path]:
                self._line(f"M 100644 inline {path}")
                self._data(tree[path])
        return mark

    def tag(self, name: str, mark: int) -> None:
        self._line(f"tag {name}\nfrom :{mark}\ntagger {_AUTHORS[0]} {_EPOCH_S + mark * _PAUSE_S} +0000")
        self._data(f"minikv {name.removeprefix('v')}\n")

    def _line(self, text: str) -> None:
        self.chunks.append(f"{text}\n".encode())

    def _data(self, text: str) -> None:
        content = text.encode()
        self.chunks.append(b"data %d\n%s\n" % (len(content), content))


def base_tree() -> Tree:
    """The sources of the root commit."""
    root = Path(__file__).with_name("tree")
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def generate(target: Path, *, placement: bool = False) -> Generated:
    """Create the repository, with the last commit checked out, in `target`: a new or empty directory.

    With `placement`, the commits of that module follow the last release; all before have the same names either way.
    Raises UserError if `target` is in use or git fails.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} is not an empty directory", "name one that does not exist yet")
    target.mkdir(parents=True, exist_ok=True)
    stream = _Stream()
    main_line, branches = _play(stream, (*STEPS, *(PLACEMENT if placement else ())))
    _git(target, "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
    _git(target, "fast-import", "--quiet", "--export-marks=.git/marks", stdin=b"".join(stream.chunks))
    _git(target, "reset", "--quiet", "--hard")
    marks_file = target / ".git/marks"
    marks = {int(mark[1:]): sha for mark, sha in map(str.split, marks_file.read_text().splitlines())}
    marks_file.unlink()
    return Generated(
        path=target,
        good=GOOD,
        bad=BAD,
        main_line=tuple(marks[mark] for mark in main_line),
        branches={label: tuple(marks[mark] for mark in branch) for label, branch in branches.items()},
        labelled={label: marks[mark] for label, mark in stream.labels.items()},
    )


def _play(stream: _Stream, steps: Sequence[Step]) -> tuple[list[int], dict[str, list[int]]]:
    """Write steps to the stream; returns the marks of the main line and of each merge's branch."""
    main = [stream.commit("Import minikv", base_tree(), ())]
    branches: dict[str, list[int]] = {}
    for step in steps:
        tip = main[-1]
        match step:
            case Tag():
                stream.tag(step.name, tip)
            case Commit():
                tree = apply(stream.trees[tip], step.changes)
                main.append(stream.commit(step.subject, tree, (tip,), step.label))
            case Merge():
                branch = list(_play_branch(stream, step.commits, main[-1 - step.behind]))
                merged = stream.trees[tip]
                for commit in step.commits:
                    merged = apply(merged, commit.changes)
                subject = f"Merge branch '{step.branch}'"
                main.append(stream.commit(subject, merged, (tip, branch[-1]), step.label))
                branches[step.label] = branch
    return main, branches


def _play_branch(stream: _Stream, commits: Sequence[Commit], fork: int) -> Iterator[int]:
    tip = fork
    for commit in commits:
        tip = stream.commit(commit.subject, apply(stream.trees[tip], commit.changes), (tip,), commit.label)
        yield tip


def _git(directory: Path, *arguments: str, stdin: bytes = b"") -> None:
    # Nothing of the user's own git settings or of a surrounding repository may reach the history.
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(directory),
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DIR": str(directory.resolve() / ".git"),
        "GIT_WORK_TREE": str(directory.resolve()),
    }
    try:
        finished = subprocess.run(
            ("git", *arguments), cwd=directory, env=environment, input=stdin, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise UserError("git is not installed", "install git") from None
    if finished.returncode:
        message = finished.stderr.decode(errors="replace").strip()
        raise UserError(f"git {arguments[0]} failed in {directory}", message)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--placement", is_flag=True, help="Add commits after the last release that only move code.")
def main(directory: Path, placement: bool) -> None:
    """Write the example repository to DIRECTORY."""
    try:
        generated = generate(directory, placement=placement)
    except UserError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{generated.path}: {len(generated.main_line)} commits on main, from {GOOD} to {BAD}")


if __name__ == "__main__":
    main()
