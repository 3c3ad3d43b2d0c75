"""An executor that has so many builders: all is built and measured on this host, but builds end in an order that is
drawn."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Generic, Self, TypeVar

from cpubisect.base.metrics import Counter
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.builders.build import Toolchain
from cpubisect.run.bench.here import InProcess
from cpubisect.run.bench.orders import (
    BuildOrder,
    Built,
    Cancelled,
    Drawn,
    DrawOrder,
    Handle,
    Probed,
    ProbeOrder,
)
from cpubisect.search.events import HostThere, Placed, Watch

Result = TypeVar("Result")


class Slow(Generic[Result]):
    """A build that ends when it is waited for, or looked at, and the lot falls on it."""

    def __init__(self, work: Callable[[], Result], lot: Callable[[], bool], cancelled: Callable[[], None]) -> None:
        self._work = work
        self._lot = lot
        self._cancelled = cancelled
        self._result: list[Result] = []
        self.withdrawn = False

    def done(self) -> bool:
        if not (self._result or self.withdrawn) and self._lot():
            self._result.append(self._work())
        return bool(self._result) or self.withdrawn

    def wait(self, timeout_s: float | None = None) -> bool:
        if timeout_s is None and not (self._result or self.withdrawn):
            self._result.append(self._work())
        return self.done()

    def result(self) -> Result:
        self.wait()
        if self.withdrawn:
            raise Cancelled
        return self._result[0]

    def cancel(self) -> None:
        if not self._result:
            self.withdrawn = True
            self._cancelled()


class ManyHosts:
    """`ordered`, `made` and `cancelled` are the commits of builds, in order."""

    def __init__(self, here: InProcess, builders: int, seed: int = 1) -> None:
        self._here = here
        self._draw = Random(seed)
        self.builders = builders
        self.ordered: list[str] = []
        self.made: list[str] = []
        self.cancelled: list[str] = []
        self.probed: list[str] = []

    @property
    def here(self) -> bool:
        return False

    @property
    def toolchains(self) -> Sequence[Toolchain]:
        return self._here.toolchains

    @property
    def redraws(self) -> str:
        return self._here.redraws

    def hosts(self) -> Sequence[HostThere]:
        return (HostThere("b1", "build", self.builders), HostThere("p1", "probe"))

    @property
    def fingerprint(self) -> Mapping[str, str | int]:
        return self._here.fingerprint

    def at(self, host: Mapping[str, str | int]) -> Self:
        return self

    def counters(self) -> Mapping[Counter, str]:
        return self._here.counters()

    def sandbox(self, wish: Wish, tell: Watch) -> Kind:
        return self._here.sandbox(wish, tell)

    def build(self, order: BuildOrder, tell: Watch) -> Handle[Built]:
        sha = order.recipe.commit
        self.ordered.append(sha)

        def made() -> Built:
            tell(Placed(what=f"the build of {sha[:12]}", host="b1"))
            self.made.append(sha)
            return self._here.build(order, tell).result()

        return Slow(made, lambda: self._draw.random() < 0.4, lambda: self.cancelled.append(sha))

    def draw(self, order: DrawOrder, tell: Watch) -> Handle[Drawn]:
        return self._here.draw(order, tell)

    def probe(self, order: ProbeOrder, tell: Watch) -> Handle[Probed]:
        self.probed.append(order.sha)
        return self._here.probe(order, tell)

    def close(self) -> None:
        self._here.close()
