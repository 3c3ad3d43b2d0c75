"""PURE: the events of builds and probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cpubisect.base.metrics import CPU, INSTRUCTIONS, SIMULATED, reading
from cpubisect.search.events.event import Event, span


@dataclass(frozen=True)
class _OfBuild(Event):
    """A build serves all tests: no sentence about it names one."""

    sha: str = ""

    @property
    def sentence(self) -> str:
        return self._sentence()


@dataclass(frozen=True)
class BuildStarted(_OfBuild):
    """A commit is being built; its output goes to the file `log`."""

    kind = "build-started"
    toolchain: str = ""
    log: str = ""

    def _sentence(self) -> str:
        return f"building {self.sha[:12]} with {self.toolchain}"


@dataclass(frozen=True)
class BuildReused(_OfBuild):
    """A build was there before."""

    kind = "build-reused"
    outcome: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]}: {self.outcome} before, used again"


@dataclass(frozen=True)
class ArtifactDamaged(_OfBuild):
    """What was kept of a build, or of a redraw of it, is no longer what was put there: it was thrown away. `digest` is
    what it should have had."""

    kind = "artifact-damaged"
    digest: str = ""

    def _sentence(self) -> str:
        return (
            f"{self.sha[:12]}: its kept build {self.digest[:12]} has changed on the disk and was thrown away; "
            "it is built anew"
        )


@dataclass(frozen=True)
class Killed(_OfBuild):
    """A build or a probe was killed from outside, which says nothing about its commit: it is made once more. `what` it
    was, and `why` it is taken for that."""

    kind = "killed"
    what: str = ""
    why: str = ""

    def _sentence(self) -> str:
        return f"the {self.what} of {self.sha[:12]} was killed ({self.why}): once more"


@dataclass(frozen=True)
class BuildAhead(_OfBuild):
    """A build is begun before it is asked for, and `why`."""

    kind = "build-ahead"
    why: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]} is built ahead: {self.why}"


@dataclass(frozen=True)
class BuildWithdrawn(_OfBuild):
    """A build that was begun ahead is ended, or never begun, for nobody needs it any more: `why`."""

    kind = "build-withdrawn"
    why: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]} is built no further: {self.why}"


@dataclass(frozen=True)
class BuildFinished(_OfBuild):
    """A build has ended; compiles are counted as ccache does, `repairs` are changes that made it compile; `host` is
    where it was made, empty for this one."""

    kind = "build-finished"
    outcome: str = ""
    wall_seconds: float = 0.0
    first_error: str = ""
    cache_hits: int = 0
    cache_misses: int = 0
    repairs: int = 0
    host: str = ""

    def _sentence(self) -> str:
        on = f" on {self.host}" if self.host else ""
        if self.outcome != "built":
            return f"{self.sha[:12]} does not build{on} ({self.outcome}): {self.first_error}"
        cache = f"{self.cache_hits} of {self.cache_hits + self.cache_misses} compiles from the cache"
        repairs = f", {self.repairs} repair{'s' if self.repairs > 1 else ''}" if self.repairs else ""
        return f"{self.sha[:12]} built in {span(self.wall_seconds)}{on} ({cache}{repairs})"


@dataclass(frozen=True)
class Redrawing(_OfBuild):
    """A commit's objects are being linked again, in `links` other orders; the output goes to the file `log`."""

    kind = "redrawing"
    links: int = 0
    log: str = ""

    def _sentence(self) -> str:
        return f"linking {self.sha[:12]} in {self.links} other orders"


@dataclass(frozen=True)
class Redrawn(_OfBuild):
    """A commit was linked again in `links` other orders; `wall_seconds` is with what had to be compiled for it, which
    is counted as ccache does; `first_error` says why there are none."""

    kind = "redrawn"
    links: int = 0
    wall_seconds: float = 0.0
    first_error: str = ""
    cache_hits: int = 0
    cache_misses: int = 0

    def _sentence(self) -> str:
        if self.first_error:
            return f"{self.sha[:12]} cannot be linked in other orders: {self.first_error}"
        times = "once" if self.links == 1 else f"{self.links} times"
        return f"{self.sha[:12]} linked {times} in other orders in {span(self.wall_seconds)}"


@dataclass(frozen=True)
class ProbeStarted(Event):
    """A commit is being probed."""

    kind = "probe-started"
    sha: str = ""
    purpose: str = ""

    def _sentence(self) -> str:
        return f"probing {self.sha[:12]}"


@dataclass(frozen=True)
class ProbeFinished(Event):
    """A probe has ended: `values` are its samples by metric, `note` is what must be known of them; `error` says why
    there are none; `host` is where it was made, empty for this one."""

    kind = "probe-finished"
    sha: str = ""
    purpose: str = ""
    seconds: float = 0.0
    error: str | None = None
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    note: str = ""
    host: str = ""

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        values = {metric: list(found) for metric, found in self.values.items()}
        return {**super(ProbeFinished, replace(self, values={})).to_json(), "values": values}

    def _sentence(self) -> str:
        on = f" on {self.host}" if self.host else ""
        if self.error:
            return f"{self.sha[:12]} cannot be probed{on}: {self.error}"
        shown = []
        if counts := self.values.get(INSTRUCTIONS):
            shown.append(f"{reading(INSTRUCTIONS, counts):,.0f} instructions/query")
        simulated = [metric for metric in SIMULATED if self.values.get(metric)]
        shown += [f"{reading(metric, self.values[metric]):,.2f} {metric}" for metric in simulated]
        if clocks := self.values.get(CPU):
            shown.append(f"{reading(CPU, clocks):,.2f} cpu us/query")
        note = f" ({self.note})" if self.note else ""
        return f"{self.sha[:12]} probed in {span(self.seconds)}{on}: {', '.join(shown)}{note}"


@dataclass(frozen=True)
class FarCount(Event):
    """Some `counts` of a commit, in a metric, are far from the others `of` so many."""

    kind = "far-count"
    sha: str = ""
    counts: tuple[float, ...] = ()
    of: int = 0
    metric: str = INSTRUCTIONS

    def _sentence(self) -> str:
        told = ", ".join(f"{count:,.1f}" for count in self.counts)
        return f"{self.sha[:12]}: {told} {self.metric} is far from the others of {self.of} counts: counted again"


@dataclass(frozen=True)
class EqualCode(Event):
    """A commit does what its `twin` does, whose probes count for both."""

    kind = "equal-code"
    sha: str = ""
    twin: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]} has the code of {self.twin[:12]}: its probes count for both"


@dataclass(frozen=True)
class HostChanged(Event):
    """All readings of CPU time are by so many `percent` others than they were: the host is not what it was."""

    kind = "host-changed"
    percent: float = 0.0

    def _sentence(self) -> str:
        return (
            f"the host has changed: the same builds read {self.percent:+.2f} %; readings from before are compared "
            "among themselves only"
        )


@dataclass(frozen=True)
class Unobservable(Event):
    """A commit cannot be built or probed, and stays a candidate."""

    kind = "unobservable"
    sha: str = ""
    why: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]} stays a candidate that cannot be observed"
