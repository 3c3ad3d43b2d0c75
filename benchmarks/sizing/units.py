"""The figures that a large lab is reckoned with: measured by `benchmarks/units.py`, or stated with their source."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

MEASURED = Path(__file__).with_name("measured.json")
"""What `python benchmarks/units.py --write` keeps."""

ROCKSDB, MYSQL_57, MYSQL_80 = "rocksdb", "mysql 5.7", "mysql 8.0"

CORES = 2
"""Of a builder: as many as the host had that the figures are from."""


@dataclass(frozen=True)
class Program:
    """What commits of one engine's series take: CPU seconds of a build with an empty compiler cache, seconds of a probe
    of the search and of one that reads the clock, bytes of a kept build and of the same as it is sent, of a tree as it
    is sent, and the CPU seconds of the head to pack a kept build, to unpack and compare one, and to pack a tree."""

    build_cpu_s: float = 0.0
    search_s: float = 0.0
    clock_s: float = 0.0
    artifact_bytes: float = 0.0
    sent_bytes: float = 0.0
    tree_bytes: float = 0.0
    pack_s: float = 0.0
    unpack_s: float = 0.0
    tree_s: float = 0.0

    @property
    def build_s(self) -> float:
        """Of a whole build on a builder that does nothing else and keeps its cores busy."""
        return self.build_cpu_s / CORES

    def or_else(self, other: "Program") -> "Program":
        """With what another says where this says nothing."""
        return replace(other, **{name: value for name, value in asdict(self).items() if value})


STATED: Mapping[str, Program] = {
    # docs/lean-builds.md (6.21.0); 180 s for 30 probes in docs/case-studies/rocksdb-8.5-to-8.8-seekrandom.md.
    ROCKSDB: Program(build_cpu_s=447.0, search_s=6.0, clock_s=6.0),
    # docs/built.md (5.7.19, 796 of 824 compiled); docs/lean-builds.md (8.0.22), with the clock of 5.7.
    MYSQL_57: Program(build_cpu_s=529.0),
    MYSQL_80: Program(build_cpu_s=1671.0, clock_s=13.9),
}
"""Where no home directory tells."""


@dataclass(frozen=True)
class Writes:
    """What is written into the store for one thing that happened: seconds of its transaction and bytes in the file."""

    seconds: float = 0.0
    bytes: float = 0.0


@dataclass(frozen=True)
class Units:
    """All of them. `programs` are by series; `event`, `build` and `probe` are single transactions, `candidate`
    is one line of those that write a history and its suspects; `writers` says how many events a second so many writers
    at once come to; an event is written so often for each build, each probe and
    each bisection (`of_build`, `of_probe`, `of_bisection`). A task takes the scheduler `task_s` CPU seconds, and
    `sent_s` for each byte of what is within its messages; a bisection's process has `process_bytes` of memory."""

    programs: Mapping[str, Program]
    event: Writes = Writes()
    build: Writes = Writes()
    probe: Writes = Writes()
    candidate: Writes = Writes()
    writers: Mapping[int, float] | None = None
    of_build: float = 0.0
    of_probe: float = 0.0
    of_bisection: float = 0.0
    task_s: float = 0.0
    sent_s: float = 0.0
    process_bytes: float = 0.0

    def program(self, name: str) -> Program:
        """Of one series, by measurement or as stated."""
        return self.programs.get(name, Program()).or_else(STATED[name])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse."""
        own = dict(data)
        own["programs"] = {name: Program(**one) for name, one in own["programs"].items()}
        own |= {name: Writes(**own[name]) for name in ("event", "build", "probe", "candidate")}
        own["writers"] = {int(count): rate for count, rate in (own["writers"] or {}).items()}
        return cls(**own)

    @classmethod
    def read(cls, path: Path = MEASURED) -> Self:
        """What is kept; raises OSError or ValueError."""
        return cls.from_json(json.loads(path.read_text()))


def series(engine: str, version: str) -> str:
    """Whose figures count for a build: MySQL's by series, RocksDB's are alike."""
    return engine if engine == ROCKSDB else f"{engine} {'.'.join(version.split('.')[:2])}"
