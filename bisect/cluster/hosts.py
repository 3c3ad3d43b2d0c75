"""PURE: what a host of the cluster is, what an order needs of one, and why a host will not do.

What an order needs is asked of Dask as resources, which a worker has or has not: so an order waits for a host that will
do, also for one that comes later, without anybody choosing it.
"""

import hashlib
import json
from collections import Counter as Multiset
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from cpubisect.base.metrics import Counter
from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.build import Toolchain

PASSING = ("memory_mib",)
"""What of a host's fingerprint may differ where counts are still alike: it changes with each start of a kernel."""


class Role(StrEnum):
    """What a host does; never both, since a build beside a probe changes its figures."""

    BUILD = "build"
    PROBE = "probe"


@dataclass(frozen=True)
class Host:
    """What a worker tells of itself: its `name`, by which no other goes; `slots` builds or probes at once; `program`
    is the digest of its cpubisect; `fingerprint` is what `workloads.host` says; `no_sandbox` and `no_redraws` are why
    there are none, empty if there are; `counters` say of each why it does not work there; `libraries` are those that
    it has for trees which do not carry them."""

    name: str
    role: Role
    slots: int
    program: str
    toolchains: tuple[Toolchain, ...]
    fingerprint: Mapping[str, str | int]
    no_sandbox: str = ""
    no_redraws: str = ""
    counters: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()

    @property
    def sandbox(self) -> Kind:
        """What builds and probes can run in there."""
        return Kind.NONE if self.no_sandbox else Kind.BUBBLEWRAP

    @property
    def likeness(self) -> str:
        """The same for hosts whose counts may be compared."""
        return likeness(self.fingerprint)

    def resources(self) -> dict[str, float]:
        """What Dask is told that its worker has."""
        own = [_program(self.program), _host(self.name), self.role.value]
        own += [_toolchain(one) for one in self.toolchains]
        own += [] if self.no_sandbox else [_SANDBOX]
        own += [] if self.no_redraws else [_REDRAWS]
        own += [_like(self.likeness)] if self.role is Role.PROBE else []
        return dict.fromkeys(own, float(self.slots))

    def to_json(self) -> str:
        """As it is sent."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Host":
        """The inverse; raises ValueError, TypeError or KeyError for what another program sent."""
        data: dict[str, Any] = json.loads(text)
        toolchains = tuple(Toolchain(**one) for one in data.pop("toolchains"))
        role, libraries = Role(data.pop("role")), tuple(data.pop("libraries"))
        return cls(**data, role=role, toolchains=toolchains, libraries=libraries)


_SANDBOX, _REDRAWS = "sandbox", "redraws"


def _program(digest: str) -> str:
    return f"program {digest}"


def _host(name: str) -> str:
    return f"host {name}"


def _like(digest: str) -> str:
    return f"like {digest}"


def _toolchain(toolchain: Toolchain) -> str:
    """All of it counts: what a compiler says of its version has the distribution's own number of it, too."""
    text = json.dumps(asdict(toolchain), sort_keys=True)
    return f"toolchain {toolchain.name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def likeness(fingerprint: Mapping[str, str | int]) -> str:
    """The same for fingerprints of hosts whose counts may be compared."""
    counted = {name: value for name, value in fingerprint.items() if name not in (*PASSING, "name")}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Need:
    """What an order needs of the host that carries it out: `host` is the name of the only one that will do, `like` what
    it must be alike."""

    role: Role
    program: str
    toolchain: Toolchain | None = None
    sandbox: bool = False
    redraws: bool = False
    host: str = ""
    like: str = ""

    def resources(self) -> dict[str, float]:
        """What Dask is asked for; of each one, so that a host makes as many at once as it has slots."""
        own = [self.role.value, _program(self.program)]
        own += [_toolchain(self.toolchain)] if self.toolchain else []
        own += [_SANDBOX] if self.sandbox else []
        own += [_REDRAWS] if self.redraws else []
        own += [_host(self.host)] if self.host else []
        own += [_like(self.like)] if self.like else []
        return dict.fromkeys(own, 1.0)


def why_not(host: Host, need: Need) -> str:
    """What a host lacks for an order; empty if it will do."""
    if host.program != need.program:
        return f"{host.name} runs another cpubisect ({host.program}, not {need.program})"
    if need.toolchain and need.toolchain not in host.toolchains:
        same = next((one for one in host.toolchains if one.name == need.toolchain.name), None)
        other = f"{same.release!r}, not {need.toolchain.release!r}" if same else f"no {need.toolchain.name}"
        return f"{host.name} has {other}"
    if need.sandbox and host.no_sandbox:
        return f"{host.name} has no sandbox ({host.no_sandbox})"
    if need.redraws and host.no_redraws:
        return f"{host.name} cannot link in other orders ({host.no_redraws.partition(':')[0]})"
    if need.like and need.like != host.likeness:
        return f"{host.name} is another kind of host"
    return ""


def refusal(hosts: Sequence[Host], need: Need) -> str:
    """Why no host will do, with what each lacks; empty if there is one."""
    able = [host for host in hosts if host.role is need.role]
    if need.host:
        named = [host for host in able if host.name == need.host]
        if not named:
            return f"{need.host}, which is to {need.role}, is not there"
        return why_not(named[0], need)
    reasons = [why_not(host, need) for host in able]
    if not able:
        return f"no host is there to {need.role}"
    return "" if "" in reasons else "; ".join(reasons)


def of_role(hosts: Iterable[Host], role: Role, program: str) -> list[Host]:
    """Those of a role that run this program."""
    return [host for host in hosts if host.role is role and host.program == program]


def left_over(builders: Iterable[tuple[Host, int]], own: int) -> int:
    """How many builds a bisection may have under way, by the builders, each with the orders that it has, of which so
    many are the bisection's `own`: the slots that others have not ordered. Who reckoned with all of them while others
    do so too would fill the queue with builds that tell little (docs/big-lab.md)."""
    told = list(builders)
    others = max(0, sum(orders for _, orders in told) - own)
    return max(0, sum(host.slots for host, _ in told) - others)


def least_asked(hosts: Iterable[tuple[Host, int]]) -> list[Host]:
    """Those that have the fewest orders."""
    told = list(hosts)
    fewest = min((orders for _, orders in told), default=0)
    return [host for host, orders in told if orders == fewest]


def shared_toolchains(hosts: Sequence[Host]) -> tuple[Toolchain, ...]:
    """One compiler of each name, that which most builds at once can be made with."""
    slots: Multiset[Toolchain] = Multiset()
    for host in hosts:
        for toolchain in host.toolchains:
            slots[toolchain] += host.slots
    best: dict[str, Toolchain] = {}
    for toolchain, _ in sorted(slots.items(), key=lambda item: (-item[1], item[0].release)):
        best.setdefault(toolchain.name, toolchain)
    order = dict.fromkeys(toolchain.name for host in hosts for toolchain in host.toolchains)
    return tuple(best[name] for name in order)


def working_counters(host: Host) -> dict[Counter, str]:
    """What `examine` found there."""
    return {Counter(name): why for name, why in host.counters.items()}


def named(host: Host) -> Mapping[str, str | int]:
    """What is stored with a bisection whose probes run there."""
    return {**host.fingerprint, "name": host.name}
