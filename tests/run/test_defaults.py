"""Telling a changed default from changed code, on servers whose cost is a function of their variables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.metrics import INSTRUCTIONS, LL_MISSES
from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import ProbeRow
from cpubisect.run.defaults import acceptable, explain_by_defaults, forms
from cpubisect.run.measuring import Unobservable
from cpubisect.workloads.sysbench import WORKLOAD

GOOD = {"a_limit": "10", "b_switch": "OFF", "c_size": "1", "d_mode": "x", "version": "5.6"}
BAD = {"a_limit": "200", "b_switch": "ON", "c_size": "2", "d_mode": "y", "version": "5.7"}


Values = Mapping[str, str]
Refuses = Callable[[Values], str]
"""Why a server does not start with some values of its variables; empty if it does."""


class Servers:
    """Two commits with costs in one metric: `code` is what the bad one's code costs more, `price` what a variable's
    bad value costs. The bad one `refuses` some values and keeps its own of what is `fixed`."""

    metric = INSTRUCTIONS

    def __init__(
        self, code: float, price: Mapping[str, float], refuses: Refuses = lambda values: "", fixed: Sequence[str] = ()
    ) -> None:
        self.code, self.price, self.refuses, self.fixed = code, price, refuses, fixed
        self.asked = 0
        self.started = 0

    def probes(self, sha: str, purpose: Purpose, count: int) -> list[ProbeRow]:
        return [self._row(sha, dict(GOOD if sha == "good" else BAD))] * count

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        return WORKLOAD.variable(variable, lenient=lenient)

    def ask(self, sha: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        self.started += 1
        names = {name.removeprefix("mysqld.loose_"): value for name, value in settings.items()}
        if why := self.refuses(names):
            raise Unobservable(f"probe: the server does not start: {why}")
        taken = {name: "OFF" if (name, value) == ("b_switch", "0") else value for name, value in names.items()}
        return {**BAD, **{name: value for name, value in taken.items() if name not in self.fixed}}

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        self.asked += 1
        return self._row(sha, dict(self.ask(sha, settings)))

    def _row(self, sha: str, variables: dict[str, str]) -> ProbeRow:
        cost = 1000.0 + (self.code if sha == "bad" else 0.0)
        cost += sum(price for name, price in self.price.items() if variables[name] == BAD[name])
        values = {INSTRUCTIONS: (1000.0,), self.metric: (cost,)}
        return ProbeRow(1, 1, "point-query", Purpose.SEARCH, 1.0, None, values, {}, variables, (), 0.0)


def refusing(words: str, *pairs: tuple[str, str]) -> Refuses:
    """A server that does not start with any of these values, and says so in such words."""

    def why(values: Values) -> str:
        found = next((name for name, value in pairs if values.get(name) == value), None)
        return words.format(found) if found else ""

    return why


def needing(name: str, other: str) -> Refuses:
    """A server that takes good's value of one variable only together with that of another one, and names neither."""

    def why(values: Values) -> str:
        return "cannot begin" if values.get(name) == GOOD[name] and values.get(other) != GOOD[other] else ""

    return why


@pytest.mark.parametrize("names", [["a_limit"], ["d_mode"], ["a_limit", "d_mode"], ["b_switch", "c_size", "d_mode"]])
def test_the_variables_that_matter_are_singled_out(names: list[str]) -> None:
    servers = Servers(0.0, dict.fromkeys(names, 50.0))
    found = explain_by_defaults(servers, "good", "bad").explaining
    assert [default.variable for default in found] == names
    assert [(default.good, default.bad) for default in found] == [(GOOD[name], BAD[name]) for name in names]


def test_slow_code_is_not_blamed_on_defaults() -> None:
    servers = Servers(100.0, {"a_limit": 10.0})
    assert explain_by_defaults(servers, "good", "bad").explaining == ()
    assert servers.asked == 1


def test_mostly_a_default_counts_as_one() -> None:
    found = explain_by_defaults(Servers(10.0, {"a_limit": 90.0}), "good", "bad")
    assert [default.variable for default in found.explaining] == ["a_limit"]


def test_a_variable_that_no_user_might_set_keeps_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for values, value in ((GOOD, "/good"), (BAD, "/bad")):
        for name in ("general_log_file", "skip_networking", "plugin_dir"):
            monkeypatch.setitem(values, name, value)
    servers = Servers(0.0, {"a_limit": 50.0, "plugin_dir": 50.0})
    found = explain_by_defaults(servers, "good", "bad")
    assert set(found.given) == {"a_limit", "b_switch", "c_size", "d_mode"}


