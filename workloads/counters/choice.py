"""Which instruction counters there are, which of them work on this host, and which one to take."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import COUNTERS, Counter, Simulation
from cpubisect.base.sandbox.policy import Kind
from cpubisect.workloads.counters.counting import HeavyCounter, LightCounter
from cpubisect.workloads.probe import ProbeRequest

_ROOM = "cpubisect.workloads.counters"


@dataclass(frozen=True)
class Choice:
    """The counter to use, and why in one line."""

    counter: Counter
    reason: str


def counter_of(name: Counter) -> LightCounter | HeavyCounter | None:
    """What counts by that name; None for `Counter.NONE`."""
    if name is Counter.NONE:
        return None
    found: LightCounter | HeavyCounter = importlib.import_module(f"{_ROOM}.{name.value}").COUNTER
    return found


def counter_for(request: ProbeRequest) -> LightCounter | HeavyCounter | None:
    """What counts as a probe asks, with its simulations; None if it asks for no instructions."""
    counter = counter_of(request.counter) if request.instructions else None
    if isinstance(counter, HeavyCounter):
        return counter.simulating(request.simulations, request.profiled)
    return counter.confined() if counter and request.sandbox is Kind.BUBBLEWRAP else counter


def every_counter() -> tuple[LightCounter | HeavyCounter, ...]:
    """All that count, best first."""
    return tuple(found for name in COUNTERS if (found := counter_of(name)) is not None)


def examine() -> dict[Counter, str]:
    """Try every counter on this host for real: by its name why it does not work, empty if it does; takes under three
    seconds each."""
    return {counter.name: counter.problem() for counter in every_counter()}


def choose(
    problems: Mapping[Counter, str], wanted: Counter | None = None, simulations: Sequence[Simulation] = ()
) -> Choice:
    """The counter for a bisection, by what `examine` found: the one wanted or, without a wish, the best that works.

    Raises UserError if the one wanted does not work here, or does not simulate what is to be simulated.
    """
    choice = _choose(problems, wanted)
    if simulations and not choice.counter.simulates:
        able = " or ".join(counter for counter in COUNTERS if counter.simulates)
        raise UserError(
            f"only {able} simulates caches and branches ({choice.reason})",
            "leave out --counter, or see `bisect doctor`",
        )
    return choice


def _choose(problems: Mapping[Counter, str], wanted: Counter | None) -> Choice:
    if wanted is not None:
        if problem := problems.get(wanted):
            raise UserError(f"{wanted} does not count here ({problem})", "leave out --counter, or see `bisect doctor`")
        return Choice(wanted, f"{wanted} was asked for")
    refused: list[str] = []
    for counter in every_counter():
        if not problems[counter.name]:
            return Choice(counter.name, "; ".join((*refused, counter.merit)))
        refused.append(f"no {counter.name} ({problems[counter.name]})")
    return Choice(Counter.NONE, ", ".join(refused))
