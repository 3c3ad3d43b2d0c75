"""PURE: what a bisection can come to, each as data, and the verdict that says it in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.search.ends import DEFAULT_MIN_STEP, OF_LAYOUT, Regime, Yardstick
from cpubisect.search.exact import Done, Found
from cpubisect.search.line import Line
from cpubisect.search.question import Question
from cpubisect.search.stats import Step
from cpubisect.search.verdict import ChangedDefault, Culprit, Group, Kind, Sides, Verdict

LEAST_MOVED = 0.05
"""Percent: less than this that only moved between functions is not worth a word."""


SCREENED = (
    "searched by screening builds, which only show changes: what the ends cost and differ by is theirs; each culprit "
    "and its parent were measured in ordinary builds"
)
"""What must be known of an answer that was searched with `--screen`."""


class Outcome(Protocol):
    """What a bisection comes to."""

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words, for the question and the test that it answers."""


@dataclass(frozen=True)
class Seen:
    """What the ends showed: the step from good to bad by metric, and by metric that was looked at the smallest step, in
    percent, that would have been seen; where settings were pinned, `own` is the step in instructions with each server's
    own defaults."""

    steps: Mapping[str, Step] = field(default_factory=dict)
    visible: Mapping[str, float] = field(default_factory=dict)
    own: Step | None = None

    def notes(self, question: Question, test: str) -> Iterator[str]:
        """What is to be said of the servers' own defaults: that users may have seen more than was looked for."""
        pinned = self.steps.get(INSTRUCTIONS)
        if self.own is None or pinned is None:
            return
        seen = f"with the servers' own defaults the ends differ by {self.own.percent:+.2f} % {INSTRUCTIONS}"
        beyond = abs(self.own.percent) - abs(pinned.percent)
        if beyond >= self.visible.get(INSTRUCTIONS, DEFAULT_MIN_STEP):
            seen += (
                f", {beyond:.2f} % more than with pinned ones; to look for that, ask the same with --defaults server"
            )
        yield seen


@dataclass(frozen=True)
class UnmeasurableEnd:
    """An end, which has a `name`, cannot be built or probed."""

    name: str
    sha: str
    why: str

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        return Verdict(
            Kind.UNBUILDABLE,
            f"{self.name} ({self.sha[:12]}) cannot be measured: {self.why}",
            notes=("choose a neighbouring commit as the end, or add a rule to compiler-matrix.yaml",),
        )


@dataclass(frozen=True)
class EqualCode:
    """Both ends do the same when run."""

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        names = f"{question.good} and {question.bad}"
        return Verdict(Kind.NO_REGRESSION, f"no {question.find.value}: the code of {names} is equal")


@dataclass(frozen=True)
class Cancelling:
    """The largest change of one function between the ends, in percent of good's total: after cost that only moved is
    taken out (`net`), and with it (`gross`)."""

    net: float
    gross: float

    def note(self) -> str:
        """What it says of steps that cancel in the total."""
        moved = (
            f" if cost only moved between functions, else {self.gross:.2f} %"
            if self.gross >= self.net + LEAST_MOVED
            else ""
        )
        return f"steps that cancel in the total are at most {self.net:.2f} % per function{moved}"


@dataclass(frozen=True)
class TooSmall:
    """The ends differ by less than is looked for or could be seen; `linked_once` says why binaries linked anew were not
    asked, if that is why a difference may be hidden by where code lies."""

    seen: Seen
    cancelling: Cancelling | None = None
    linked_once: str = ""

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        parts = " or ".join(f"{percent:.2f} % in {metric}" for metric, percent in self.seen.visible.items())
        return Verdict(
            Kind.NO_REGRESSION,
            f"no {question.find.value} from {question.good} to {question.bad}: one of {parts} would have been seen",
            ends=self.seen.steps,
            smallest_visible=self.seen.visible,
            notes=(*self._notes(), *self.seen.notes(question, test)),
        )

    def _notes(self) -> Iterator[str]:
        if self.cancelling:
            yield self.cancelling.note()
        if self.linked_once:
            yield f"CPU time is of two binaries as they were linked: where code lies may hide more ({self.linked_once})"


@dataclass(frozen=True)
class OtherWay:
    """The ends differ, but not in the direction that is asked for; with a fork point between them, `sides` may say on
    which side of it."""

    seen: Seen
    metric: str
    change: Step
    sides: Sides | None = None

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        other = question.find.opposite
        word = "cheaper" if self.change.percent < 0 else "costlier"
        return Verdict(
            Kind.IMPROVEMENT if other.direction < 0 else Kind.NO_REGRESSION,
            f"{question.bad} is {word} than {question.good} ({self.change.percent:+.2f} % {self.metric}): "
            f"no {question.find.value}",
            metric=self.metric,
            ends=self.seen.steps,
            smallest_visible=self.seen.visible,
            notes=(
                f"to find what changed it, ask the same with --find {other}",
                *self.seen.notes(question, test),
            ),
            sides=self.sides,
        )


