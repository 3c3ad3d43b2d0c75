"""What the builds of a bisection tell of commits that were not built, and searches that make use of it."""

from collections.abc import Callable

from cpubisect.bench import Bench
from cpubisect.lab import Lab
from cpubisect.narrow import Narrower
from cpubisect.path import Path
from cpubisect.relevance import Evidence
from cpubisect.route import joined
from cpubisect.search import Done, State, expected_builds


def search(
    lab: Lab,
    bench: Bench,
    narrower: Narrower,
    path: Path,
    record: Callable[[Path], None],
    min_step: float | None = None,
) -> tuple[Path, Done, State]:
    """Search a path whose ends differ, in as few classes as its builds allow; the path with its final classes.

    If a build between the ends was made from a file that had been taken for unused, the search goes on with more
    classes; what was measured stands. A path that is one single class is searched commit by commit, since its ends do
    differ. Raises Unobservable if an end can't be measured.
    """
    whole = path if path.size > 1 else path.one_by_one(0)
    for number in (0, whole.size - 1):
        lab.build(whole.built(number))
    joining = _Joining(bench, whole)
    chosen = joining.path()
    if chosen.size < whole.size:
        bench.watch(
            "joined",
            joined=whole.size - chosen.size,
            classes=chosen.size - 1,
            expected_builds=expected_builds(chosen.size),
            inside=list(path.inside),
        )
    while True:
        record(chosen)
        done, state = narrower.narrow(chosen, min_step)
        again = joining.path()
        if again.classes == chosen.classes:
            return chosen, done, state
        chosen = again


class _Joining:
    """A path with classes joined by what its ends, which are built, and all else that was built were compiled from.

    What the clone says does not change and is read once; without a build of each end that tells, nothing is joined.
    """

    def __init__(self, bench: Bench, path: Path) -> None:
        self._bench = bench
        self._path = path
        self._files: frozenset[str] = frozenset()
        self._changes: dict[str, tuple[str, ...]] = {}
        ends = (path.built(0), path.built(path.size - 1))
        if self._compiled().keys() >= set(ends):
            trees = [bench.history.files(sha) for sha in ends]
            others = {name for tree in trees for name, plain in tree.items() if not plain}
            self._files = frozenset(name for tree in trees for name in tree) - others
            pairs = [(first, path.parents[first]) for first, *_ in path.classes[1:]]
            self._changes = dict(bench.history.changes(pairs))

    def path(self) -> Path:
        """The path as the builds made so far allow."""
        compiled = frozenset(name for names in self._compiled().values() for name in names)
        found = joined(self._bench.engine, self._path, self._changes, Evidence(compiled, self._files))
        return found if found.size > 1 else self._path

    def _compiled(self) -> dict[str, list[str]]:
        return {
            build.sha: build.compiled for build, _ in self._bench.store.builds(self._bench.bisection) if build.compiled
        }
