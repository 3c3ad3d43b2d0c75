"""PURE: what can happen in a bisection: the kinds of events of its journal, each with its sentence for a person.

An event is plain data in the store, under its `kind`. One that a newer or an older program wrote is read as far as it
is understood: what it lacks has its default, what is unknown is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from cpubisect.base.metrics import CPU, INSTRUCTIONS, SIMULATED, reading


@dataclass(frozen=True)
class Event:
    """Something that happened; `test` is the one of several that it is about, empty where it is about all or there is
    but one; `kept` tells whether the journal keeps events of the class."""

    kind: ClassVar[str] = ""
    kept: ClassVar[bool] = True
    test: str = ""

    @property
    def sentence(self) -> str:
        """One line for a person; empty for what need not be said."""
        said = self._sentence()
        return f"{self.test}: {said}" if said and self.test else said

    def _sentence(self) -> str:
        return ""

    def is_about(self, test: str) -> bool:
        """Whether it happened to this test, or to all of them."""
        return self.test in ("", test)

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data; the test only where there is one."""
        plain = asdict(self)
        if not self.test:
            del plain["test"]
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`, forgiving what the data lacks or has too much."""
        known = cls.__dataclass_fields__
        return cls(**{name: _frozen(value) for name, value in data.items() if name in known})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


AnEvent = TypeVar("AnEvent", bound=Event)


class Watch(Protocol):
    """Who is told what happens, as it happens."""

    def __call__(self, event: Event) -> None:
        """Take one event."""


@dataclass(frozen=True)
class Entry:
    """An event in the journal: its number, which grows, and when it happened, in epoch seconds."""

    id: int
    at: float
    event: Event


class Latest:
    """The last event of each kind in some part of a journal."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """From entries in the order in which they happened."""
        self._entries = {type(entry.event): entry for entry in entries}

    def __getitem__(self, kind: type[AnEvent]) -> AnEvent | None:
        """The last event of one kind, None if there was none."""
        entry = self.entry(kind)
        return entry.event if entry and isinstance(entry.event, kind) else None

    def entry(self, kind: type[Event]) -> Entry | None:
        """The last event of one kind as it is in the journal, None if there was none."""
        return self._entries.get(kind)

    def newest(self, *kinds: type[Event], without: Sequence[type[Event]] = ()) -> Entry | None:
        """The very last event, of some kinds if any are given, and of none `without` them."""
        asked = (self._entries[kind] for kind in self._entries if kind not in without and (not kinds or kind in kinds))
        return max(asked, key=lambda entry: entry.id, default=None)

    def events(self) -> list[Event]:
        """All of them, the earliest first."""
        return [entry.event for entry in sorted(self._entries.values(), key=lambda entry: entry.id)]


@dataclass(frozen=True)
class Notice(Event):
    """Something that the asker should know before it begins."""

    kind = "notice"
    text: str = ""

    def _sentence(self) -> str:
        return self.text


@dataclass(frozen=True)
class Progress(Event):
    """What a long action is at; shown while it lasts, and not kept."""

    kind = "progress"
    kept = False
    text: str = ""


@dataclass(frozen=True)
class Range(Event):
    """What lies between good and bad: commits, and classes of them that cannot differ in the binary."""

    kind = "range"
    candidates: int = 0
    classes: int = 0
    fork: str | None = None
    expected_builds: int = 0

    def _sentence(self) -> str:
        fork = f", fork point {self.fork[:12]}" if self.fork else ""
        return (
            f"{self.candidates} candidates in {self.classes} classes{fork}; "
            f"about {self.expected_builds} builds are likely"
        )


@dataclass(frozen=True)
class Joined(Event):
    """So many commits were `joined` to other classes by what the builds were made from; `inside` names the merges that
    led there, outermost first."""

    kind = "joined"
    joined: int = 0
    classes: int = 0
    expected_builds: int = 0
    inside: tuple[str, ...] = ()

    def _sentence(self) -> str:
        return (
            f"{self.joined} commits touch only files that no build was made from: {self.classes} classes are "
            f"left; about {self.expected_builds} builds are likely"
        )


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
class BuildFinished(_OfBuild):
    """A build has ended; compiles are counted as ccache does, `repairs` are changes that made it compile."""

    kind = "build-finished"
    outcome: str = ""
    wall_seconds: float = 0.0
    first_error: str = ""
    cache_hits: int = 0
    cache_misses: int = 0
    repairs: int = 0

    def _sentence(self) -> str:
        if self.outcome != "built":
            return f"{self.sha[:12]} does not build ({self.outcome}): {self.first_error}"
        cache = f"{self.cache_hits} of {self.cache_hits + self.cache_misses} compiles from the cache"
        repairs = f", {self.repairs} repairs" if self.repairs else ""
        return f"{self.sha[:12]} built in {span(self.wall_seconds)} ({cache}{repairs})"


@dataclass(frozen=True)
class Redrawing(_OfBuild):
    """A commit's objects are being linked again, in `links` other orders; the output goes to the file `log`."""

    kind = "redrawing"
    links: int = 0
    log: str = ""

    def _sentence(self) -> str:
        return f"linking {self.sha[:12]} in {self.links} other orders"


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
class NotConfirmed(Event):
    """A step that was `expected`, in percent, at a commit did not show against its parent, or against the last commit
    that is known to be without it, in so many rounds of CPU time; if `placed`, it surely was not there in binaries that
    were linked anew: where code lies had made it.
    """

    kind = "not-confirmed"
    sha: str = ""
    parent: str = ""
    expected: float = 0.0
    percent: float = 0.0
    rounds: int = 0
    placed: bool = False

    def _sentence(self) -> str:
        then = (
            "where code lies had made it, and all is read anew in binaries that are linked anew each time"
            if self.placed
            else "the search goes on with these readings too"
        )
        return (
            f"{self.sha[:12]} costs {self.percent:+.2f} % more than {self.parent[:12]} in {self.rounds} rounds, not "
            f"{self.expected:+.2f} %: {then}"
        )


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
    there are none."""

    kind = "probe-finished"
    sha: str = ""
    purpose: str = ""
    seconds: float = 0.0
    error: str | None = None
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        values = {metric: list(found) for metric, found in self.values.items()}
        return {**super(ProbeFinished, replace(self, values={})).to_json(), "values": values}

    def _sentence(self) -> str:
        if self.error:
            return f"{self.sha[:12]} cannot be probed: {self.error}"
        shown = []
        if counts := self.values.get(INSTRUCTIONS):
            shown.append(f"{reading(INSTRUCTIONS, counts):,.0f} instructions/query")
        simulated = [metric for metric in SIMULATED if self.values.get(metric)]
        shown += [f"{reading(metric, self.values[metric]):,.2f} {metric}" for metric in simulated]
        if clocks := self.values.get(CPU):
            shown.append(f"{reading(CPU, clocks):,.2f} cpu us/query")
        note = f" ({self.note})" if self.note else ""
        return f"{self.sha[:12]} probed in {span(self.seconds)}: {', '.join(shown)}{note}"


@dataclass(frozen=True)
class RegimeChosen(Event):
    """The ends differ by `percent` in `metric`, which is searched on from now on, for steps of `min_step` percent."""

    kind = "regime"
    regime: str = ""
    metric: str = ""
    percent: float = 0.0
    min_step: float = 0.0

    def _sentence(self) -> str:
        looked_for = f"looking for steps of {self.min_step:.2f} % or more"
        return f"the ends differ by {self.percent:+.2f} % {self.metric}; {looked_for}"


@dataclass(frozen=True)
class DefaultsRestored(Event):
    """Bad's server was given the values that good's has of variables: by name the values that it was `given`, why it
    `refused` others, and those that turned out to be `explaining` the difference."""

    kind = "defaults-restored"
    given: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    explaining: tuple[str, ...] = ()

    def _sentence(self) -> str:
        outcome = (
            f"it is {', '.join(self.explaining)} that makes the difference" if self.explaining else "it is not them"
        )
        left = "".join(f"; {name} could not be given: {why}" for name, why in self.refused.items())
        return f"bad's server was given good's values of {len(self.given)} changed variables: {outcome}{left}"


@dataclass(frozen=True)
class Suspected:
    """A commit with its prior weight, a ratio, and the strongest reasons for it."""

    sha: str
    weight: float
    because: tuple[str, ...]


@dataclass(frozen=True)
class Suspects(Event):
    """The strongest suspects of a line, by the profiles of its ends."""

    kind = "suspects"
    top: tuple[Suspected, ...] = ()
    inside: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        top = tuple(Suspected(one["sha"], one["weight"], tuple(one["because"])) for one in data.get("top", ()))
        return super().from_json({**data, "top": top})

    def _sentence(self) -> str:
        told = (f"{one.sha[:12]} {one.weight:.0%} ({', '.join(one.because)})" for one in self.top)
        return f"suspects by what grew: {'; '.join(told) or 'none'}"


@dataclass(frozen=True)
class Next(Event):
    """The commit that is measured next, the `number` of so many on its line, and why; in an exact search the step is
    between `low` and `high`. Its build is expected to take so many `seconds`; None if its binary is there."""

    kind = "next"
    sha: str = ""
    number: int = 0
    of: int = 0
    why: str = ""
    low: str | None = None
    high: str | None = None
    inside: tuple[str, ...] = ()
    seconds: float | None = None

    def _sentence(self) -> str:
        build = f", likely built in {span(self.seconds)}" if self.seconds else ""
        return f"next: {self.sha[:12]} ({self.number} of {self.of}{build}): {self.why}"


@dataclass(frozen=True)
class Price(Event):
    """What a search is likely to cost; `noise_percent` is what one reading varies by, in a noisy search."""

    kind = "price"
    builds: int = 0
    most_builds: int | None = None
    seconds: float = 0.0
    noise_percent: float | None = None
    inside: tuple[str, ...] = ()

    def _sentence(self) -> str:
        most = f" (at most {self.most_builds} for one step)" if self.most_builds else ""
        noise = f"; one reading varies by {self.noise_percent:.2f} %" if self.noise_percent else ""
        return f"this search is likely to take about {self.builds} builds{most} and {span(self.seconds)}{noise}"


@dataclass(frozen=True)
class Posterior(Event):
    """Where a noisy search thinks the step is: most likely between `low` and `high`; `gaps` are (after, until,
    probability) of every interval that is worth a word, `bits` what is missing to know."""

    kind = "posterior"
    low: str = ""
    high: str = ""
    candidates: int = 0
    probability: float = 0.0
    percent: float = 0.0
    noise_percent: float = 0.0
    drift_percent: float = 0.0
    layout_percent: float = 0.0
    bits: float = 0.0
    gaps: tuple[tuple[str, str, float], ...] = ()
    inside: tuple[str, ...] = ()

    def _sentence(self) -> str:
        return (
            f"P = {self.probability:.3f} that a step of {self.percent:+.2f} % is between {self.low[:12]} "
            f"and {self.high[:12]} ({self.candidates} candidates; noise {self.noise_percent:.2f} %)"
        )


@dataclass(frozen=True)
class Unobservable(Event):
    """A commit cannot be built or probed, and stays a candidate."""

    kind = "unobservable"
    sha: str = ""
    why: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]} stays a candidate that cannot be observed"


@dataclass(frozen=True)
class StepFound(Event):
    """A search has come down to a step between two measured commits."""

    kind = "step-found"
    low: str = ""
    high: str = ""
    percent: float = 0.0

    def _sentence(self) -> str:
        return f"a step of {self.percent:+.2f} % is between {self.low[:12]} and {self.high[:12]}"


@dataclass(frozen=True)
class InsideMerge(Event):
    """A step is a merge's, whose merged line is searched now."""

    kind = "inside-merge"
    merge: str = ""
    candidates: int = 0

    def _sentence(self) -> str:
        return f"{self.merge[:12]} is a merge: going inside, {self.candidates} candidates"


@dataclass(frozen=True)
class Chasing(Event):
    """A step is chased by its signature, so many functions that grew, through all commits of a range, or of the last
    merge it is `inside`."""

    kind = "chasing"
    commits: int = 0
    functions: int = 0
    inside: tuple[str, ...] = ()

    def _sentence(self) -> str:
        where = f"{self.inside[-1][:12]} brought" if self.inside else "good and bad have between them"
        return (
            f"chasing the step through all {self.commits} commits that {where}, by the {self.functions} functions "
            "that grew"
        )


@dataclass(frozen=True)
class ShareShown(Event):
    """A commit shows this part of the step that is chased, as a ratio; without a probe if the values of its server's
    `variables` tell."""

    kind = "share-shown"
    sha: str = ""
    share: float = 0.0
    variables: Mapping[str, str] = field(default_factory=dict)

    def _sentence(self) -> str:
        told = ", ".join(f"{name} = {value}" for name, value in self.variables.items())
        by = f": its server has {told}" if told else ""
        return f"{self.sha[:12]} shows {self.share:.0%} of the step{by}"


@dataclass(frozen=True)
class ChaseCaught(Event):
    """A chase has come down to one commit."""

    kind = "chase-caught"
    sha: str = ""
    inside: tuple[str, ...] = ()

    def _sentence(self) -> str:
        return f"all that has the step contains {self.sha[:12]}: comparing it with its parent"


@dataclass(frozen=True)
class ChaseLost(Event):
    """A chase has caught nothing that could be confirmed: the line is searched."""

    kind = "chase-lost"
    why: str = ""
    inside: tuple[str, ...] = ()

    def _sentence(self) -> str:
        return f"the chase is given up: {self.why}"


@dataclass(frozen=True)
class CulpritFound(Event):
    """A culprit is confirmed, with its step in percent of its parent and its part of the whole, as a ratio."""

    kind = "culprit-found"
    sha: str = ""
    subject: str = ""
    percent: float = 0.0
    metric: str = ""
    share: float = 0.0

    def _sentence(self) -> str:
        return (
            f"culprit: {self.sha[:12]} {self.subject} ({self.percent:+.2f} % {self.metric} against its parent, "
            f"{self.share:.0%} of the difference)"
        )


@dataclass(frozen=True)
class ClassOpened(Event):
    """Commits that were thought to share one binary do not."""

    kind = "class-opened"
    first: str = ""
    last: str = ""
    percent: float = 0.0

    def _sentence(self) -> str:
        return (
            f"{self.first[:12]} to {self.last[:12]} were taken for one binary, but differ by "
            f"{self.percent:+.2f} %: looking at each commit"
        )


@dataclass(frozen=True)
class EqualCode(Event):
    """A commit does what its `twin` does, whose probes count for both."""

    kind = "equal-code"
    sha: str = ""
    twin: str = ""

    def _sentence(self) -> str:
        return f"{self.sha[:12]} has the code of {self.twin[:12]}: its probes count for both"


@dataclass(frozen=True)
class Stopped(Event):
    """The run ended without an answer, by an error."""

    kind = "stopped"
    why: str = ""

    def _sentence(self) -> str:
        return f"stopped: {self.why}"


@dataclass(frozen=True)
class _OfTicket(Event):
    """The report and a ticket: `where` it goes, under which `marker`; files go to `folder`."""

    marker: str = ""
    where: str = ""
    folder: str | None = None
    url: str = ""


@dataclass(frozen=True)
class Attaching(_OfTicket):
    """The report is about to be posted: whether it was, only the ticket knows until `Attached` follows."""

    kind = "attaching"

    def _sentence(self) -> str:
        return f"attaching the report: {self.where}"


@dataclass(frozen=True)
class Attached(_OfTicket):
    """The report is at `url`, or if that is empty in files."""

    kind = "attached"

    def _sentence(self) -> str:
        return f"the report is attached: {self.url or self.where}"


@dataclass(frozen=True)
class Answered(Event):
    """A verdict was reached."""

    kind = "verdict"
    kind_of: str = ""
    summary: str = ""

    def _sentence(self) -> str:
        return f"{self.kind_of}: {self.summary}"


@dataclass(frozen=True)
class Unknown(Event):
    """An event of a kind that this program does not know."""

    kind = "unknown"


def _kinds(of: type[Event]) -> dict[str, type[Event]]:
    own = {} if of.kind == "" else {of.kind: of}
    return own | {name: kind for below in of.__subclasses__() for name, kind in _kinds(below).items()}


KINDS: Mapping[str, type[Event]] = MappingProxyType(_kinds(Event))
"""The classes by what their events are called in the store."""


def read(kind: str, data: Mapping[str, Any]) -> Event:
    """An event from plain data."""
    return KINDS.get(kind, Unknown).from_json(data)


def span(seconds: float) -> str:
    """A duration in the units that a person would use."""
    whole = round(seconds)
    if whole < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