@dataclass(frozen=True)
class AtFork:
    """The whole difference is there where the lines of good and bad parted; `sides` is None if that was found so late
    that good's side was not read again."""

    seen: Seen
    metric: str
    fork: str
    sides: Sides | None = None

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        return Verdict(
            Kind.FORK_POINT,
            f"the difference is already there at the fork point {self.fork[:12]}: nothing after it on the way to "
            f"{question.bad} adds to it; what sets {question.good} apart is on its own branch",
            metric=self.metric,
            ends=self.seen.steps,
            smallest_visible=self.seen.visible,
            notes=(
                f"to find the commit of the good branch, ask the same from {self.fork[:12]} to {question.good} "
                f"with --find {question.find.opposite}",
            )
            if not question.both_sides
            else (),
            sides=self.sides,
        )


@dataclass(frozen=True)
class NotReproduced:
    """The ends differed by `change` at first, and by `remainder` percent over more readings, from `fork` on if there is
    one: surely less than what is looked for if `small`, else noise hides whether they do."""

    seen: Seen
    yardstick: Yardstick
    change: Step
    remainder: float
    small: bool
    fork: str | None

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        metric, least = self.yardstick.metric, self.yardstick.min_step
        rest = (
            f"less than the smallest step looked for, {least:.2f} %"
            if self.small
            else f"not sure: {self.seen.visible[metric]:.2f} % would have been"
        )
        searched = f"from the fork point {self.fork[:12]} on " if self.fork else ""
        return Verdict(
            Kind.NO_REGRESSION,
            f"the ends differed by {self.change.percent:+.2f} % {metric} at first, and {searched}"
            f"by {self.remainder:+.2f} % over more readings, which is {rest}",
            metric=metric,
            ends=self.seen.steps,
            smallest_visible=self.seen.visible,
            remainder=self.remainder,
        )


@dataclass(frozen=True)
class OnlyLayout:
    """The ends differed by `change` as they were built, and by `redrawn`, which is not sure to be any, in so many
    `rounds` of binaries that were linked anew for each: where code lies made the difference."""

    seen: Seen
    metric: str
    change: Step
    redrawn: Step
    rounds: int

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        placed = self.change.percent - self.redrawn.percent
        return Verdict(
            Kind.LAYOUT,
            f"where code lies makes the difference, not what it does: {question.good} and {question.bad} differ by "
            f"{self.change.percent:+.2f} % {self.metric} as they were built, and by {self.redrawn.percent:+.2f} % in "
            f"{self.rounds} rounds of binaries that were linked anew for each; {self.seen.visible[self.metric]:.2f} % "
            f"would have been seen",
            metric=self.metric,
            ends={**self.seen.steps, self.metric: self.redrawn},
            smallest_visible=self.seen.visible,
            notes=(f"{placed:+.2f} % of the difference is the layout of these two binaries",),
        )


