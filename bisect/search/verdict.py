"""PURE: the answer of a bisection: to each of its tests a verdict, of one of several kinds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from cpubisect.base.plain import Plain
from cpubisect.search.ends import ChangedVariable
from cpubisect.search.stats import Step


class Kind(StrEnum):
    """What a verdict says.

    `culprit`: one or more commits, each confirmed against its parent. `one-of`: the step is among these commits,
    which cannot be told apart. `no-regression`: the ends don't differ by what could have been seen. `improvement`:
    the ends differ the other way. `fork-point`: the difference is on the good side's own branch. `changed-default`:
    a server default changed, not the code; the culprits are the commits that did it. `layout`: where code lies in the
    binaries makes the difference, not what it does. `unbuildable`: an end cannot be built or probed.
    """

    CULPRIT = "culprit"
    ONE_OF = "one-of"
    NO_REGRESSION = "no-regression"
    IMPROVEMENT = "improvement"
    FORK_POINT = "fork-point"
    CHANGED_DEFAULT = "changed-default"
    LAYOUT = "layout"
    UNBUILDABLE = "unbuildable"


class Side(StrEnum):
    """On which way from the fork point something is: to bad, the only one where there is no fork, or to good."""

    BAD = "bad"
    GOOD = "good"


@dataclass(frozen=True)
class Sides(Plain):
    """Where the lines of good and bad parted, at `fork`, and the steps from there to `good` and to `bad`, in the metric
    that was searched on.

    `good_share` and `bad_share` are what of the whole difference is on each side, as ratios that add up to 1: what good
    saved counts as much as what bad added, and a side that lessens the difference is below 0. `min_step` is the
    smallest step looked for, in percent; `searched` says whether good's side was searched too.
    """

    fork: str
    good: Step
    bad: Step
    good_share: float
    bad_share: float
    min_step: float
    searched: bool = False

    @classmethod
    def of(cls, fork: str, good: Step, bad: Step, min_step: float) -> Self:
        """From the two steps, which must not be alike."""
        apart = bad.percent - good.percent
        return cls(fork, good, bad, -good.percent / apart, bad.percent / apart, min_step)

    def sentence(self, good: str, bad: str, metric: str) -> str:
        """What is on which side, ends being called as they were asked for."""
        return (
            f"since the fork point {self.fork[:12]} {bad} changed by {self.bad.percent:+.2f} % and {good} by "
            f"{self.good.percent:+.2f} % {metric}: {_part(self.bad_share)} of the difference is on {bad}'s side and "
            f"{_part(self.good_share)} on {good}'s"
        )


def _part(share: float) -> str:
    # Rounding must not make a zero with a sign.
    return f"{round(share * 100) or 0} %"


@dataclass(frozen=True)
class FunctionChange(Plain):
    """One function's self cost in instructions per query, before and after."""

    function: str
    before: float
    after: float


