"""The answer of a bisection: its kinds, what each carries, and its form as plain data."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from cpubisect.stats import Step
from cpubisect.variables import ChangedVariable


class Kind(StrEnum):
    """What a verdict says.

    `culprit`: one or more commits, each confirmed against its parent. `one-of`: the step is among these commits,
    which cannot be told apart. `no-regression`: the ends don't differ by what could have been seen. `improvement`:
    the ends differ the other way. `fork-point`: the difference is on the good side's own branch. `changed-default`:
    a server default changed, not the code. `unbuildable`: an end cannot be built or probed.
    """

    CULPRIT = "culprit"
    ONE_OF = "one-of"
    NO_REGRESSION = "no-regression"
    IMPROVEMENT = "improvement"
    FORK_POINT = "fork-point"
    CHANGED_DEFAULT = "changed-default"
    UNBUILDABLE = "unbuildable"


@dataclass(frozen=True)
class FunctionChange:
    """One function's self cost in instructions per query, before and after."""

    function: str
    before: float
    after: float


@dataclass(frozen=True)
class ChangedFile:
    """Lines that a commit added to one file and removed from it; both None for a binary file."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True)
class Culprit:
    """A commit whose step is confirmed: it and its parent were built and measured.

    `steps` maps a metric to the change from parent to commit; `share` is its part of the whole difference between
    the ends, as a ratio; `inside` names the merges it came in by, outermost first; `probability` is how sure the search
    was of the commit before it was confirmed (None on an exact metric, where there is no doubt). `message` is the whole
    commit message; `files` are what it changed against its first parent, the most changed first, and `more_files` says
    how many were left out; `variables` are the server variables that changed from the parent's server to its own.
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


@dataclass(frozen=True)
class Group:
    """Commits that can't be told apart: the step came after `after` and is there at `until`; `why` they can't."""

    after: str
    until: str
    commits: tuple[str, ...]
    percent: float
    why: str
    inside: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChangedDefault:
    """A server variable whose default differs between the ends and explains the step."""

    variable: str
    good: str
    bad: str


@dataclass(frozen=True)
class Verdict:
    """The answer: `ends` is the step from good to bad per metric; `smallest_visible` is, per metric, the smallest
    step in percent that would have been seen; `remainder` is what the steps found leave unexplained, in percent of
    the good end; `summary` is the answer in one sentence and `notes` is what else must be known."""

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

    def to_json(self) -> dict[str, Any]:
        """As plain data; an unbounded figure becomes None."""
        plain: dict[str, Any] = finite(asdict(self))
        plain["kind"] = self.kind.value
        return plain


MOST_TELLING = (
    Kind.CULPRIT,
    Kind.ONE_OF,
    Kind.CHANGED_DEFAULT,
    Kind.FORK_POINT,
    Kind.IMPROVEMENT,
    Kind.UNBUILDABLE,
    Kind.NO_REGRESSION,
)
"""The kind of an answer to several tests is the first of these that one of them has."""


def combined(verdicts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The answer to a question with several tests as plain data, from those to each test, as plain data by its name."""
    kinds = [Kind(verdict["kind"]) for verdict in verdicts.values()]
    return {
        "kind": min(kinds, key=MOST_TELLING.index).value,
        "summary": "; ".join(f"{test}: {verdict['kind']}: {verdict['summary']}" for test, verdict in verdicts.items()),
        "tests": dict(verdicts),
    }


def of_test(verdict: Mapping[str, Any] | None, test: str) -> dict[str, Any]:
    """From an answer as plain data, what it says of one test; empty before there is anything to say."""
    told: Mapping[str, Any] = verdict or {}
    return dict(told["tests"].get(test, {}) if "tests" in told else told)


def finite(data: Any) -> Any:
    """The same data with infinities, which JSON does not know, as None."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return data
