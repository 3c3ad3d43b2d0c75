"""The prior weights of a path's candidates: reads once what each changes, and weighs them by the profiles of any two
measured commits."""

from collections.abc import Mapping

from cpubisect.bench import Bench
from cpubisect.costs import Cost
from cpubisect.path import Path
from cpubisect.repository import GitError, Repository
from cpubisect.sources import changes, definitions
from cpubisect.store import SuspectRow
from cpubisect.suspects import Suspicion, Touch, suspicions, touch

MAIN = "main"
"""Under this name the path from good to bad is in the store; the path inside a merge is there under the merge's sha."""

SUSPECTS_TOLD = 5
REASONS_TOLD = 3


class Prior:
    """What the diffs of one path touch; of a class of commits its first counts, the others cannot change the binary."""

    def __init__(self, bench: Bench, path: Path) -> None:
        """Read all diffs. Where the clone lacks objects there is that much less evidence."""
        self._bench = bench
        self._path = path
        self._direction = bench.question.find.direction
        self._shas = [path.first(number) for number in range(1, path.size)]
        repository = Repository(bench.history.path)
        pairs = [(sha, path.parents[sha]) for sha in self._shas]
        self._touched: list[Touch] = []
        self._defined: dict[str, frozenset[str]] = {}
        try:
            self._touched = [touch(change.lines, change.files) for change in changes(repository, pairs)]
            files = {file for touched in self._touched for file in touched.files}
            self._defined = definitions(repository, path.built(path.size - 1), files)
        except GitError:
            missing = len(self._shas) - len(self._touched)
            self._touched += [Touch(frozenset(), frozenset())] * missing

    def weights(self, low: int, high: int, before: Cost, after: Cost) -> tuple[float, ...]:
        """The weights of the numbers `low` + 1 to `high`, which add up to 1, by the costs of `low` and `high`."""
        return tuple(suspicion.weight for suspicion in self.suspicions(low, high, before, after))

    def suspicions(self, low: int, high: int, before: Cost, after: Cost) -> list[Suspicion]:
        """The weights of the numbers `low` + 1 to `high` with their reasons."""
        return suspicions(self._touched[low:high], before, after, self._direction, self._defined)

    def record(self, before: Cost, after: Cost) -> None:
        """Store the ranking of the whole path, by the costs of its ends, and tell of the strongest suspects."""
        found = self.suspicions(0, self._path.size - 1, before, after)
        ranked = sorted(zip(self._shas, found, strict=True), key=lambda pair: -pair[1].weight)
        top = [
            {"sha": sha, "weight": suspicion.weight, "because": strongest(suspicion.because)[:REASONS_TOLD]}
            for sha, suspicion in ranked[:SUSPECTS_TOLD]
            if suspicion.because
        ]
        self._bench.watch("suspects", top=top, inside=list(self._path.inside))
        name = self._path.inside[-1] if self._path.inside else MAIN
        recorded = {sha: n for _, n, sha, _, _ in self._bench.store.candidates(self._bench.bisection, name)}
        # A class that is looked at commit by commit is no path of its own in the store.
        if tuple(recorded) == self._path.commits():
            rows = [
                SuspectRow(recorded[sha], sha, suspicion.weight, suspicion.because)
                for sha, suspicion in zip(self._shas, found, strict=True)
            ]
            self._bench.store.set_suspects(self._bench.bisection, name, rows)


def strongest(because: Mapping[str, float]) -> list[str]:
    """The reasons of a suspicion, the one with the greatest part first."""
    return sorted(because, key=lambda reason: (-because[reason], reason))
