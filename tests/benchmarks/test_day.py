"""The simulated day of a lab: what bisections that share hosts come to, what that asks of each part, and its tables."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import day
import pytest
import units
from hypothesis import given, settings
from hypothesis import strategies as st

from searching.crews import Together
from searching.farm import Setting, Story, search
from sizing.asked import KINDS, PRIORS, asked
from sizing.lab import DAY_S, Asked, Hosts, Lab, Seen, Sharing, alone, evenly, everything, left_over
from sizing.limits import NETWORK_BYTES_S, needs, parts
from sizing.units import MEASURED, MYSQL_57, MYSQL_80, ROCKSDB, STATED, Program, Units, Writes, series

UNITS = Units(
    programs={
        MYSQL_57: Program(search_s=20.0, clock_s=12.0),
        MYSQL_80: Program(0.0, 30.0, 12.0, sent_bytes=30e6, tree_bytes=50e6, pack_s=3.0, unpack_s=1.0, tree_s=5.0),
    },
    event=Writes(0.001, 200.0),
    build=Writes(0.01, 100_000.0),
    probe=Writes(0.002, 20_000.0),
    candidate=Writes(0.00001, 300.0),
    writers={1: 1000.0, 8: 800.0},
    of_build=4.0,
    of_probe=3.0,
    of_bisection=30.0,
    task_s=0.001,
    sent_s=2e-9,
    process_bytes=150e6,
)


def of(size: int, trial: int, at_s: float = 0.0, confirmation: Sequence[float] = (), **kind: Any) -> Asked:
    return Asked(at_s, ROCKSDB, size, partial(Story, Setting(size, **kind), 1, trial), confirmation)


@pytest.mark.parametrize("sharing", [alone, evenly, left_over, everything])
@pytest.mark.parametrize("trial", range(3))
def test_who_is_alone_in_a_lab_has_all_of_it(sharing: Sharing, trial: int) -> None:
    builders = 1 if sharing is alone else 6
    (told,) = Lab(Hosts(6, 2), sharing, 1).day([of(90, trial)]).answered
    expected = search(Story(Setting(90), 1, trial), builders, Together())
    assert told.found == expected.found
    assert told.builds_waited_s == told.probes_waited_s == 0
    assert told.begun == told.ordered == told.ended + told.finished
    # Both ends are counted twice, and nothing is begun while a probe is waited for.
    assert told.hours == pytest.approx(expected.hours, rel=0.15)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 60), min_size=1, max_size=8),
    builders=st.integers(1, 9),
    probe_hosts=st.integers(1, 3),
    sharing=st.sampled_from([alone, evenly, left_over, everything]),
    gap_s=st.floats(0.0, 3000.0),
    dead=st.sampled_from([0.0, 0.2]),
)
def test_each_gets_its_answer_and_no_host_does_two_things_at_once(
    sizes: list[int], builders: int, probe_hosts: int, sharing: Sharing, gap_s: float, dead: float
) -> None:
    several = [of(size, n, n * gap_s, (13.0, 7.0), dead=dead) for n, size in enumerate(sizes)]
    found = Lab(Hosts(builders, probe_hosts), sharing, 1).day(several)
    for one, told in zip(several, found.answered, strict=True):
        story = one.story()
        assert any(low < culprit <= high for low, high in told.found for culprit in story.planted)
        assert told.begun <= told.ordered == told.ended + told.finished
        assert told.hours * 3600 >= told.probe_s
    span_s = max(one.asked_s + one.hours * 3600 for one in found.answered)
    assert sum(one.builder_s for one in found.answered) <= builders * span_s + 1e-6
    assert sum(one.probe_s for one in found.answered) <= probe_hosts * span_s + 1e-6
    assert found.most_active <= len(sizes)
    assert 0 <= found.builders_busy <= 1
    assert 0 <= found.probe_hosts_busy <= 1


def test_the_day_is_the_same_again_and_another_seed_makes_another() -> None:
    several = asked(12, UNITS, 3)
    first, again = (Lab(Hosts(8, 2), evenly, 3).day(several) for _ in range(2))
    assert first == again
    assert [one.at_s for one in asked(12, UNITS, 4)] != [one.at_s for one in several]


def test_who_reckons_with_all_builders_orders_more_than_who_reckons_with_a_share() -> None:
    several = [of(200, n) for n in range(6)]
    ordered = {
        sharing: sum(one.ordered for one in Lab(Hosts(8, 6), sharing, 1).day(several).answered)
        for sharing in (alone, evenly, everything)
    }
    assert ordered[alone] < ordered[evenly] < ordered[everything]


def test_all_on_the_first_probe_host_wait_for_each_other() -> None:
    several = [of(60, n) for n in range(6)]
    spread, first = (Lab(Hosts(12, 6, first=on), evenly, 1).day(several) for on in (False, True))
    waited = [sum(one.probes_waited_s for one in own.answered) for own in (spread, first)]
    assert waited[0] < waited[1]


@pytest.mark.parametrize(
    ("sharing", "seen", "told"),
    [
        (alone, Seen(80, 4, 20, 3), 1),
        (evenly, Seen(80, 4, 20, 3), 20),
        (evenly, Seen(80, 200, 80, 1), 1),
        (left_over, Seen(80, 4, 20, 3), 63),
        (left_over, Seen(80, 4, 120, 3), 1),
        (everything, Seen(80, 4, 120, 3), 80),
    ],
)
def test_with_how_many_builders_a_bisection_reckons(sharing: Sharing, seen: Seen, told: int) -> None:
    assert sharing(seen) == told


def test_the_mix_of_a_day() -> None:
    assert sum(kind.part for kind in KINDS) == pytest.approx(1.0)
    assert sum(part for _, part in PRIORS) == pytest.approx(1.0)
    several = asked(400, UNITS, 1)
    assert [one.at_s for one in several] == sorted(one.at_s for one in several)
    assert 0 <= several[0].at_s <= several[-1].at_s < DAY_S
    working = sum(8 * 3600 <= one.at_s < 18 * 3600 for one in several) / 400
    assert working == pytest.approx(0.6, abs=0.08)
    assert {one.series for one in several} == set(STATED)


def test_what_a_day_asks_of_each_part() -> None:
    (told,) = Lab(Hosts(4, 1), alone, 1).day([of(40, 1, confirmation=(10.0,))]).answered
    told = replace(told, series=MYSQL_80, begun=10, finished=8, probed=7, probes=20, builder_s=5000.0)
    needed = needs([told, told], UNITS)
    assert needed.moved_bytes == 2 * (10 * 50e6 + 8 * 30e6 + 7 * 30e6)
    assert needed.parcels_s == 2 * (10 * 5.0 + 8 * 1.0 + 7 * 3.0)
    assert needed.writes == 2 * (10 * 4 + 20 * 3 + 30 + 8 + 20 + 2)
    assert needed.store_bytes == 2 * ((40 + 60 + 30) * 200 + 8 * 100_000 + 20 * 20_000 + 40 * 300)
    assert needed.tasks == 60
    found = {one.name: one for one in parts(needed, UNITS, 4, 1, 2, 8e9)}
    assert found["builders"].share == 10_000 / (4 * DAY_S)
    assert found["head: network, 1 Gbit/s"].share == needed.moved_bytes / NETWORK_BYTES_S / DAY_S
    # The slowest of all rates that were measured.
    assert found["head: store, one writer at a time"].share == needed.writes / 800 / DAY_S
    assert found["builders"].most(2) == pytest.approx(2 * 4 * DAY_S / 10_000)
    assert [one.share for one in found.values()] == sorted((one.share for one in found.values()), reverse=True)


def test_tables_have_a_line_for_each_day() -> None:
    trials = [day.simulated(hosts, day.OURS, 6, UNITS, 1) for hosts in day.divided(10)]
    lines = list(day.table(trials))
    assert len(lines) == len(trials) + 2
    assert len({line.count("|") for line in lines}) == 1
    assert day.best(trials) in trials
    found = parts(needs(trials[0].day.answered, UNITS), UNITS, 9, 1, 6, 8e9)
    assert len({line.count("|") for line in day.limits(found, 6)}) == 1
    told = list(day.by_series(trials[0]))
    assert len({line.count("|") for line in told}) == 1
    assert len({line.count("|") for line in units.table(UNITS)}) == 3


def test_hosts_are_divided_with_one_of_each_at_least() -> None:
    assert [(one.builders, one.probe_hosts) for one in day.divided(2)] == [(1, 1)]
    assert {one.builders + one.probe_hosts for one in day.divided(100)} == {100}


def test_figures_are_kept_as_they_were_measured(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(UNITS.to_json()))
    assert Units.read(path) == UNITS
    assert UNITS.program(ROCKSDB) == STATED[ROCKSDB]
    assert UNITS.program(MYSQL_80).build_cpu_s == STATED[MYSQL_80].build_cpu_s
    assert UNITS.program(MYSQL_80).sent_bytes == 30e6
    kept = Units.read(MEASURED)
    assert all(min(vars(kept.program(name)).values()) > 0 for name in STATED)
    assert [series("mysql", "8.0.45"), series("rocksdb", "6.21.0")] == ["mysql 8.0", "rocksdb"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hosts", "1"], "--hosts is 2 at least"),
        (["--bisections", "0"], "--bisections is 1 at least"),
        (["--seed", "-1"], "--seed is 0 at least"),
        (["--hosts", "many"], "invalid int value: 'many'"),
    ],
)
def test_what_is_asked_wrongly_is_told_in_a_line(words: list[str], said: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        day.main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [(["/nowhere"], "/nowhere has no store.sqlite"), (["--clone", "mysql"], "'mysql' is not ENGINE=DIRECTORY")],
)
def test_a_home_that_is_none_is_told_in_a_line(words: list[str], said: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        units.main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
