"""What the builds of a bisection tell of commits that were not built, and searches that make use of it."""

from collections.abc import Callable, Sequence

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
    chosen = _joined(bench, whole)
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
        again = _joined(bench, whole)
        if again.classes == chosen.classes:
            return chosen, done, state
        chosen = again


def _joined(bench: Bench, path: Path) -> Path:
    """The path with classes joined by what its ends, and all else that was built, were compiled from."""
    evidence = _evidence(bench, (path.built(0), path.built(path.size - 1)))
    found = joined(bench.history, bench.engine, path, evidence)
    return found if found.size > 1 else path


def _evidence(bench: Bench, ends: Sequence[str]) -> Evidence:
    told = {build.sha: build.compiled for build, _ in bench.store.builds(bench.bisection) if build.compiled}
    if not all(sha in told for sha in ends):
        return Evidence()
    trees = [bench.history.files(sha) for sha in ends]
    others = {path for tree in trees for path, plain in tree.items() if not plain}
    return Evidence(
        compiled=frozenset(path for paths in told.values() for path in paths),
        files=frozenset(path for tree in trees for path in tree) - others,
    )
