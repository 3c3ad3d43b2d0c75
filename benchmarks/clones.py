"""What a partial clone saves: `python benchmarks/clones.py REPOSITORY GOOD [COMMIT ...] BAD`.

A whole clone of branches and tags, and one with `--filter=blob:none`, as `history/mirrors.py` makes it, are made over
file:// of a server that borrows the objects of REPOSITORY, which is only read. Then a bisection reads in each what it
would of its history: both ends, the candidates and their classes; the tree of each commit that it builds, ends first;
the diffs of all candidates, which the suspects are known by; and the changes of BAD as if it were the culprit. Prints a
Markdown table of what the server sent (packs), what the clone grew by on disk, in 10^6 bytes, how often something was
fetched, how many files' contents came, and seconds; as its last line one JSON object. A local server answers at once:
each fetch from another host waits for several round trips.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from cpubisect.base.engine import Engine
from cpubisect.base.git.borrowed import mirror_environment
from cpubisect.base.process import run
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.trees.source import checked_out
from cpubisect.history.history import History
from cpubisect.run.prior import read_touched
from cpubisect.search.line import Line

FILTERS: Mapping[str, Sequence[str]] = {"whole": (), "partial": ("--filter=blob:none",)}
LIMIT_S = 3600.0
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Held:
    """What a clone has, or what it gained: packs, one for each time something was fetched, their bytes, all bytes on
    disk, and the contents of files."""

    packs: int = 0
    received: int = 0
    on_disk: int = 0
    blobs: int = 0

    def __add__(self, other: "Held") -> "Held":
        return Held(*(own + more for own, more in zip(self._numbers, other._numbers, strict=True)))

    def __sub__(self, other: "Held") -> "Held":
        return Held(*(own - less for own, less in zip(self._numbers, other._numbers, strict=True)))

    @property
    def _numbers(self) -> tuple[int, ...]:
        return self.packs, self.received, self.on_disk, self.blobs


@dataclass(frozen=True)
class Step:
    """One thing that is done with a clone, and what that took."""

    name: str
    gained: Held
    seconds: float


def git(*words: str) -> str:
    """The output of git, as it is called for a clone of ours; ends the program if it fails."""
    done = run(["git", *words], env=mirror_environment(), timeout_s=LIMIT_S)
    if not done.ok:
        raise SystemExit(f"git {' '.join(words)}: {done.first_line}")
    return done.output


def serve(repository: Path, place: Path) -> str:
    """The address of a server with all that a repository has, which may be asked for parts."""
    git("clone", "--quiet", "--mirror", "--shared", "--", str(repository.resolve()), str(place))
    for name in ("allowFilter", "allowAnySHA1InWant"):
        git("-C", str(place), "config", f"uploadpack.{name}", "true")
    return place.resolve().as_uri()


def held(clone: Path) -> Held:
    """What a clone has now."""
    sizes = {path: path.stat().st_size for path in clone.rglob("*") if path.is_file()}
    packs = [size for path, size in sizes.items() if path.suffix == ".pack"]
    listing = ("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check=%(objecttype)")
    kinds = git("-C", str(clone), *listing).split()
    return Held(len(packs), sum(packs), sum(sizes.values()), kinds.count("blob"))


def read_line(clone: Path, matrix: Matrix, good: str, bad: str) -> tuple[Engine, Line]:
    """What a start reads, and what makes the line of candidates."""
    history = History(clone)
    engine = history.detect_engine(matrix.engines())
    ends = [commit.sha for commit in history.resolve_pair(good, bad)]
    found = history.candidates(ends[0], ends[1])
    for sha in ends:
        read_recipe(history, matrix, engine, sha)
    line = Line(
        classes=history.classes(found, engine.irrelevant),
        parents={commit.sha: commit.parent for commit in found.commits},
        merges=frozenset(commit.sha for commit in found.commits if commit.is_merge),
    )
    return engine, line


def read_recipe(history: History, matrix: Matrix, engine: Engine, sha: str) -> None:
    """What says how a commit is built: its release, and the libraries that it wants."""
    history.version_at(sha)
    for section in matrix.libraries(engine):
        history.tree(sha).text(section.wanted.file)


def check_out(clone: Path, matrix: Matrix, engine: Engine, commit: str, trees: Path) -> None:
    """What a build takes of a clone."""
    history = History(clone, engine)
    read_recipe(history, matrix, engine, history.resolve(commit).sha)
    with checked_out(clone, commit, trees, engine.unread):
        pass


class Watched:
    """A clone of one kind below `place`, made of a server's address, and what each step on it took."""

    def __init__(self, url: str, kind: str, place: Path) -> None:
        self.steps: list[Step] = []
        self._before = Held()
        self._clone, self._trees, self._matrix = place / f"{kind}.git", place / "trees", Matrix.load()
        self._do("clone", git, "clone", "--quiet", "--bare", *FILTERS[kind], "--", url, str(self._clone))

    def _do(self, name: str, action: Callable[Asked, Result], *words: Asked.args, **named: Asked.kwargs) -> Result:
        started = time.perf_counter()
        result = action(*words, **named)
        seconds = time.perf_counter() - started
        now = held(self._clone)
        self.steps.append(Step(name, now - self._before, seconds))
        self._before = now
        return result

    def bisect(self, commits: Sequence[str]) -> None:
        """Read what a bisection does; `commits`, of which each is built, begin with good and end with bad."""
        good, *between, bad = commits
        engine, line = self._do("history", read_line, self._clone, self._matrix, good, bad)
        for commit in (good, bad):
            self._do(f"tree of {commit}", check_out, self._clone, self._matrix, engine, commit, self._trees)
        self._do(f"diffs of {line.size - 1} candidates", read_touched, self._clone, line)
        for commit in between:
            self._do(f"tree of {commit}", check_out, self._clone, self._matrix, engine, commit, self._trees)
        self._do("changes of the culprit", History(self._clone, engine).describe, line.built(line.size - 1))


