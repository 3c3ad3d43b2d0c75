"""What a peer's rule works with after the product's own first phase: the host, and what was read of the ends."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from searching.host import Answer, Host

LIMIT = 1000
"""After so many probes a rule is asked for its answer: where noise misleads it, it may never be sure."""


class Bench(Protocol):
    """What a rule may do: build, probe, look at what it has done.

    `size` numbers, 0 good and size - 1 bad; `wanted` is the planted step in percent: what somebody who has seen the
    ends could tell a rule; `failures` has the first error line of every build that failed; `builds` is how many were
    made.
    """

    @property
    def size(self) -> int: ...
    @property
    def wanted(self) -> float: ...
    @property
    def failures(self) -> Mapping[int, str]: ...
    @property
    def builds(self) -> int: ...
    @property
    def spent(self) -> bool:
        """True once the answer is wanted now."""

    def has(self, number: int) -> bool:
        """True if its artifact is there."""

    def build(self, number: int) -> bool:
        """Build it unless that was tried before; True if there is an artifact now."""

    def probe(self, number: int) -> float:
        """One probe of a built number; raises ValueError if it is not built."""

    def probe_times(self, number: int, count: int) -> list[float]:
        """Several probes, one after the other."""


Rule = Callable[[Bench], Answer | None]
"""What a peer decides: its answer, or None if it ends without one."""


class Begun:
    """A host on which some numbers were `read` already: a rule gets those readings first, which take no time again."""

    def __init__(self, host: Host, read: Mapping[int, Sequence[float]] | None = None) -> None:
        self._host = host
        self._read = {number: list(values) for number, values in (read or {}).items()}
        self._first_probe, self._first_build = host.probes, host.builds

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self._host.size

    @property
    def wanted(self) -> float:
        """The planted step in percent."""
        return self._host.wanted

    @property
    def failures(self) -> Mapping[int, str]:
        """The builds that failed, with why."""
        return self._host.failures

    @property
    def builds(self) -> int:
        """How many builds were made since."""
        return self._host.builds - self._first_build

    @property
    def spent(self) -> bool:
        """True after LIMIT probes since."""
        return self._host.probes - self._first_probe >= LIMIT

    def has(self, number: int) -> bool:
        """True if its artifact is there."""
        return self._host.has(number)

    def build(self, number: int) -> bool:
        """Build it unless that was tried before; True if there is an artifact now."""
        return self._host.build(number)

    def probe(self, number: int) -> float:
        """A reading that was made before, in their order, or a new one."""
        before = self._read.get(number)
        return before.pop(0) if before else self._host.probe(number)

    def probe_times(self, number: int, count: int) -> list[float]:
        """Several of them."""
        return [self.probe(number) for _ in range(count)]
