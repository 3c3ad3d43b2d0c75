"""PURE: what each host of a cluster does for a bisection now and what waits for one, by what its journal tells."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cpubisect.search.events import (
    BuildFinished,
    BuildStarted,
    BuildWithdrawn,
    Entry,
    Hosts,
    Placed,
    ProbeFinished,
    Redrawing,
    Redrawn,
    Waiting,
    span,
)

KINDS = (BuildStarted, BuildFinished, BuildWithdrawn, Redrawing, Redrawn, ProbeFinished, Placed, Waiting, Hosts)
"""The events that tell."""


@dataclass(frozen=True)
class Work:
    """A build or a probe that has not ended: `what` it is, for people; where, empty as long as it waits, and `since`
    when, in epoch seconds; `why` no host that is there can do it, empty if one can."""

    what: str
    since: float
    host: str = ""
    why: str = ""

    def told(self, now: float) -> str:
        """What a person is told of it."""
        return f"{self.what} ({self.why or span(max(0.0, now - self.since))})"


@dataclass(frozen=True)
class HostNow:
    """A host, its `role` (`build` or `probe`), how many builds or probes it makes at once, and what of this bisection
    it has; `lost` says that it went with that."""

    name: str
    role: str
    slots: int
    does: tuple[Work, ...]
    lost: bool = False

    def told(self, now: float) -> str:
        """What a person is told of it."""
        at_once = f", {self.slots} at once" if self.slots > 1 else ""
        does = "; ".join(work.told(now) for work in self.does) or "nothing for this bisection"
        return f"{self.name} ({self.role}{at_once}): {'lost with ' if self.lost else ''}{does}"


@dataclass(frozen=True)
class UnderWay:
    """The `hosts` of a bisection, by their names, and its `queue`, oldest first; empty where there is no cluster."""

    hosts: tuple[HostNow, ...] = ()
    queue: tuple[Work, ...] = ()

    def lines(self, now: float) -> list[str]:
        """What a person is told of it: a line for each host, and what waits."""
        queue = [f"waits for a host: {work.told(now)}" for work in self.queue]
        return [*(host.told(now) for host in self.hosts), *queue]


def under_way(entries: Iterable[Entry]) -> UnderWay:
    """By the events of some KINDS, in order."""
    works: dict[str, Work] = {}
    roll: Hosts | None = None
    for entry in entries:
        match entry.event:
            case Hosts() as roll:
                if roll.idle:
                    works.clear()
            case BuildStarted(sha=sha):
                works[_build(sha)] = Work(_build(sha), entry.at)
            case Redrawing(sha=sha):
                works[_linking(sha)] = Work(_linking(sha), entry.at)
            case Placed(what=what, host=host):
                works[what] = Work(what, entry.at, host)
            case Waiting(what=what, why=why):
                waited = works.get(what, Work(what, entry.at))
                works[what] = replace(waited, host="", why=why)
            case BuildFinished(sha=sha) | BuildWithdrawn(sha=sha):
                works.pop(_build(sha), None)
            case Redrawn(sha=sha):
                works.pop(_linking(sha), None)
            case ProbeFinished(sha=sha):
                works.pop(f"the probe of {sha[:12]}", None)
    if roll is None:
        return UnderWay()
    there = {one.name: (one.role, one.slots) for one in roll.there}
    gone = {work.host: ("gone", 1) for work in works.values() if work.host and work.host not in there}
    hosts = [
        HostNow(name, role, slots, tuple(work for work in works.values() if work.host == name), name in gone)
        for name, (role, slots) in {**there, **gone}.items()
    ]
    return UnderWay(tuple(hosts), tuple(work for work in works.values() if not work.host))


def _build(sha: str) -> str:
    return f"the build of {sha[:12]}"


def _linking(sha: str) -> str:
    return f"the linking of {sha[:12]}"
