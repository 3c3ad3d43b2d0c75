"""PURE: what a day of bisections asks of each part of a lab, and how much of it that is."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizing.lab import DAY_S, Answered
from sizing.units import Units

NETWORK_BYTES_S = 125e6
"""A network of 1 Gbit/s."""

OF_LINE = 2
"""A line is written at once, and so are its suspects."""


@dataclass(frozen=True)
class Needs:
    """Of a day: builds that were begun, ended well, and commits probed; seconds of builders and probe hosts; bytes that
    go through the head as trees, builds that arrive, and builds that go to a probe host; CPU seconds of the head for
    these; seconds of transactions, their number and the bytes that they leave; the scheduler's CPU seconds for tasks
    and, where all goes within its messages, for their bytes."""

    bisections: int
    builds: int
    finished: int
    probes: int
    builder_s: float
    probe_s: float
    trees_bytes: float
    arriving_bytes: float
    leaving_bytes: float
    parcels_s: float
    writes: float
    writes_s: float
    store_bytes: float
    tasks: int
    tasks_s: float
    messages_s: float

    @property
    def moved_bytes(self) -> float:
        """All that the head sends and receives."""
        return self.trees_bytes + self.arriving_bytes + self.leaving_bytes


def needs(answered: Sequence[Answered], units: Units) -> Needs:
    """What some bisections came to."""
    builds = sum(one.begun for one in answered)
    finished = sum(one.finished for one in answered)
    probes = sum(one.probes for one in answered)
    programs = {one.series: units.program(one.series) for one in answered}
    trees = sum(programs[one.series].tree_bytes * one.begun for one in answered)
    arriving = sum(programs[one.series].sent_bytes * one.finished for one in answered)
    # A probe host keeps what it was sent.
    leaving = sum(programs[one.series].sent_bytes * one.probed for one in answered)
    parcels_s = sum(
        own.tree_s * one.begun + own.unpack_s * one.finished + own.pack_s * one.probed
        for one in answered
        for own in (programs[one.series],)
    )
    told = units.of_build * builds + units.of_probe * probes + units.of_bisection * len(answered)
    lines = sum(one.size for one in answered)
    of = ((units.event, told), (units.build, finished), (units.probe, probes))
    tasks = builds + probes
    return Needs(
        bisections=len(answered),
        builds=builds,
        finished=finished,
        probes=probes,
        builder_s=sum(one.builder_s for one in answered),
        probe_s=sum(one.probe_s for one in answered),
        trees_bytes=trees,
        arriving_bytes=arriving,
        leaving_bytes=leaving,
        parcels_s=parcels_s,
        writes=sum(count for _, count in of) + OF_LINE * len(answered),
        writes_s=sum(one.seconds * count for one, count in (*of, (units.candidate, lines))),
        store_bytes=sum(one.bytes * count for one, count in (*of, (units.candidate, lines))),
        tasks=tasks,
        tasks_s=units.task_s * tasks,
        messages_s=units.sent_s * (trees + arriving + leaving),
    )


@dataclass(frozen=True)
class Part:
    """A part of the lab, with what of it a day asks for (`used` of `there`, both in the same unit), and in words."""

    name: str
    used: float
    there: float
    words: str

    @property
    def share(self) -> float:
        """How much of it is used."""
        return self.used / self.there

    def most(self, bisections: int) -> float:
        """So many bisections a day use all of it."""
        return bisections / self.share if self.share else float("inf")


def parts(day: Needs, units: Units, builders: int, probe_hosts: int, most_active: int, memory: float) -> list[Part]:
    """All parts of a lab, the one that is nearest to its end first; the head has so many bytes of `memory`."""
    writers = units.writers or {}
    rate = min(writers.values(), default=0.0)
    found = [
        Part("builders", day.builder_s, builders * DAY_S, f"{day.builder_s / DAY_S:.1f} of {builders} busy"),
        Part("probe hosts", day.probe_s, probe_hosts * DAY_S, f"{day.probe_s / DAY_S:.1f} of {probe_hosts} busy"),
        Part(
            "head: network, 1 Gbit/s",
            day.moved_bytes,
            NETWORK_BYTES_S * DAY_S,
            f"{day.moved_bytes / 1e12:.2f} TB: trees {day.trees_bytes / 1e12:.2f}, builds {_builds(day) / 1e12:.2f}",
        ),
        Part(
            "head: packing and unpacking, one core",
            day.parcels_s,
            DAY_S,
            f"{day.parcels_s / 3600:.1f} CPU h a day",
        ),
        Part(
            "head: scheduler, one core",
            day.tasks_s + day.messages_s,
            DAY_S,
            f"{day.tasks:,} tasks in {day.tasks_s:,.0f} s, messages in {day.messages_s:,.0f} s",
        ),
        Part(
            f"head: memory, {memory / 2**30:.0f} GB",
            most_active * units.process_bytes,
            memory,
            f"{most_active} processes at once, {units.process_bytes / 2**20:.0f} MB each",
        ),
        Part(
            "head: store, one writer at a time",
            day.writes,
            (rate or 1.0) * DAY_S,
            f"{day.writes:,.0f} transactions, {day.writes / DAY_S:.1f} a second; {day.store_bytes / 1e9:.2f} GB a day",
        ),
    ]
    return sorted(found, key=lambda one: -one.share)


def _builds(day: Needs) -> float:
    return day.arriving_bytes + day.leaving_bytes
