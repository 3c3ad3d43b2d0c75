"""One search over one line: carries out what a strategy asks for until that says where the steps are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.search import events
from cpubisect.search.exact import Done
from cpubisect.search.line import Line


@dataclass(frozen=True)
class Action:
    """`measure` a number of the line because of `why`; the step is `between` two others, if that is known, and building
    it is expected to take so many `seconds`, None if that is not needed."""

    number: int
    why: str
    measure: Callable[[], None]
    between: tuple[int, int] | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Searched:
    """A line that was searched to its end: what was `done`, what the numbers that were measured cost (in the metric's
    unit), and which numbers are `dead`, with why; `noise` is the standard deviation of one reading in percent, none on
    an exact metric. It was not searched to its end if where code lies is `scattered`."""

    line: Line
    done: Done
    costs: Mapping[int, float]
    dead: Mapping[int, str]
    noise: float = 0.0
    scattered: bool = False

    @property
    def start(self) -> float:
        """What the line's first commit costs."""
        return self.costs[0]

    @property
    def end(self) -> float:
        """What its last commit costs."""
        return self.costs[self.line.size - 1]


class Strategy(Protocol):
    """Decides what to measure next, from all that was measured so far."""

    def next(self) -> Action | Searched:
        """What to measure now, or the end of the search."""

    def give_up(self, number: int, why: str) -> None:
        """A number could not be measured: it stays a candidate that can't be."""


def carry_out(lab: Lab, line: Line, strategy: Strategy) -> Searched:
    """Search a line to the end; raises Unobservable if one of its ends can't be measured."""
    while isinstance(action := strategy.next(), Action):
        announce(lab, line, action)
        try:
            action.measure()
        except Unobservable as reason:
            if action.number in (0, line.size - 1):
                raise
            strategy.give_up(action.number, str(reason))
            lab.tell(events.Unobservable(sha=line.built(action.number), why=str(reason)))
    return action


def announce(lab: Lab, line: Line, action: Action) -> None:
    """Say what is measured next, and why."""
    sha = line.built(action.number)
    low, high = (line.built(number) for number in action.between) if action.between else (None, None)
    lab.tell(
        events.Next(
            sha=sha,
            number=action.number,
            of=line.size - 1,
            why=action.why,
            low=low,
            high=high,
            inside=line.inside,
            seconds=action.seconds,
            release=lab.history.release(sha),
        )
    )
