"""What is measured, by the names it has in the store, in reports and on pages; and how instructions are counted."""

from enum import StrEnum

INSTRUCTIONS = "instructions/query"
CPU = "cpu us/query"
CONTEXT_SWITCHES = "context-switches/query"
QPS = "qps"
METRICS = (INSTRUCTIONS, CPU, CONTEXT_SWITCHES, QPS)


class Counter(StrEnum):
    """How instructions are counted, best first; the kinds never mix within one bisection.

    Each but `NONE` counts by the object `COUNTER` of the module of its name in `workloads/`.
    """

    HARDWARE = "perf"
    CALLGRIND = "callgrind"
    NONE = "none"

    @property
    def tells_functions(self) -> bool:
        """Whether its counts are by function, with the calls between them."""
        return self is Counter.CALLGRIND


COUNTERS = tuple(counter for counter in Counter if counter is not Counter.NONE)
"""Those that can be asked for."""
