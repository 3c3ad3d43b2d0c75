"""PURE: what can happen in a bisection: the kinds of events of its journal, each with its sentence for a person."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cpubisect.search.events.comparing import Compared, Comparing, LeftOut, RoundDone
from cpubisect.search.events.ending import Answered, Attached, Attaching, Stopped
from cpubisect.search.events.event import AnEvent, Entry, Event, Latest, Notice, Progress, Unknown, Watch, span
from cpubisect.search.events.hosts import Hosts, HostThere, Placed, Waiting
from cpubisect.search.events.measuring import (
    ArtifactDamaged,
    BuildAhead,
    BuildFinished,
    BuildReused,
    BuildStarted,
    BuildWithdrawn,
    EqualCode,
    FarCount,
    HostChanged,
    Killed,
    ProbeFinished,
    ProbeStarted,
    Redrawing,
    Redrawn,
    Unobservable,
)
from cpubisect.search.events.searching import (
    ChaseCaught,
    ChaseLost,
    Chasing,
    ClassOpened,
    CulpritFound,
    DefaultsRestored,
    GoodSide,
    InsideMerge,
    Joined,
    Next,
    NotConfirmed,
    Posterior,
    Price,
    Range,
    RegimeChosen,
    ScreenedInVain,
    ShareShown,
    StepFound,
    Suspected,
    Suspects,
)

__all__ = [
    "KINDS",
    "AnEvent",
    "Answered",
    "ArtifactDamaged",
    "Attached",
    "Attaching",
    "BuildAhead",
    "BuildFinished",
    "BuildReused",
    "BuildStarted",
    "BuildWithdrawn",
    "ChaseCaught",
    "ChaseLost",
    "Chasing",
    "ClassOpened",
    "Compared",
    "Comparing",
    "CulpritFound",
    "DefaultsRestored",
    "Entry",
    "EqualCode",
    "Event",
    "FarCount",
    "GoodSide",
    "HostChanged",
    "HostThere",
    "Hosts",
    "InsideMerge",
    "Joined",
    "Killed",
    "Latest",
    "LeftOut",
    "Next",
    "NotConfirmed",
    "Notice",
    "Placed",
    "Posterior",
    "Price",
    "ProbeFinished",
    "ProbeStarted",
    "Progress",
    "Range",
    "Redrawing",
    "Redrawn",
    "RegimeChosen",
    "RoundDone",
    "ScreenedInVain",
    "ShareShown",
    "StepFound",
    "Stopped",
    "Suspected",
    "Suspects",
    "Unknown",
    "Unobservable",
    "Waiting",
    "Watch",
    "read",
    "span",
]


def _kinds(of: type[Event]) -> dict[str, type[Event]]:
    own = {} if of.kind == "" else {of.kind: of}
    return own | {name: kind for below in of.__subclasses__() for name, kind in _kinds(below).items()}


KINDS: Mapping[str, type[Event]] = MappingProxyType(_kinds(Event))
"""The classes by what their events are called in the store."""


def read(kind: str, data: Mapping[str, Any]) -> Event:
    """An event from plain data."""
    return KINDS.get(kind, Unknown).from_json(data)
