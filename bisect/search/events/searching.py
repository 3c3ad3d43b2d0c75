"""PURE: the events of a search: what it looks for, where, why, and what it finds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from cpubisect.search.events.event import Event, span

MOST_REASONS, MOST_NAMES = 3, 3
"""So many reasons why variables could not be given are told in a sentence, and so many names of each; the journal has
all, which `bisect log --json` prints: of MySQL 5.7 beside 5.6 there are forty."""


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
class GoodSide(Event):
    """The way from the fork point to good is looked at too."""

    kind = "good-side"
    fork: str = ""
    candidates: int = 0
    classes: int = 0
    expected_builds: int = 0

    def _sentence(self) -> str:
        return (
            f"now the other side, from the fork point {self.fork[:12]} to good: {self.candidates} candidates in "
            f"{self.classes} classes; about {self.expected_builds} builds are likely"
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
class ScreenedInVain(Event):
    """Screening builds came to no answer: all is asked of ordinary builds."""

    kind = "screened-in-vain"
    why: str = ""

    def _sentence(self) -> str:
        return f"screening builds do not tell ({self.why}): searching by ordinary builds"


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
        left = "; ".join(_told_of_refused(self.refused))
        told = f"bad's server was given good's values of {len(self.given)} changed variables: {outcome}"
        return f"{told}, and {left}" if left else told


def _told_of_refused(refused: Mapping[str, str]) -> Iterator[str]:
    """Which variables could not be given, by reason, those of most variables first."""
    by_reason: dict[str, list[str]] = {}
    for name, why in refused.items():
        by_reason.setdefault(why, []).append(name)
    reasons = sorted(by_reason.items(), key=lambda one: len(one[1]), reverse=True)
    if len(reasons) > MOST_REASONS + 1:
        rest = [name for _, names in reasons[MOST_REASONS:] for name in names]
        reasons[MOST_REASONS:] = [("for other reasons", rest)]
    for why, names in reasons:
        if len(names) == 1:
            yield f"{names[0]} could not be given: {why}"
        else:
            yield f"{len(names)} could not be given, {why}: {_few(names)}"


def _few(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are; nobody is told of one more."""
    if len(names) > MOST_NAMES + 1:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


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
    between `low` and `high`. Its build is expected to take so many `seconds`; None if its binary is there. `release` is
    its tag if it is a tagged release."""

    kind = "next"
    sha: str = ""
    number: int = 0
    of: int = 0
    why: str = ""
    low: str | None = None
    high: str | None = None
    inside: tuple[str, ...] = ()
    seconds: float | None = None
    release: str = ""

    def _sentence(self) -> str:
        build = f", likely built in {span(self.seconds)}" if self.seconds else ""
        release = f" = {self.release}" if self.release else ""
        return f"next: {self.sha[:12]}{release} ({self.number} of {self.of}{build}): {self.why}"


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
class CulpritFound(Event):
    """A culprit is confirmed, with its step in percent of its parent and its part of the whole, as a ratio;
    `release` is its tag if it is a tagged release."""

    kind = "culprit-found"
    sha: str = ""
    subject: str = ""
    percent: float = 0.0
    metric: str = ""
    share: float = 0.0
    release: str = ""

    def _sentence(self) -> str:
        release = f" = {self.release}" if self.release else ""
        return (
            f"culprit: {self.sha[:12]}{release} {self.subject} ({self.percent:+.2f} % {self.metric} against its "
            f"parent, {self.share:.0%} of the difference)"
        )