@dataclass(frozen=True)
class Confirmed:
    """The line was searched and its steps confirmed: the culprits, by their share, and what can't be told apart;
    `mishaps` are commits that failed to build once only. Changed `defaults` may explain the whole `change`; `settings`
    are what the user would set to take each of them out. `sides` say what good's own branch made of the difference, if
    it has one; `refused` are commits whose steps did not show against their parents."""

    seen: Seen
    yardstick: Yardstick
    line: Line
    done: Done
    culprits: tuple[Culprit, ...]
    groups: tuple[Group, ...]
    mishaps: tuple[str, ...] = ()
    change: Step | None = None
    defaults: tuple[ChangedDefault, ...] = ()
    settings: tuple[str, ...] = ()
    sides: Sides | None = None
    refused: tuple[str, ...] = ()

    def verdict(self, question: Question, test: str) -> Verdict:
        """In words."""
        kind = Kind.CULPRIT if self.culprits else Kind.ONE_OF if self.groups else Kind.NO_REGRESSION
        sentence = self._sentence(kind)
        if self.defaults and self.change:
            kind, sentence = Kind.CHANGED_DEFAULT, f"{self._explained(self.change)}; {sentence}"
        return Verdict(
            kind,
            sentence,
            metric=self.yardstick.metric,
            ends=self.seen.steps,
            culprits=self.culprits,
            groups=self.groups,
            defaults=self.defaults,
            smallest_visible={**self.seen.visible, self.yardstick.metric: self.yardstick.min_step},
            remainder=self.done.remainder,
            notes=(
                *(f"--set {setting} takes it out" for setting in self.settings),
                *map(self._moved, self.done.shifts),
                *self._left(asked_for_all=question.min_step is not None, first=question.first),
                *(f"{sha[:12]} failed to build once, and was built when that was tried again" for sha in self.mishaps),
                *self._modelled(),
                *self._other_side(question),
                *self.seen.notes(question, test),
                *([SCREENED] if question.screen else ()),
            ),
            sides=self.sides,
        )

    def _other_side(self, question: Question) -> Iterator[str]:
        """Of what good's own branch made, where that was not asked for."""
        saved = -self.yardstick.direction * self.sides.good.percent if self.sides else 0.0
        if saved >= self.yardstick.min_step and not question.both_sides:
            yield f"what {question.good}'s own branch makes of the difference is searched with --both-sides"

    def _modelled(self) -> Iterator[str]:
        """Of what a simulation may take for a step."""
        metric = self.yardstick.metric
        if metric in OF_LAYOUT:
            yield (
                f"where code lies has a part in {metric}: of the example, builds that only moved code were seen "
                f"{OF_LAYOUT[metric]:g} % apart"
            )

    def _explained(self, change: Step) -> str:
        names = ", ".join(f"{found.variable} ({found.good} → {found.bad})" for found in self.defaults)
        return f"a changed default explains the step of {change.percent:+.2f} %: {names}"

    def _sentence(self, kind: Kind) -> str:
        metric = self.yardstick.metric
        if kind is Kind.CULPRIT:
            first, *others = self.culprits
            size = f"{first.steps[metric].percent:+.2f} % {metric}"
            more = f", and {len(others)} more with smaller shares" if others else ""
            return f"{first.called} ({size} against {first.after}){more}"
        if kind is Kind.ONE_OF:
            group = self.groups[0]
            return f"one of these {len(group.commits)} commits ({group.percent:+.2f} % {metric}): {group.why}"
        among = len(self.line.commits()) - 1
        return (
            f"the ends differ, but no step of {self.yardstick.min_step:.2f} % or more is among the {among} candidates"
        )

    def _moved(self, shift: Found) -> str:
        """Of a place where cost changed and the total did not, or the other way."""
        opposes = -self.yardstick.direction * shift.percent >= self.yardstick.min_step
        return (
            f"after {self.line.built(shift.low)[:12]} up to {self.line.built(shift.high)[:12]} "
            f"{'there is a step the other way' if opposes else 'cost moved or cancelled'}: "
            f"{shift.percent:+.2f} % in total, {shift.largest:.2f} % in one function"
        )

    def _left(self, *, asked_for_all: bool, first: bool) -> list[str]:
        """Of what was not split and not searched."""
        notes = []
        if first and self.yardstick.direction * self.done.remainder >= self.yardstick.min_step:
            notes.append(
                f"the search ended with the first step, as was asked (--first): {self.done.remainder:+.2f} % of the "
                "difference is elsewhere"
            )
        if self.done.hidden:
            notes.append(
                f"what cancels within an unsplit interval is at most {self.done.hidden:.2f} % per function, without "
                "what seems to have moved from one function to another"
            )
        some_left = self.yardstick.direction * self.done.remainder >= self.yardstick.min_step
        if self.yardstick.regime is Regime.NOISY and not asked_for_all and some_left and not first:
            notes.append(
                f"{self.done.remainder:+.2f} % of the difference is not in these steps and was not searched further; "
                "`--min-step` asks for every step of that size"
            )
        return notes


def reasons(line: Line, found: Found, dead: Mapping[int, str], regime: Regime) -> str:
    """Why the candidates of a step that was searched to its end cannot be told apart; `dead` maps a number that cannot
    be measured to why."""
    between = range(found.low + 1, found.high)
    failed = [number for number in between if number in dead]
    told = []
    if regime is Regime.NOISY and len(failed) < len(between):
        told.append(f"noise hides which; one of them has the step with P = {min(1.0, found.probability):.3f}")
    if failed:
        tried = f"{len(failed)} between {'was' if len(failed) == 1 else 'were'} tried and cannot be measured"
        told.append(f"{tried} ({line.built(failed[0])[:12]}: {dead[failed[0]]})")
    if found.untried:
        told.append(f"{found.untried} more fail alike on both sides and were not tried")
    return "; ".join(told)
