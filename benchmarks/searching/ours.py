"""This product, from the ends to the verdict, in a simulated lab."""

from cpubisect.run.runner import run
from searching.host import Host
from searching.lab import SimulatedLab
from searching.result import Result


def bisect(host: Host) -> Result:
    """Its own orchestration, as it is; raises Stopped."""
    return Result.of(run(SimulatedLab(host)))
