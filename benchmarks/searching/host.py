"""What a search may do: build, probe, look at the clock. It never sees the history itself."""

from dataclasses import dataclass

from cpubisect.search.price import build_share
from searching.world import History

MOST_PROBES = 4000
"""A bisection that has probed so often is stopped, whosever it is, and has no answer."""


class Stopped(Exception):
    """A bisection has taken all the probes that there are for one."""


@dataclass(frozen=True)
class Answer:
    """What the rule of a peer ends with: the step is after `low` and not after `high`; `probability` as it states it,
    if it does."""

    low: int
    high: int
    probability: float | None = None


class Host:
    """A simulated probe host with a clock that adds up what is done on it.

    `size` numbers, 0 good and size - 1 bad; a first build costs what the compiler cache leaves of `build_s` seconds,
    whether it succeeds or not, and is kept; a probe costs `probe_s`. `wanted` is the culprit's step in percent: what
    somebody who has seen the two ends could tell a search. `failures` has the first error line of every build that
    failed; `counts` says whether instructions can be counted.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        world = history.world
        self.size = world.size
        self.wanted = world.step
        self.build_s = world.build_s
        self.probe_s = world.probe_s
        self.clock_s = 0.0
        self.builds = 0
        self.probes = 0
        self.counts = world.miscounts is not None
        self.failures: dict[int, str] = {}
        self._artifacts = set(history.built)
        self._links: set[tuple[int, int]] = set()
        self._repeats: dict[tuple[int, int], int] = {}
        self._counts: dict[int, int] = {}

    def has(self, number: int) -> bool:
        """True if its artifact is there."""
        return number in self._artifacts

    def share(self, number: int) -> float:
        """The part of a full build that its artifact would take now, as a ratio: near builds share compilations."""
        nearest = min((abs(number - built) for built in self._artifacts), default=None)
        return 1.0 if nearest is None else build_share(nearest)

    def build(self, number: int) -> bool:
        """Build it unless that was tried before; True if there is an artifact now."""
        if number in self._artifacts:
            return True
        if number in self.failures:
            return False
        return self._make(number, self._history.fails_once(number))

    def build_again(self, number: int) -> bool:
        """Build what has failed once more; True if there is an artifact now."""
        return self._make(number, False)

    def _make(self, number: int, mishap: bool) -> bool:
        self.clock_s += self.begin(number)
        return self._end(number, mishap)

    def begin(self, number: int) -> float:
        """Begin a build elsewhere, which this host's clock does not wait for: the seconds that it takes."""
        self.builds += 1
        return self.build_s * self.share(number)

    def end(self, number: int) -> bool:
        """What was begun elsewhere has ended; True if there is an artifact now."""
        return self._end(number, self._history.fails_once(number))

    def _end(self, number: int, mishap: bool) -> bool:
        if number in self._history.dead:
            self.failures[number] = f"error: broken by change {self._history.dead[number]}"
        elif mishap:
            self.failures[number] = "error: a mishap"
        else:
            self.failures.pop(number, None)
            self._artifacts.add(number)
        return number in self._artifacts

    def probe(self, number: int, link: int = 0) -> float:
        """One probe of a built number, in percent of the good end's cost; of the `link`-th time that it is linked anew,
        which takes time once. Raises ValueError if it is not built, and Stopped after too many."""
        self._may_probe(number)
        if link and (number, link) not in self._links:
            self._links.add((number, link))
            self.clock_s += self._history.world.link_s
        repeat = self._repeats.get((number, link), 0)
        self._repeats[number, link] = repeat + 1
        value = self._history.value(number, repeat, self.clock_s, link)
        self.probes += 1
        self.clock_s += self.probe_s
        return value

    def count(self, number: int) -> float:
        """How many instructions a built number takes by one count, in percent of the good end's, which takes as long as
        a probe of CPU time. Raises as `probe` does."""
        self._may_probe(number)
        repeat = self._counts.get(number, 0)
        self._counts[number] = repeat + 1
        self.probes += 1
        self.clock_s += self.probe_s
        return self._history.count(number, repeat)

    def _may_probe(self, number: int) -> None:
        if self.probes >= MOST_PROBES:
            raise Stopped(f"{MOST_PROBES} probes are enough")
        if number not in self._artifacts:
            raise ValueError(f"{number} is not built")

    def probe_times(self, number: int, count: int) -> list[float]:
        """Several probes, one after the other."""
        return [self.probe(number) for _ in range(count)]
