"""What one bisection asks, resolved to commits; stored as it is, so that a resumed run asks exactly the same."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from cpubisect.workloads.probe import Counter


class Find(StrEnum):
    """Which way the wanted step goes."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"

    @property
    def direction(self) -> int:
        """+1 if the wanted step raises the cost, else -1."""
        return 1 if self is Find.REGRESSION else -1


class MetricChoice(StrEnum):
    """What to search on: `auto` takes instructions where the ends differ in them, else CPU time."""

    AUTO = "auto"
    INSTRUCTIONS = "instructions"
    CPU = "cpu"


@dataclass(frozen=True)
class Question:
    """`good` and `bad` are the names given, `good_sha` and `bad_sha` what they resolved to; `repository` is a path.

    `parameters` are, per test, its settings with those of the user's, `given`, that it knows applied; `min_step` is
    the smallest step wanted, in percent, or None for the default; `toolchain` is a name of the matrix or None for its
    preference; `matrix` is the path of the compiler matrix in use; `jobs` compile at once; `counter` is how
    instructions are to be counted, None for the best that the host has.
    """

    engine: str
    repository: str
    good: str
    bad: str
    good_sha: str
    bad_sha: str
    tests: tuple[str, ...]
    matrix: str
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    metric: MetricChoice = MetricChoice.AUTO
    find: Find = Find.REGRESSION
    min_step: float | None = None
    toolchain: str | None = None
    jobs: int = 2
    counter: Counter | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data for the store: with one test, `test` and its `parameters`; with several, `tests` too, `test`
        being their names for people and `parameters` a map from test to settings."""
        plain = asdict(self)
        plain["test"] = ", ".join(self.tests)
        if len(self.tests) == 1:
            del plain["tests"]
            plain["parameters"] = dict(self.parameters.get(self.tests[0], {}))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        fields = {name: value for name, value in data.items() if name != "test"}
        fields["tests"] = tuple(data["tests"]) if "tests" in data else (data["test"],)
        if "tests" not in data:
            fields["parameters"] = {data["test"]: data["parameters"]}
        fields |= {"metric": MetricChoice(data["metric"]), "find": Find(data["find"])}
        return cls(**{**fields, "counter": Counter(data["counter"]) if data.get("counter") else None})
