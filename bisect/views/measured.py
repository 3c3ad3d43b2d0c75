"""Whose probes count for a commit, and what they say of it: decided here for everything that is shown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cpubisect.base.metrics import CPU, reading
from cpubisect.records import queries
from cpubisect.records.purpose import Purpose
from cpubisect.records.queries import BuildLine, SampleRow
from cpubisect.records.rows import ProbeRow
from cpubisect.records.store import Store
from cpubisect.search.events import ScreenedInVain
from cpubisect.search.question import Question
from cpubisect.search.stats import Level, level


@dataclass(frozen=True)
class Measured:
    """What the probes of a bisection's commits say in one test.

    `own` are those that were made of each commit with the question's own settings; `stand_ins` maps commits to those
    that are measured in their place, because their code is equal or they end the same class; `variant` is the kind of
    the builds that they were made of.
    """

    own: Mapping[str, Sequence[SampleRow]]
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    variant: str = ""

    def builds(self, lines: Iterable[BuildLine]) -> dict[str, BuildLine]:
        """The build of each commit, of this kind where there is one."""
        return {line.sha: line for line in sorted(lines, key=lambda line: line.variant == self.variant)}

    def probes(self, sha: str) -> Sequence[SampleRow]:
        """The probes that count for a commit, those that failed too: its own, without any those of its stand-in."""
        return self.own.get(stand_in(sha, self.stand_ins, self.own.__contains__), ())

    def values(self, sha: str, metric: str) -> list[float]:
        """One value per probe of what a commit costs in a metric, its own or without any those of its stand-in."""
        measured = stand_in(sha, self.stand_ins, lambda one: bool(self._own_values(one, metric)))
        return self._own_values(measured, metric)

    def level(self, sha: str, metric: str) -> Level | None:
        """The mean of those values with its interval, None if there are none."""
        found = self.values(sha, metric)
        return level(found) if found else None

    def by_commit(self, metric: str) -> dict[str, list[float]]:
        """The values of each commit that has any."""
        found = {sha: self.values(sha, metric) for sha in dict.fromkeys((*self.own, *self.stand_ins))}
        return {sha: values for sha, values in found.items() if values}

    def _own_values(self, sha: str, metric: str) -> list[float]:
        """Those that the search read, or where it read none, those that confirmed it."""
        purpose = Purpose.CLOCK if metric == CPU else Purpose.SEARCH
        own = [row for row in self.own.get(sha, ()) if row.values.get(metric)]
        searched = [row for row in own if row.purpose == purpose]
        return [reading(metric, row.values[metric]) for row in searched or own]


def searched(
    store: Store, bisection: int, test: str, probes: Sequence[SampleRow], ends: Mapping[str, str] | None = None
) -> Measured:
    """From the probes of one test, of builds of the kind by which the search for it went; `ends` are stand-ins besides
    those of equal code."""
    variant = _searched_by(store, bisection, test, probes)
    return measured(probes, {**(ends or {}), **queries.twins(store, bisection, variant)}, variant)


def _searched_by(store: Store, bisection: int, test: str, probes: Iterable[SampleRow]) -> str:
    """The kind of the builds: others than ordinary ones only where all was not asked of these after them."""
    kind = min((probe.variant for probe in probes if probe.purpose in (Purpose.SEARCH, Purpose.CLOCK)), default="")
    in_vain = bool(kind) and any(event.is_about(test) for event in store.told(bisection, ScreenedInVain))
    return "" if in_vain else kind


def measured(probes: Sequence[SampleRow], stand_ins: Mapping[str, str], variant: str = "") -> Measured:
    """From the probes of one test, of builds of one kind: those of others cannot be compared with them."""
    own: dict[str, list[SampleRow]] = {}
    for probe in probes:
        if probe.purpose.counts and probe.variant == variant:
            own.setdefault(probe.sha, []).append(probe)
    return Measured(own, stand_ins, variant)


def stand_in(sha: str, stand_ins: Mapping[str, str], has: Callable[[str], bool]) -> str:
    """Who is measured for a commit, given who `has` what is asked for: itself or its stand-in, or that one's; itself if
    none has."""
    tried = [sha]
    while not has(tried[-1]):
        following = stand_ins.get(tried[-1])
        if following is None or following in tried:
            return sha
        tried.append(following)
    return tried[-1]


def profiled(probes: Iterable[ProbeRow]) -> list[ProbeRow]:
    """Those of a build's probes whose profiles by function count: the search's, or where that went by other builds,
    those that confirmed it."""
    own = [probe for probe in probes if probe.profile and probe.purpose.counts]
    return [probe for probe in own if probe.purpose == Purpose.SEARCH] or own


def variables(store: Store, bisection: int, question: Question) -> tuple[dict[str, str], dict[str, str]]:
    """The server variables of good and of bad, as the first test read them; empty where it could not."""
    good, bad = (store.variables(bisection, sha, question.tests[0]) for sha in (question.good_sha, question.bad_sha))
    return good, bad
