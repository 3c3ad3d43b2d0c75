"""PURE: the events of a cluster's hosts: which there are, what each has taken on, and what waits for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from cpubisect.search.events.event import Event


@dataclass(frozen=True)
class HostThere:
    """A host by its name; its `role` is `build` or `probe`, and it does so many at once."""

    name: str
    role: str
    slots: int = 1


@dataclass(frozen=True)
class Hosts(Event):
    """The hosts that are there are others than before: these are all, and `lost` are the names of those that went while
    they had nothing to do, which nothing else tells of. If `idle` nothing of the bisection was under way."""

    kind = "hosts"
    there: tuple[HostThere, ...] = ()
    lost: tuple[str, ...] = ()
    idle: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        there = tuple(HostThere(one["name"], one["role"], one["slots"]) for one in data.get("there", ()))
        return super().from_json({**data, "there": there})

    def _sentence(self) -> str:
        if not self.lost:
            return ""
        left = {role: sum(one.slots for one in self.there if one.role == role) for role in ("build", "probe")}
        lost = f"{', '.join(self.lost)} {'is' if len(self.lost) == 1 else 'are'} lost"
        return f"{lost}: {left['build']} builds and {left['probe']} probes at once are left"


@dataclass(frozen=True)
class Placed(Event):
    """A host has begun with something, `what` being "the build of 88dc685cdbf9"; after another one was `lost` with it,
    if that is named. It is `quiet` if there is but one host that can do it."""

    kind = "placed"
    what: str = ""
    host: str = ""
    lost: str = ""
    quiet: bool = False

    def _sentence(self) -> str:
        if self.lost:
            return f"{self.lost} was lost with {self.what}, which is now done by {self.host}"
        return "" if self.quiet else f"{self.what} is done by {self.host}"


@dataclass(frozen=True)
class Waiting(Event):
    """No host that is there can do something: `why` not; the one that had it was `lost`, if that is named."""

    kind = "waiting"
    what: str = ""
    why: str = ""
    lost: str = ""

    def _sentence(self) -> str:
        lost = f"{self.lost} is lost; " if self.lost else ""
        return f"{lost}{self.what} waits for a host that can do it: {self.why}"
