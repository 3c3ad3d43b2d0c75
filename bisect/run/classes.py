"""Which commits are searched as one: lines from the history's candidates, and what builds tell of those in between."""

from collections.abc import Mapping, Sequence

from cpubisect.history.candidates import Candidates
from cpubisect.history.relevance import Evidence, Irrelevant
from cpubisect.records.purpose import Purpose
from cpubisect.run.crew import begin_all
from cpubisect.run.measuring import Lab
from cpubisect.run.strategies.exact import ExactSearch
from cpubisect.run.strategies.loop import Searched, carry_out
from cpubisect.run.strategies.noisy import NoisySearch
from cpubisect.run.strategies.together import carry_out_together
from cpubisect.search import events
from cpubisect.search.ends import Regime, Yardstick
from cpubisect.search.exact import expected_builds
from cpubisect.search.line import Line


def main_line(lab: Lab, candidates: Candidates) -> Line:
    """The line from where the candidates start to bad, commits that cannot change the binary joined to classes."""
    return _line(lab, candidates, ())


def merged_lines(lab: Lab, merge: str, parent: str, inside: tuple[str, ...]) -> list[Line]:
    """The lines a merge brought to `parent`, each from where it left `parent`'s history to the merged head."""
    return [_line(lab, line, (*inside, merge)) for line in lab.history.inside_merge(merge, parent)]


def _line(lab: Lab, candidates: Candidates, inside: tuple[str, ...]) -> Line:
    commits = candidates.commits
    return Line(
        classes=lab.history.classes(candidates, lab.irrelevant),
        parents={commit.sha: commit.parent for commit in commits},
        subjects={commit.sha: commit.subject for commit in commits},
        merges=frozenset(commit.sha for commit in commits if commit.is_merge),
        inside=inside,
    )


def search(lab: Lab, line: Line, yardstick: Yardstick) -> Searched:
    """Search a line whose ends differ, in as few classes as its builds allow; what comes back has its final classes.

    If a build between the ends was made from a file that had been taken for unused, the search goes on with more
    classes; what was measured stands. A line that is one single class is searched commit by commit, since its ends do
    differ. Raises Unobservable if an end can't be measured.
    """
    whole = line if line.size > 1 else line.one_by_one(0)
    begin_all(lab.crew, (whole.built(0), whole.built(whole.size - 1)))
    for number in (0, whole.size - 1):
        lab.build(whole.built(number))
    joining = _Joining(lab, whole)
    chosen = joining.line()
    if chosen.size < whole.size:
        lab.tell(
            events.Joined(
                joined=whole.size - chosen.size,
                classes=chosen.size - 1,
                expected_builds=expected_builds(chosen.size),
                inside=line.inside,
            )
        )
        _withdraw_joined(lab, whole, chosen)
    while True:
        lab.record_line(chosen)
        searched = narrow(lab, chosen, yardstick)
        again = joining.line()
        if again.classes == chosen.classes:
            return searched
        chosen = again


def _withdraw_joined(lab: Lab, whole: Line, chosen: Line) -> None:
    """End what was begun before it was known that it shares a binary with another: a search that has not begun asks for
    no such commit."""
    built = {chosen.built(number) for number in range(chosen.size)}
    ends = (chosen.built(0), chosen.built(chosen.size - 1))
    if not any(sha in built for sha, _ in lab.series(Purpose.SEARCH) if sha not in ends):
        alike = {whole.built(number) for number in range(whole.size)} - built
        lab.crew.withdraw(sorted(alike & lab.crew.begun().keys()), "it shares a binary with another")


def narrow(lab: Lab, line: Line, yardstick: Yardstick) -> Searched:
    """Search a line in the classes that it has; raises Unobservable if an end can't be measured."""
    strategy = (NoisySearch if yardstick.regime is Regime.NOISY else ExactSearch)(lab, line, yardstick)
    return (carry_out_together if lab.crew.builders > 1 else carry_out)(lab, line, strategy)


def joined(irrelevant: Sequence[str], line: Line, changes: Mapping[str, Sequence[str]], evidence: Evidence) -> Line:
    """The line with those commits in their predecessors' classes that touch only what no build was compiled from.

    `changes` maps the first commit of each class but the first to the paths it touches.
    """
    matches = Irrelevant(irrelevant).matches
    unchanged = {
        sha for sha, changed in changes.items() if all(matches(name) or evidence.unused(name) for name in changed)
    }
    return line.joined(unchanged)


class _Joining:
    """A line with classes joined by what its ends, which are built, and all else that was built were compiled from.

    What the clone says does not change and is read once; without a build of each end that tells, nothing is joined.
    """

    def __init__(self, lab: Lab, line: Line) -> None:
        self._lab = lab
        self._line = line
        self._files: frozenset[str] = frozenset()
        self._changes: dict[str, tuple[str, ...]] = {}
        ends = (line.built(0), line.built(line.size - 1))
        if self._compiled().keys() >= set(ends):
            trees = [lab.history.files(sha) for sha in ends]
            others = {name for tree in trees for name, plain in tree.items() if not plain}
            self._files = frozenset(name for tree in trees for name in tree) - others
            pairs = [(first, line.parents[first]) for first, *_ in line.classes[1:]]
            self._changes = dict(lab.history.changes(pairs))

    def line(self) -> Line:
        """The line as the builds made so far allow."""
        compiled = frozenset(name for names in self._compiled().values() for name in names)
        found = joined(self._lab.irrelevant, self._line, self._changes, Evidence(compiled, self._files))
        return found if found.size > 1 else self._line

    def _compiled(self) -> dict[str, tuple[str, ...]]:
        return {build.sha: build.compiled for build, _ in self._lab.builds() if build.compiled}