@dataclass(frozen=True)
class ChangedFile(Plain):
    """Lines that a commit added to one file and removed from it; both None for a binary file."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True)
class Culprit(Plain):
    """A commit whose step is confirmed: it and its parent were built and measured.

    `steps` maps a metric to the change from parent to commit; `share` is its part of the whole difference between
    the ends, as a ratio; `inside` names the merges it came in by, outermost first; `probability` is how likely the
    step is there by all readings, those that confirm it too (None on an exact metric, where there is no doubt).
    `message` is the whole commit message; `files` are what it changed against its first parent, the most changed
    first, and `more_files` says how many were left out; `variables` are the server variables that changed from the
    parent's server to its own. `release` is its tag if it is a tagged release itself, and `parent_release` its
    parent's; `side` says on which way from the fork point it lies, if there is one.
    """

    sha: str
    parent: str
    subject: str
    author: str
    date: str
    steps: Mapping[str, Step]
    functions: tuple[FunctionChange, ...] = ()
    inside: tuple[str, ...] = ()
    share: float | None = None
    note: str = ""
    probability: float | None = None
    message: str = ""
    files: tuple[ChangedFile, ...] = ()
    more_files: int = 0
    variables: tuple[ChangedVariable, ...] = ()
    release: str = ""
    parent_release: str = ""
    side: Side = Side.BAD

    @property
    def called(self) -> str:
        """What it is called in a sentence: a release by its tag, any other by its subject."""
        return f"release {self.release} ({self.sha[:12]})" if self.release else f"{self.sha[:12]} {self.subject}"

    @property
    def after(self) -> str:
        """What its step is measured against."""
        return self.parent_release or "its parent"

    def noted(self, told: str) -> Self:
        """The same with a note more, unless that is empty."""
        return replace(self, note="; ".join(filter(None, (self.note, told))))


@dataclass(frozen=True)
class Group(Plain):
    """Commits that can't be told apart: the step came after `after` and is there at `until`; `why` they can't;
    `side` says on which way from the fork point they lie, if there is one."""

    after: str
    until: str
    commits: tuple[str, ...]
    percent: float
    why: str
    inside: tuple[str, ...] = ()
    side: Side = Side.BAD


@dataclass(frozen=True)
class ChangedDefault(Plain):
    """A server variable whose default differs between the ends and explains the step; the `commit` that changed it, if
    one was found, and by how many percent that differs from its parent when its server has the parent's value."""

    variable: str
    good: str
    bad: str
    commit: str = ""
    pinned: float | None = None


@dataclass(frozen=True)
class Verdict(Plain):
    """The answer: `ends` is the step from good to bad per metric; `smallest_visible` is, per metric, the smallest
    step in percent that would have been seen; `remainder` is what the steps found leave unexplained, in percent of
    the good end; `summary` is the answer in one sentence and `notes` is what else must be known. Where good is on a
    branch of its own, `sides` says what of the difference is on which side, and `remainder` is a percentage of the fork
    point's cost."""

    kind: Kind
    summary: str
    metric: str = ""
    ends: Mapping[str, Step] = field(default_factory=dict)
    culprits: tuple[Culprit, ...] = ()
    groups: tuple[Group, ...] = ()
    defaults: tuple[ChangedDefault, ...] = ()
    smallest_visible: Mapping[str, float] = field(default_factory=dict)
    remainder: float | None = None
    notes: tuple[str, ...] = ()
    sides: Sides | None = None

    @property
    def found(self) -> tuple[tuple[Culprit, Step], ...]:
        """The culprits, each with its step in the metric that was searched on."""
        return tuple((culprit, culprit.steps[self.metric]) for culprit in self.culprits)


MOST_TELLING = (
    Kind.CULPRIT,
    Kind.ONE_OF,
    Kind.CHANGED_DEFAULT,
    Kind.FORK_POINT,
    Kind.LAYOUT,
    Kind.IMPROVEMENT,
    Kind.UNBUILDABLE,
    Kind.NO_REGRESSION,
)
"""The kind of an answer to several tests is the first of these that one of them has."""


@dataclass(frozen=True)
class Answer(Plain):
    """What a bisection says: `tests` maps each test to its verdict, while it runs only those that are done; `kind` is
    that of the most telling of them, and `summary` holds those of all."""

    kind: Kind
    summary: str
    tests: Mapping[str, Verdict]

    @classmethod
    def of(cls, verdicts: Mapping[str, Verdict], asked: Sequence[str]) -> Self:
        """From the verdicts there are, by test, of a question that `asked` for these tests."""
        said = [
            f"{name}{found.kind}: {found.summary}" if (name := prefix(test, asked)) else found.summary
            for test, found in verdicts.items()
        ]
        kind = min((found.kind for found in verdicts.values()), key=MOST_TELLING.index)
        return cls(kind, "; ".join(said), dict(verdicts))


def prefix(test: str, tests: Sequence[str]) -> str:
    """What stands before what is said of one of some tests: its name and a colon, nothing if it is the only one."""
    return f"{test}: " if len(tests) > 1 else ""
