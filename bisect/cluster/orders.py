"""What goes to a worker and what comes back: an order with all that it needs, since a worker has nothing of its own."""

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from cpubisect.cluster.parcels import Carrier, Parcel
from cpubisect.run.bench.orders import BuildOrder, Built, Drawn, DrawOrder, Probed, ProbeOrder


def _frozen(mapping: dict[Any, Any]) -> "MappingProxyType[Any, Any]":
    return MappingProxyType(mapping)


def _read_only(mapping: "MappingProxyType[Any, Any]") -> tuple[Any, ...]:
    return _frozen, (dict(mapping),)


# A test's parameters are such, which pickle by itself does not take.
copyreg.pickle(MappingProxyType, _read_only)

AnyOrder = BuildOrder | DrawOrder | ProbeOrder
AnyResult = Built | Drawn | Probed


@dataclass(frozen=True)
class Tree:
    """The tree of a commit: a pack, in the format of its repository's names; `origin` is what the repository is known
    by, so that no two share a compiler cache."""

    pack: Parcel
    object_format: str
    origin: str


@dataclass(frozen=True)
class Sent:
    """An order as it goes to a worker: `ticket` is what it is known by, `carrier` how parcels go; `tree` is what is
    built; `patches` are the texts of patches by their names; `libraries` are files by the names of libraries, and
    `artifact` is what is probed, each given only if the worker said that it lacks it; `cache` is the address of the
    compiler cache that hosts share, empty if there is none."""

    ticket: str
    order: AnyOrder
    carrier: Carrier
    tree: Tree | None = None
    patches: Mapping[str, bytes] = field(default_factory=dict)
    libraries: Mapping[str, Parcel] = field(default_factory=dict)
    artifact: Parcel | None = None
    cache: str = ""


@dataclass(frozen=True)
class Returned:
    """What came of it on a host: the result, the parcels of what it made by their digests as kept builds, and what the
    build printed."""

    host: str
    result: AnyResult
    artifacts: Mapping[str, Parcel] = field(default_factory=dict)
    log: bytes = b""


@dataclass(frozen=True)
class Lacking:
    """The worker has not all that it takes: the artifact that is to be probed, or the file of a library."""

    host: str
    library: str = ""


@dataclass(frozen=True)
class Refused:
    """The host could not carry it out, in words for the user; `killed` if whatever did it was killed from outside."""

    host: str
    problem: str
    hint: str
    killed: bool = False


@dataclass(frozen=True)
class Spoilt:
    """What came to the worker was not what was sent."""

    host: str
    why: str


@dataclass(frozen=True)
class Full:
    """The host has no space left for it, at a `place` there."""

    host: str
    place: str


Answer = Returned | Lacking | Refused | Spoilt | Full