@dataclass(frozen=True)
class Row:
    """A server that does not take all that it is given: what explains, and what could not be given."""

    name: str
    refuses: Refuses
    price: Mapping[str, float]
    explaining: Sequence[str]
    refused: Sequence[str] = ()
    fixed: Sequence[str] = ()


NAMED, UNNAMED = "Unknown suffix 'x' used for variable '{}'", "Aborting"
MATRIX = [
    Row("a refused value", refusing(NAMED, ("d_mode", "x")), {"a_limit": 90.0}, ["a_limit"], ["d_mode"]),
    Row(
        "a refused value that is not named",
        refusing(UNNAMED, ("c_size", "1")),
        {"a_limit": 90.0},
        ["a_limit"],
        ["c_size"],
    ),
    Row(
        "two refused values",
        refusing(UNNAMED, ("b_switch", "OFF"), ("b_switch", "0"), ("d_mode", "x")),
        {"a_limit": 90.0},
        ["a_limit"],
        ["b_switch", "d_mode"],
    ),
    Row("a switch that takes numbers", refusing(NAMED, ("b_switch", "OFF")), {"b_switch": 90.0}, ["b_switch"]),
    Row("a read-only one", refusing(""), {"a_limit": 90.0}, ["a_limit"], ["c_size"], fixed=["c_size"]),
    Row("only read-only ones", refusing(""), {"a_limit": 90.0}, [], [*GOOD][:4], fixed=[*GOOD]),
    Row("one that needs another", needing("a_limit", "d_mode"), {"a_limit": 90.0}, ["a_limit", "d_mode"]),
    Row("two that explain it together", refusing(""), {"a_limit": 50.0, "d_mode": 40.0}, ["a_limit", "d_mode"]),
    Row(
        "two together, beside a refused one",
        refusing(NAMED, ("c_size", "1")),
        {"a_limit": 50.0, "b_switch": 40.0},
        ["a_limit", "b_switch"],
        ["c_size"],
    ),
    Row("everything refused", lambda values: "Aborting" if values else "", {"a_limit": 90.0}, [], [*GOOD][:4]),
]


@pytest.mark.parametrize("row", MATRIX, ids=lambda row: row.name)
def test_what_a_server_does_not_take_is_left_out_and_told(row: Row) -> None:
    found = explain_by_defaults(Servers(0.0, row.price, row.refuses, row.fixed), "good", "bad")
    assert [default.variable for default in found.explaining] == list(row.explaining)
    assert sorted(found.refused) == list(row.refused)
    assert all(found.refused.values())


def test_one_that_a_server_names_costs_one_start_more() -> None:
    servers = Servers(100.0, {}, refusing(NAMED, ("c_size", "1")))
    explain_by_defaults(servers, "good", "bad")
    # Refused, taken, asked what it took, and measured.
    assert (servers.started, servers.asked) == (4, 1)


@given(st.frozensets(st.sampled_from(range(12))), st.booleans())
def test_no_more_is_left_out_than_is_refused(refused: frozenset[int], names: bool) -> None:
    wanted = {f"v{number}": ("good",) for number in range(12)}

    def start(values: Values) -> Values:
        wrong = sorted(f"v{number}" for number in refused if f"v{number}" in values)
        if wrong:
            raise Unobservable(f"wrong value of {wrong[-1]}" if names else "wrong value")
        return values

    chosen, left_out = acceptable(wanted, start)
    assert left_out.keys() == {f"v{number}" for number in refused}
    assert chosen.keys() == wanted.keys() - left_out.keys()


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ("200", "400", ("200",)),
        ("OFF", "ON", ("OFF", "0")),
        ("1.000000", "2.000000", ("1.000000", "1")),
        ("a=on,b=off", "a=off,c=on", ("a=on,b=off", "a=on")),
        ("a=on", "b=on", ("a=on",)),
        ("STRICT,ANSI", "", ("STRICT,ANSI",)),
    ],
)
def test_the_forms_of_a_value(good: str, bad: str, expected: tuple[str, ...]) -> None:
    assert forms(good, bad) == expected


def test_a_default_may_explain_what_instructions_do_not_see() -> None:
    servers = Servers(5.0, {"c_size": 300.0})
    servers.metric = LL_MISSES
    found = explain_by_defaults(servers, "good", "bad", LL_MISSES)
    assert [one.variable for one in found.explaining] == ["c_size"]
    assert found.metric == LL_MISSES
