"""PURE: what is known along the line of commits from good to bad, for a chart of it.

A position counts commits since good, which is at 0; costs are in the metric's own unit per query.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A measured commit: the `mean` of its samples with its 99 % interval, None where there is but one sample."""

    position: int
    sha: str
    subject: str
    mean: float
    low: float | None
    high: float | None
    samples: int


@dataclass(frozen=True)
class Range:
    """The positions from `first` to `last`, and what is to be said of them: why they cannot be built, say."""

    first: int
    last: int
    why: str = ""


@dataclass(frozen=True)
class Interval:
    """The step is thought to be after position `low` and not after `high`, with `probability` where that is known."""

    low: int
    high: int
    probability: float | None = None

    @property
    def per_commit(self) -> float | None:
        """The probability of each commit in it."""
        return None if self.probability is None else self.probability / max(1, self.high - self.low)


@dataclass(frozen=True)
class Mark:
    """A culprit and its step in percent; one inside a merge stands where the merge is."""

    position: int
    sha: str
    subject: str
    percent: float


@dataclass(frozen=True)
class Axis:
    """One test of one bisection along its commits.

    `size` is the position of bad; with a `fork`, good is on another branch, and position 0 is where the branches
    parted; `good_cost` and `bad_cost` are None before they are measured; `points` are in order of position; `classes`
    are runs of commits known to share one binary; `intervals` are where the search thinks that the step is, or, in the
    end, what it could not tell apart; `doing` says what is happening now, at `doing_at` if that is on this line, and is
    empty if nothing is.
    """

    bisection: int
    engine: str
    test: str
    state: str
    metric: str
    size: int
    good: str
    bad: str
    good_cost: float | None
    bad_cost: float | None
    fork: bool = False
    points: tuple[Point, ...] = ()
    classes: tuple[Range, ...] = ()
    unbuildable: tuple[Range, ...] = ()
    intervals: tuple[Interval, ...] = ()
    culprits: tuple[Mark, ...] = ()
    doing: str = ""
    doing_at: int | None = None