def measure(url: str, commits: Sequence[str], place: Path) -> dict[str, list[Step]]:
    """The steps of a bisection by the kind of clone, one after the other."""
    found = {}
    for kind in FILTERS:
        watched = Watched(url, kind, place)
        watched.bisect(commits)
        found[kind] = watched.steps
    return found


def total(of: Iterable[Step], name: str) -> Step:
    """All steps as one."""
    found = list(of)
    return Step(name, sum((step.gained for step in found), Held()), sum(step.seconds for step in found))


def table(whole: Sequence[Step], partial: Sequence[Step]) -> list[str]:
    """As Markdown, with what comes after the clone and all of it below."""
    lines = [
        "| | whole: sent | on disk | s | partial: sent | on disk | fetches | contents | s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    rows = list(zip(whole, partial, strict=True))
    rows += [
        (total(whole[1:], "after the clone"), total(partial[1:], "after the clone")),
        (total(whole, "total"), total(partial, "total")),
    ]
    for one, other in rows:
        cells = [one.name, *_bytes(one.gained), f"{one.seconds:.1f}", *_bytes(other.gained)]
        cells += [f"{other.gained.packs:,}", f"{other.gained.blobs:,}", f"{other.seconds:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _bytes(gained: Held) -> tuple[str, str]:
    return f"{gained.received / 1e6:,.2f}", f"{gained.on_disk / 1e6:,.2f}"


def main() -> None:
    """Make both clones, one after the other, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("commits", nargs="+", metavar="COMMIT", help="good, what is built between, bad")
    asked = parser.parse_args()
    if len(asked.commits) < 2:
        parser.error("name two commits at least")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        url = serve(asked.repository, place / "server.git")
        found = measure(url, asked.commits, place)
    print("\n".join(table(found["whole"], found["partial"])))
    print(json.dumps({kind: [asdict(step) for step in of] for kind, of in found.items()}))


if __name__ == "__main__":
    main()
