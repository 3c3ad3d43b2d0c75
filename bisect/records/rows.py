"""What the store gives of its tables: rows as dataclasses, and the columns that they are read from."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from cpubisect.base.plain import Plain
from cpubisect.records.purpose import Purpose
from cpubisect.search.question import Question
from cpubisect.search.verdict import Answer

Host = Mapping[str, str | int]
"""What is known of the host that a bisection's probes ran on."""


@dataclass(frozen=True)
class Repair(Plain):
    """One change made to the source so that it compiled: its `kind` (`patch`, `include`, …), the file, what and why."""

    kind: str
    path: str
    change: str
    why: str


@dataclass(frozen=True)
class BuildRow:
    """A finished build as stored; `artifact` is its digest, None unless built; `recipe` is plain data of whichever
    program made it; `sandbox` is what it was made in, or `none`; `origin` is the identity of the clone that it
    was made from, empty if that is not known; `started` is in epoch seconds; else as in builders.build.BuildResult."""

    id: int
    sha: str
    outcome: str
    artifact: str | None
    first_error: str
    cpu_seconds: float
    wall_seconds: float
    cache_hits: int
    cache_misses: int
    log: str
    diff: str
    recipe_key: str
    recipe: Mapping[str, Any]
    repairs: tuple[Repair, ...]
    compiled: tuple[str, ...]
    code: str
    sandbox: str = "none"
    origin: str = ""
    started: float = 0.0

    @property
    def same_as(self) -> str:
        """What the code is known by: its digest, or that of the whole artifact where only that is known."""
        return self.code or self.artifact or ""

    @property
    def variant(self) -> str:
        """The kind of a build that is no ordinary one, else empty."""
        return str(self.recipe.get("variant", ""))

    @property
    def name(self) -> str:
        """The commit's, with the kind of a build that is no ordinary one: of each kind there may be one."""
        return "-".join(filter(None, (self.sha, self.variant)))

    @classmethod
    def read(cls, row: sqlite3.Row) -> Self:
        """From the columns of its table that have the names of its fields."""
        repairs = tuple(Repair.from_json(repair) for repair in row["repairs"])
        return cls(**{**_named(cls, row), "repairs": repairs, "compiled": tuple(row["compiled"])})


@dataclass(frozen=True)
class ProbeRow:
    """A finished probe as stored; `error` says why it failed, `profile` maps functions to instructions/query (self
    cost), `attributed` the same with what libraries did for them (empty in stores of before that was kept); `started`
    is in epoch seconds; `note` is what must be known of its samples, empty if that is nothing."""

    id: int
    build: int
    test: str
    purpose: Purpose
    seconds: float
    error: str | None
    values: Mapping[str, tuple[float, ...]]
    profile: Mapping[str, float]
    variables: Mapping[str, str]
    commands: tuple[str, ...]
    started: float
    attributed: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class SuspectRow:
    """A candidate's place in the ranking of a path: `position` is its number there, `weight` its prior weight, and
    `because` maps each reason to the part of the weight that it stands for."""

    position: int
    sha: str
    weight: float
    because: Mapping[str, float]


@dataclass(frozen=True)
class ProbedBuild:
    """A commit whose build was probed, and what its code is known by: equal `code`, equal behaviour."""

    sha: str
    code: str


@dataclass(frozen=True)
class BisectionRow:
    """A bisection as stored; times are epoch seconds, `owner` identifies the process that runs it, if any."""

    id: int
    created: float
    finished: float | None
    state: str
    engine: str
    question: Question
    host: Host
    owner: Mapping[str, float] | None
    counter: str | None
    verdict: Answer | None

    @classmethod
    def read(cls, row: sqlite3.Row) -> Self:
        """From the columns of its table that have the names of its fields."""
        verdict = row["verdict"] and Answer.from_json(row["verdict"])
        return cls(**{**_named(cls, row), "question": Question.from_json(row["question"]), "verdict": verdict})


def _named(of: type, row: sqlite3.Row) -> dict[str, Any]:
    return {name: row[name] for name in _columns(of)}


def _columns(of: type) -> list[str]:
    return [own.name for own in fields(of)]


BUILD_COLUMNS = ", ".join(f"builds.{name}" for name in _columns(BuildRow))
BISECTION_COLUMNS = ", ".join(_columns(BisectionRow))
