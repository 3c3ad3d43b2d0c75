"""PURE: what one comparison asks, resolved to commits; stored as it is, so that a resumed run asks exactly the same."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.metrics import Counter, Simulation
from cpubisect.base.plain import Plain
from cpubisect.base.sandbox.policy import Wish

LEAST_SIDES, MOST_SIDES = 2, 12
"""Versions of one comparison: more columns than a table is read with, and hours of probes."""

ROUNDS = 5
"""Probes of each version and test by default: with 3, the 99 % interval of CPU time on a busy host of two cores went
from a tenth to ten times (4 degrees of freedom, at best)."""

MOST_ROUNDS = 100
"""Probes of each version and test, at most."""

COUNTED_ROUNDS = 3
"""Instructions are counted in the first so many rounds only: counts agree to a hundredth of a percent, the clock does
not, and counting takes most of a probe."""

GROUP_WORDS = {
    "point": ("point queries",),
    "range": ("range queries", "range queries without aggregation"),
    "aggregation": ("range queries with aggregation",),
    "writes": ("writes",),
    "insert-benchmark": ("insert benchmark",),
}
"""What the groups of tests are called on the command line."""

ALL = "all"

_NUMBER = re.compile(r"0*[1-9][0-9]*", re.ASCII)


@dataclass(frozen=True)
class Side(Plain):
    """One of the versions: the `name` given, and the commit it resolved to."""

    name: str
    sha: str


@dataclass(frozen=True)
class Row(Plain):
    """A row of the tables: a test of a `group`, run with so many `clients`, and all its settings; counts of one build
    of it are known to be `spread_percent` apart, 0 where that is not known."""

    test: str
    group: str
    clients: int
    parameters: Mapping[str, str]
    spread_percent: float = 0.0

    def label(self, several: bool) -> str:
        """What it is called where there are `several` numbers of clients, or one."""
        return f"{self.test} clients={self.clients}" if several else self.test


@dataclass(frozen=True)
class Asked(Plain):
    """`sides` are compared with the first of them, `rows` in the order of the catalogue; `repository` is a path.

    `rounds` probes are made of each side and row; `given` are the user's settings; `toolchain` is a name of the matrix
    or None for its preference; `matrix` is the path of the compiler matrix in use; `jobs` compile at once; `counter` is
    how instructions are to be counted, None for the best that the host has; `flags` are those that versions are
    compiled by; `unsafe_settings` is as in a bisection's question; `sandbox` is whether builds and probes are to run in
    one.
    """

    engine: str
    repository: str
    sides: tuple[Side, ...]
    rows: tuple[Row, ...]
    matrix: str
    rounds: int = ROUNDS
    given: Mapping[str, str] = field(default_factory=dict)
    toolchain: str | None = None
    jobs: int = 2
    counter: Counter | None = None
    simulations: tuple[Simulation, ...] = ()
    flags: Flags = Flags.PINNED
    unsafe_settings: bool = False
    sandbox: Wish = Wish.AUTO

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests, each once."""
        return tuple(dict.fromkeys(row.test for row in self.rows))

    @property
    def clients(self) -> tuple[int, ...]:
        """The numbers of clients, each once."""
        return tuple(dict.fromkeys(row.clients for row in self.rows))

    def label(self, row: Row) -> str:
        """What a row is called beside the others."""
        return row.label(len(self.clients) > 1)


def in_groups(words: Sequence[str], groups: Mapping[str, str]) -> list[str]:
    """The tests of some groups, given all tests with the groups they are in, in the order of the catalogue.

    A word is `all`, one of GROUP_WORDS, or the full name of a group; raises UserError for any other, and for a group
    without tests.
    """
    chosen: set[str] = set()
    for word in words:
        wanted = set(groups.values()) if word == ALL else {word, *GROUP_WORDS.get(word, ())}
        found = {test for test, group in groups.items() if group in wanted}
        if not found:
            known = [short for short, names in GROUP_WORDS.items() if set(names) & set(groups.values())]
            raise UserError(f"there is no group of tests {word!r}", f"--tests takes {', '.join([*known, ALL])}")
        chosen |= found
    return [test for test in groups if test in chosen]


def numbers_of_clients(text: str) -> tuple[int, ...]:
    """Numbers from text like `1,4`, each once; raises ValueError for what is no number above 0."""
    parts = [part.strip() for part in text.split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"{text!r} is no list of numbers above 0")
    numbers = [int(part) for part in parts]
    return tuple(dict.fromkeys(numbers))
