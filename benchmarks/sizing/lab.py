"""Many bisections that share builders and probe hosts, event by event.

Each decides by the product's own rule, at its own events: when one of its builds or its probe has ended. Orders beyond
the builders that are free wait in the order they came, as Dask has them wait. How many builders a bisection reckons
with is the matter of a `Sharing`. All of its probes are on one host; while it waits for one it begins nothing.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import count

from cpubisect.search.exact import Found
from searching.crews import Together
from searching.farm import Search, Story

DAY_S = 86_400.0

OF_END = 2
"""So often an end is counted (`run/ends.END_REPEATS`)."""


@dataclass(frozen=True)
class Seen:
    """What a bisection can know of the others: so many builders in all, so many bisections under way, and so many
    orders for builders, of which so many are its `own`."""

    builders: int
    active: int
    orders: int
    own: int


Sharing = Callable[[Seen], int]
"""With how many builders a bisection reckons."""


def alone(seen: Seen) -> int:
    """One: nothing is built ahead."""
    return 1


def evenly(seen: Seen) -> int:
    """Its share of all, and one at least."""
    return max(1, seen.builders // max(1, seen.active))


def left_over(seen: Seen) -> int:
    """What the others have not ordered, and one at least."""
    return max(1, seen.builders - (seen.orders - seen.own))


def everything(seen: Seen) -> int:
    """All of them, whoever else is there."""
    return seen.builders


@dataclass(frozen=True)
class Asked:
    """One bisection: when it is asked (seconds of the day), of which series and so many candidates, its `story`, and
    the seconds of the probes that confirm a step."""

    at_s: float
    series: str
    size: int
    story: Callable[[], Story]
    confirmation: Sequence[float]


@dataclass(frozen=True)
class Hosts:
    """So many builders, each of which makes one build at once, and probe hosts. A bisection's probe host is the `first`
    or, if not that, one that is drawn."""

    builders: int
    probe_hosts: int
    first: bool = False


@dataclass
class Answered:
    """What became of one: its hours, how long its builds and its probes waited for a host in all, how many builds were
    ordered, begun on a builder, ended early and finished, how many commits and how often they were probed, its steps,
    and seconds of builders and of its probe host."""

    series: str
    size: int
    asked_s: float
    hours: float = 0.0
    builds_waited_s: float = 0.0
    probes_waited_s: float = 0.0
    ordered: int = 0
    begun: int = 0
    ended: int = 0
    finished: int = 0
    probed: int = 0
    probes: int = 0
    steps: int = 0
    builder_s: float = 0.0
    probe_s: float = 0.0
    found: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Day:
    """All of them, the parts of the day for which builders and probe hosts were busy, and the most at once."""

    answered: Sequence[Answered]
    builders_busy: float
    probe_hosts_busy: float
    most_active: int
    most_waiting: int


@dataclass(eq=False)
class _Bisection:
    asked: Asked
    host: int
    told: Answered
    search: Search | None = None
    orders: dict[int, "_Order"] = field(default_factory=dict)
    left: deque[float] = field(default_factory=deque)
    probing: int | None = None


@dataclass(eq=False)
class _Order:
    """A build: how long it takes, when it was ordered, and begun, if it was."""

    of: _Bisection
    number: int
    seconds: float
    ordered_s: float
    begun_s: float | None = None
    dropped: bool = False


@dataclass(eq=False)
class _Probe:
    of: _Bisection
    seconds: float
    ordered_s: float


class Lab:
    """The hosts, the clock, and who waits for what."""

    def __init__(self, hosts: Hosts, sharing: Sharing, seed: int) -> None:
        self._hosts = hosts
        self._sharing = sharing
        self._draw = random.Random(f"probe hosts {seed}")
        self._now_s = 0.0
        self._free = hosts.builders
        self._waiting: deque[_Order] = deque()
        self._withdrawn = 0
        self._probes: list[deque[_Probe]] = [deque() for _ in range(hosts.probe_hosts)]
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._active: set[_Bisection] = set()
        self._builder_s = self._probe_s = 0.0
        self._most_active = self._most_waiting = 0

    def day(self, asked: Collection[Asked]) -> Day:
        """Carry them all out, to the end of the last one, if that takes more than a day."""
        found = []
        for one in asked:
            host = 0 if self._hosts.first else self._draw.randrange(self._hosts.probe_hosts)
            bisection = _Bisection(one, host, Answered(one.series, one.size, one.at_s))
            found.append(bisection.told)
            self._at(one.at_s, lambda own=bisection: self._begin(own))  # type: ignore[misc]
        while self._events:
            self._now_s, _, happens = heapq.heappop(self._events)
            happens()
        return Day(
            found,
            self._builder_s / (DAY_S * self._hosts.builders),
            self._probe_s / (DAY_S * self._hosts.probe_hosts),
            self._most_active,
            self._most_waiting,
        )

    def _at(self, when_s: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when_s, next(self._order), happens))

    def _begin(self, one: _Bisection) -> None:
        self._active.add(one)
        self._most_active = max(self._most_active, len(self._active))
        one.search = Search(one.asked.story(), self._share(one), Together())
        self._turn(one)

    def _share(self, one: _Bisection) -> int:
        orders = self._hosts.builders - self._free + len(self._waiting) - self._withdrawn
        return self._sharing(Seen(self._hosts.builders, len(self._active), orders, len(one.orders)))

    def _turn(self, one: _Bisection) -> None:
        """What it does now, unless it waits for a probe."""
        if one.search is None or one.probing is not None:
            return
        one.search.builders = self._share(one)
        turn = one.search.turn(self._now_s)
        for number in turn.ended:
            self._drop(one.orders.pop(number))
        for number, seconds in turn.begun:
            one.told.ordered += 1
            order = one.orders[number] = _Order(one, number, seconds, self._now_s)
            self._waiting.append(order)
        if turn.probed is not None:
            one.probing = turn.probed
            one.told.probed += 1
            times = OF_END if turn.probed in one.search.ends else 1
            self._ask(one, times * one.search.story.probe_s, times)
        if turn.found is not None:
            self._confirm(one, turn.found)
        self._start_builds()

    def _start_builds(self) -> None:
        while self._free and self._waiting:
            order = self._waiting.popleft()
            if order.dropped:
                self._withdrawn -= 1
                continue
            self._free -= 1
            order.begun_s = self._now_s
            order.of.told.begun += 1
            order.of.told.builds_waited_s += self._now_s - order.ordered_s
            self._at(self._now_s + order.seconds, lambda own=order: self._built(own))  # type: ignore[misc]
        self._most_waiting = max(self._most_waiting, len(self._waiting) - self._withdrawn)

    def _built(self, order: _Order) -> None:
        if order.dropped:
            return
        self._let_go(order)
        one = order.of
        one.told.finished += 1
        del one.orders[order.number]
        assert one.search is not None
        one.search.built(order.number, self._now_s)
        self._turn(one)
        self._start_builds()

    def _drop(self, order: _Order) -> None:
        """End a build, or take its order back."""
        order.dropped = True
        order.of.told.ended += 1
        if order.begun_s is None:
            self._withdrawn += 1
        else:
            self._let_go(order)

    def _let_go(self, order: _Order) -> None:
        assert order.begun_s is not None
        self._free += 1
        order.of.told.builder_s += self._now_s - order.begun_s
        self._builder_s += _within_day(order.begun_s, self._now_s)

    def _confirm(self, one: _Bisection, found: Sequence[Found]) -> None:
        """The search is over: what is being built for it ends, and its steps are confirmed one after the other."""
        for order in one.orders.values():
            self._drop(order)
        one.orders.clear()
        assert one.search is not None
        one.told.steps = len(found)
        one.told.found = frozenset((step.low, step.high) for step in found)
        one.search = None
        one.left = deque([*one.asked.confirmation] * len(found))
        self._go_on(one)

    def _go_on(self, one: _Bisection) -> None:
        """The next probe of the confirmation, or the answer."""
        if one.left:
            self._ask(one, one.left.popleft(), 1)
        else:
            one.told.hours = (self._now_s - one.asked.at_s) / 3600
            self._active.remove(one)

    def _ask(self, one: _Bisection, seconds: float, times: int) -> None:
        """Have something probed, once the host has time."""
        one.told.probes += times
        queue = self._probes[one.host]
        queue.append(_Probe(one, seconds, self._now_s))
        if len(queue) == 1:
            self._start_probe(queue)

    def _start_probe(self, queue: deque[_Probe]) -> None:
        probe = queue[0]
        probe.of.told.probes_waited_s += self._now_s - probe.ordered_s
        probe.of.told.probe_s += probe.seconds
        self._probe_s += _within_day(self._now_s, self._now_s + probe.seconds)
        self._at(self._now_s + probe.seconds, lambda: self._probed(queue))

    def _probed(self, queue: deque[_Probe]) -> None:
        one = queue.popleft().of
        if queue:
            self._start_probe(queue)
        if one.search is None:
            self._go_on(one)
            return
        assert one.probing is not None
        number, one.probing = one.probing, None
        one.search.probed(number)
        self._turn(one)


def _within_day(begin_s: float, end_s: float) -> float:
    return max(0.0, min(end_s, DAY_S) - min(begin_s, DAY_S))
