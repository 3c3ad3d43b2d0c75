"""Telling a changed default from changed code, on servers whose cost is a function of their variables."""

from collections.abc import Mapping

import pytest

from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.records.purpose import Purpose
from cpubisect.records.store import ProbeRow
from cpubisect.run.defaults import explain_by_defaults
from cpubisect.run.measuring import Unobservable
from cpubisect.workloads.sysbench import WORKLOAD

GOOD = {"a_limit": "10", "b_switch": "OFF", "c_size": "1", "d_mode": "x", "version": "5.6"}
BAD = {"a_limit": "200", "b_switch": "ON", "c_size": "2", "d_mode": "y", "version": "5.7"}


class Servers:
    """Two commits: `code` is what the bad one's code costs more, `price` what a variable's bad value costs."""

    def __init__(self, code: float, price: Mapping[str, float], refuses: str = "") -> None:
        self.code, self.price, self.refuses = code, price, refuses
        self.asked = 0

    def probes(self, sha: str, purpose: Purpose, count: int) -> list[ProbeRow]:
        return [self._row(sha, dict(GOOD if sha == "good" else BAD))] * count

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        return WORKLOAD.variable(variable, lenient=lenient)

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        self.asked += 1
        names = {name.removeprefix("mysqld.loose_"): value for name, value in settings.items()}
        if self.refuses in names:
            raise Unobservable("unknown value")
        return self._row(sha, {**BAD, **names})

    def _row(self, sha: str, variables: dict[str, str]) -> ProbeRow:
        cost = 1000.0 + (self.code if sha == "bad" else 0.0)
        cost += sum(price for name, price in self.price.items() if variables[name] == BAD[name])
        return ProbeRow(1, 1, "point-query", Purpose.SEARCH, 1.0, None, {INSTRUCTIONS: (cost,)}, {}, variables, (), 0.0)


@pytest.mark.parametrize("names", [["a_limit"], ["d_mode"], ["a_limit", "d_mode"], ["b_switch", "c_size", "d_mode"]])
def test_the_variables_that_matter_are_singled_out(names: list[str]) -> None:
    servers = Servers(0.0, dict.fromkeys(names, 50.0))
    found = explain_by_defaults(servers, "good", "bad")
    assert [default.variable for default in found] == names
    assert [(default.good, default.bad) for default in found] == [(GOOD[name], BAD[name]) for name in names]


def test_slow_code_is_not_blamed_on_defaults() -> None:
    servers = Servers(100.0, {"a_limit": 10.0})
    assert explain_by_defaults(servers, "good", "bad") == ()
    assert servers.asked == 1


def test_mostly_a_default_counts_as_one() -> None:
    found = explain_by_defaults(Servers(10.0, {"a_limit": 90.0}), "good", "bad")
    assert [default.variable for default in found] == ["a_limit"]


def test_a_server_that_refuses_the_old_values_explains_nothing() -> None:
    assert explain_by_defaults(Servers(0.0, {"a_limit": 90.0}, refuses="c_size"), "good", "bad") == ()
