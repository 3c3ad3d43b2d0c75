"""This product's search as it is, told what a host can tell it."""

from cpubisect.search.digest import Reading
from cpubisect.search.noisy import next_action
from cpubisect.search.situation import Probe, Situation, Steps
from searching.host import Answer, Host

PROBE_LIMIT = 5000
"""Probes after which it counts as having no answer."""


def search(host: Host) -> Answer | None:
    """Do what it asks for until it answers; its first step, or None where it sees none."""
    readings: list[Reading] = []

    def read(number: int) -> None:
        started = host.clock_s
        readings.append(Reading(number, host.probe(number), started))

    while len(readings) < PROBE_LIMIT:
        action = next_action(
            Situation(
                size=host.size,
                readings=tuple(readings),
                dead=host.failures,
                build_s=host.price,
                probe_s=host.probe_s,
                direction=1,
            )
        )
        if not isinstance(action, Probe):
            if not isinstance(action, Steps) or not action.found:
                return None
            first = action.found[0]
            return Answer(first.low, first.high, first.probability)
        if host.build(action.number):
            for _ in range(action.count):
                if action.beside is not None:
                    read(action.beside)
                read(action.number)
    return None
