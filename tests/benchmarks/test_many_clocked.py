"""The simulation of many builders on CPU time: what its clock says, and its table."""

import subprocess
import sys
from pathlib import Path

import many_clocked
import pytest

from cpubisect.run.runner import run
from searching.builders import ManyBuilders
from searching.host import Host
from searching.world import World

ROOT = Path(__file__).resolve().parents[2]
SMALL = World(size=60, step=10.0)


def test_the_right_answer_comes_sooner_with_builders_beside_the_host() -> None:
    one, four = (many_clocked.search(SMALL, k, 1, 3) for k in (1, 4))
    assert one.right
    assert four.right
    assert four.hours < one.hours


def test_the_clock_goes_on_by_probes_and_to_the_end_of_what_is_waited_for() -> None:
    host = Host(SMALL.draw(1, 0))
    lab = ManyBuilders(host, 2)
    assert lab.crew.begin("0")
    assert lab.crew.begin("59")
    assert host.clock_s == 0
    assert set(lab.crew.take_in(wait=True)) == {"0", "59"}
    assert host.clock_s == SMALL.build_s, "both were built at once"
    host.probe(0)
    assert host.clock_s == SMALL.build_s + SMALL.probe_s
    assert not lab.crew.begin("0")
    assert lab.crew.begin("30")
    lab.crew.withdraw(["30"], "nobody needs it")
    assert not lab.crew.begun()
    assert host.builds == 3


@pytest.mark.parametrize("dead", [0.1, 0.3])
def test_what_cannot_be_built_is_built_once(dead: float) -> None:
    host = Host(World(size=60, step=10.0, dead=dead).draw(1, 2))
    lab = ManyBuilders(host, 4)
    run(lab)
    rows = [row for row, _ in lab.builds()]
    assert len({row.sha for row in rows}) == len(rows)


def test_the_table_has_what_was_searched() -> None:
    told = {SMALL: {k: [many_clocked.search(SMALL, k, 1, trial) for trial in range(2)] for k in many_clocked.KS}}
    head, _, hours, *rest = many_clocked.table(told)
    assert head.count("k = ") == len(many_clocked.KS)
    assert hours.startswith("| 60 | 10 |")
    assert "(×1.00)" in hours
    assert rest[-1].endswith("| 2 of 2 |")
    assert many_clocked.headline(told)["right_8"] == 1.0


def test_bad_input_is_one_line() -> None:
    words = [sys.executable, str(ROOT / "benchmarks" / "many_clocked.py"), "--trials", "0"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("there is one trial at least")
    assert not done.stdout
