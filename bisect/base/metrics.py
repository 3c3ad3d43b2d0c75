"""What is measured, by the names it has in the store, in reports and on pages; and how instructions are counted."""

from collections.abc import Sequence
from enum import StrEnum
from math import fsum

INSTRUCTIONS = "instructions/query"
CPU = "cpu us/query"
CONTEXT_SWITCHES = "context-switches/query"
QPS = "qps"

L1_MISSES = "l1-misses/query"
LL_MISSES = "ll-misses/query"
MISPREDICTIONS = "branch-mispredictions/query"

CYCLES = "cycles/query"
HARDWARE_INSTRUCTIONS = "hw-instructions/query"
BRANCH_MISSES = "branch-misses/query"
CACHE_MISSES = "cache-misses/query"
HARDWARE = (CYCLES, HARDWARE_INSTRUCTIONS, BRANCH_MISSES, CACHE_MISSES)
"""Events of the hardware in user mode: recorded wherever perf has them, never searched on."""

WITH_CLOCK = (CONTEXT_SWITCHES, QPS, *HARDWARE)
"""What is sampled in the runs of which CPU time is taken."""


class Simulation(StrEnum):
    """What a counter can simulate beside counting instructions; the value is the name of its option."""

    CACHE = "cache-sim"
    BRANCH = "branch-sim"


SIMULATED = {L1_MISSES: Simulation.CACHE, LL_MISSES: Simulation.CACHE, MISPREDICTIONS: Simulation.BRANCH}
"""What is counted in a simulation, and in which: misses of the first-level caches and of the last level, instructions
and data together, and conditional and indirect branches that were predicted wrong."""

COUNTED = (INSTRUCTIONS, *SIMULATED)
"""What is counted in runs of which no CPU time is taken, if the counter needs such."""

METRICS = (*COUNTED, CPU, *WITH_CLOCK)


class Counter(StrEnum):
    """How instructions are counted, best first; the kinds never mix within one bisection.

    What tells functions is better than what costs nothing: a profile has suspects, which make a search short. Each but
    `NONE` counts by the object `COUNTER` of the module of its name in `workloads/`.
    """

    CALLGRIND = "callgrind"
    HARDWARE = "perf"
    NONE = "none"

    @property
    def tells_functions(self) -> bool:
        """Whether its counts are by function, with the calls between them."""
        return self is Counter.CALLGRIND

    @property
    def simulates(self) -> bool:
        """Whether it can simulate caches and branches."""
        return self is Counter.CALLGRIND


COUNTERS = tuple(counter for counter in Counter if counter is not Counter.NONE)
"""Those that can be asked for."""


LEAST_EVENTS = 0.1
"""Of what is simulated a query that has fewer events has this many: what is next to none can't double."""


def reading(metric: str, samples: Sequence[float]) -> float:
    """What the samples of one probe say: their mean, but the smallest of CPU time, and LEAST_EVENTS at least of what is
    simulated.

    Load on a shared host only ever adds to CPU time; measured across server restarts, the minimum of a few short runs
    varies by about half as much as their mean.
    """
    if metric == CPU:
        return min(samples)
    mean = fsum(samples) / len(samples)
    return max(mean, LEAST_EVENTS) if metric in SIMULATED else mean


def digits(metric: str) -> int:
    """How many digits after the point a count of a metric is shown with: simulated events are few."""
    return 0 if metric == INSTRUCTIONS else 2
