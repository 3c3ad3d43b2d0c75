"""How far counts of one build were from each other, test by test, as `benchmarks/repeatability.py` measured it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "config" / "repeatability.json"
"""By engine the `commit`, its `version`, and by test the fields of `Repeated`; written by the benchmark only."""


@dataclass(frozen=True)
class Repeated:
    """Probes of one build: how many `probes`, their mean `count` in instructions per query, largest minus smallest
    count as a percentage of that, and the mean wall time of one."""

    probes: int
    count: float
    spread_percent: float
    seconds: float


@dataclass(frozen=True)
class Repeatability:
    """What was measured with one commit of an engine, by test."""

    commit: str
    version: str
    tests: Mapping[str, Repeated]


@cache
def measured() -> Mapping[str, Repeatability]:
    """All that was measured, by engine."""
    return {
        engine: Repeatability(
            known["commit"], known["version"], {name: Repeated(**one) for name, one in known["tests"].items()}
        )
        for engine, known in json.loads(FILE.read_text()).items()
    }


def spread_percent(engine: str, test: str) -> float | None:
    """Largest minus smallest count of a test on one build, in percent; None where that was not measured."""
    known = measured().get(engine)
    found = known and known.tests.get(test)
    return found.spread_percent if found else None
