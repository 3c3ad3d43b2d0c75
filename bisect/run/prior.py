"""The prior weights of a line's candidates: reads once what each changes, and weighs them by the profiles of any two
measured commits."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cpubisect.history.diffs import Definition, definitions, messages, source_diffs, variable_definitions
from cpubisect.history.repository import GitError, Repository
from cpubisect.run.measuring import Lab, Touched
from cpubisect.search import events
from cpubisect.search.claims import Touch, touch
from cpubisect.search.costs import Cost
from cpubisect.search.line import Line
from cpubisect.search.suspects import Suspicion, strongest, suspicions
from cpubisect.search.variables import Setting

SUSPECTS_TOLD = 5
REASONS_TOLD = 3


class Prior:
    """What the diffs of one line touch; of a class of commits its first counts, the others cannot change the binary."""

    def __init__(self, lab: Lab, line: Line, variables: Mapping[str, float]) -> None:
        """Read all diffs; `variables` are those whose changed values make the step, each with its part as a ratio."""
        self._lab = lab
        self._line = line
        self._direction = lab.question.find.direction
        self._touched = lab.touched(line, variables)

    def weights(self, low: int, high: int, before: Cost, after: Cost) -> tuple[float, ...]:
        """The weights of the numbers `low` + 1 to `high`, which add up to 1, by the costs of `low` and `high`."""
        return tuple(suspicion.weight for suspicion in self.suspicions(low, high, before, after))

    def suspicions(self, low: int, high: int, before: Cost, after: Cost) -> list[Suspicion]:
        """The weights of the numbers `low` + 1 to `high` with their reasons."""
        touched = self._touched
        return suspicions(touched.by[low:high], before, after, self._direction, touched.defined, touched.settings)

    def record(self, before: Cost, after: Cost, *, keep: bool = True) -> None:
        """Tell of the strongest suspects of the whole line, by the costs of its ends, and have the ranking remembered
        if it is to be kept."""
        shas = [self._line.first(number) for number in range(1, self._line.size)]
        found = dict(zip(shas, self.suspicions(0, self._line.size - 1, before, after), strict=True))
        ranked = sorted(found.items(), key=lambda pair: -pair[1].weight)
        top = [
            events.Suspected(sha, suspicion.weight, tuple(strongest(suspicion.because)[:REASONS_TOLD]))
            for sha, suspicion in ranked[:SUSPECTS_TOLD]
            if suspicion.because
        ]
        self._lab.tell(events.Suspects(top=tuple(top), inside=self._line.inside))
        if keep:
            self._lab.record_suspects(self._line, found)


def read_touched(clone: Path, line: Line) -> Touched:
    """What the first commit of each class of a line touches, by the diffs in a clone; of a graph's merges nothing.

    Where the clone lacks objects there is that much less evidence."""
    repository = Repository(clone)
    firsts = [line.first(number) for number in range(1, line.size)]
    pairs = [(sha, line.parents[sha]) for sha in firsts if sha in line.parents]
    if line.of_graph:
        pairs = [(sha, parent) for sha, parent in pairs if sha not in line.merges]
    touched: dict[str, Touch] = {}
    defined: dict[str, frozenset[str]] = {}
    with suppress(GitError):
        told = messages(repository, firsts)
        for diff in source_diffs(repository, pairs):
            touched[diff.sha] = touch(diff.lines, diff.files, told.get(diff.sha, ""))
        files = {file for one in touched.values() for file in one.files}
        defined = definitions(repository, line.built(line.size - 1), files)
    nothing = Touch(frozenset(), frozenset())
    return Touched(tuple(touched.get(sha, nothing) for sha in firsts), defined)


def read_settings(clone: Path, line: Line, variables: Mapping[str, float]) -> tuple[Setting, ...]:
    """How variables, each of which makes a part of the step, are defined at a line's ends; none where the clone lacks
    objects."""
    repository, ends = Repository(clone), (line.built(0), line.built(line.size - 1))
    try:
        return _settings([variable_definitions(repository, end, variables) for end in ends], variables)
    except GitError:
        return ()


def _settings(found: Sequence[Mapping[str, Definition]], variables: Mapping[str, float]) -> tuple[Setting, ...]:
    """Variables with their definitions at both ends."""
    return tuple(
        Setting(
            name,
            share,
            frozenset().union(*(own[name].words for own in found)),
            frozenset().union(*(own[name].files for own in found)),
        )
        for name, share in variables.items()
    )
