"""What a bisection works with, the same from its first build to its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from cpubisect.builders.build import Toolchain
from cpubisect.builders.matrix import Matrix
from cpubisect.engine import Engine
from cpubisect.history import History
from cpubisect.paths import Home
from cpubisect.question import Question
from cpubisect.store import Store
from cpubisect.workloads.probe import Counter, Test


class Watch(Protocol):
    """Who is told what happens, as it happens."""

    def __call__(self, kind: str, **data: Any) -> None:
        """Take one event of the bisection's journal."""


@dataclass(frozen=True)
class Bench:
    """What does not change during a bisection: the question with everything it needs to be answered.

    `tests` are all of the question's, `test` is the one that is being answered.
    """

    bisection: int
    question: Question
    engine: Engine
    test: Test
    tests: Sequence[Test]
    matrix: Matrix
    toolchains: Sequence[Toolchain]
    counter: Counter
    history: History
    home: Home
    store: Store
    watch: Watch

    @property
    def several(self) -> bool:
        """Whether the question has more than one test."""
        return len(self.tests) > 1

    def only(self, test: Test) -> "Bench":
        """The same for one of its tests; where there are several, its events say which it is."""
        if not self.several:
            return self
        watch = self.watch.watch if isinstance(self.watch, _Named) else self.watch
        return replace(self, test=test, watch=_Named(watch, test.name))


@dataclass(frozen=True)
class _Named:
    """Adds the test's name to each event."""

    watch: Watch
    test: str

    def __call__(self, kind: str, **data: Any) -> None:
        self.watch(kind, **{**data, "test": self.test})
