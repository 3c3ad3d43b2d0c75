"""The prior weights of a line's candidates: reads once what each changes, and weighs them by the profiles of any two
measured commits."""

from pathlib import Path

from cpubisect.history.diffs import definitions, source_diffs
from cpubisect.history.repository import GitError, Repository
from cpubisect.run.measuring import Lab, Touched
from cpubisect.search import events
from cpubisect.search.costs import Cost
from cpubisect.search.line import Line
from cpubisect.search.suspects import Suspicion, Touch, strongest, suspicions, touch

SUSPECTS_TOLD = 5
REASONS_TOLD = 3


class Prior:
    """What the diffs of one line touch; of a class of commits its first counts, the others cannot change the binary."""

    def __init__(self, lab: Lab, line: Line) -> None:
        """Read all diffs."""
        self._lab = lab
        self._line = line
        self._direction = lab.question.find.direction
        self._touched = lab.touched(line)

    def weights(self, low: int, high: int, before: Cost, after: Cost) -> tuple[float, ...]:
        """The weights of the numbers `low` + 1 to `high`, which add up to 1, by the costs of `low` and `high`."""
        return tuple(suspicion.weight for suspicion in self.suspicions(low, high, before, after))

    def suspicions(self, low: int, high: int, before: Cost, after: Cost) -> list[Suspicion]:
        """The weights of the numbers `low` + 1 to `high` with their reasons."""
        return suspicions(self._touched.by[low:high], before, after, self._direction, self._touched.defined)

    def record(self, before: Cost, after: Cost) -> None:
        """Have the ranking of the whole line remembered, by the costs of its ends, and tell of the strongest
        suspects."""
        shas = [self._line.first(number) for number in range(1, self._line.size)]
        found = dict(zip(shas, self.suspicions(0, self._line.size - 1, before, after), strict=True))
        ranked = sorted(found.items(), key=lambda pair: -pair[1].weight)
        top = [
            events.Suspected(sha, suspicion.weight, tuple(strongest(suspicion.because)[:REASONS_TOLD]))
            for sha, suspicion in ranked[:SUSPECTS_TOLD]
            if suspicion.because
        ]
        self._lab.tell(events.Suspects(top=tuple(top), inside=self._line.inside))
        self._lab.record_suspects(self._line, found)


def read_touched(clone: Path, line: Line) -> Touched:
    """What the first commit of each class of a line touches, by the diffs in a clone; where the clone lacks objects
    there is that much less evidence."""
    repository = Repository(clone)
    pairs = [(sha, line.parents[sha]) for sha in (line.first(number) for number in range(1, line.size))]
    touched: list[Touch] = []
    defined: dict[str, frozenset[str]] = {}
    try:
        touched = [touch(diff.lines, diff.files) for diff in source_diffs(repository, pairs)]
        files = {file for one in touched for file in one.files}
        defined = definitions(repository, line.built(line.size - 1), files)
    except GitError:
        missing = len(pairs) - len(touched)
        touched += [Touch(frozenset(), frozenset())] * missing
    return Touched(tuple(touched), defined)
