"""What tests of whole bisections need to be the same on any host, however busy it is."""

import random
import re
from dataclasses import replace

import pytest

from cpubisect.base.engine import Engine
from cpubisect.base.metrics import CPU
from cpubisect.run.bench import here
from cpubisect.workloads.probe import ProbeRequest, Samples

_COST = re.compile(rb"cost of a lookup: (\d+)")
_NOISE = 0.01


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time is what the probed binary says a lookup costs, with a little noise that is always the same: everything
    is built and run as ever, but what else the host does has no part in the figures."""
    noise = random.Random(1)
    real = here.measure

    def measure(engine: Engine, request: ProbeRequest) -> Samples:
        samples = real(engine, request)
        found = _COST.search((request.artifact / "db_bench").read_bytes())
        assert found is not None
        cost = int(found[1]) / 100
        clocked = tuple(cost * (1 + _NOISE * noise.gauss(0.0, 1.0)) for _ in samples.values[CPU])
        return replace(samples, values={**samples.values, CPU: clocked})

    monkeypatch.setattr(here, "measure", measure)
