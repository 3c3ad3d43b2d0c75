"""The lab in which nothing is built or run: what layout is there."""

from statistics import fmean, stdev
from typing import Any

import pytest
from fake_lab import FakeLab, straight
from questions import question

from cpubisect.base.metrics import CPU
from cpubisect.records.purpose import Purpose
from cpubisect.run.measuring import Unobservable

COMMITS = straight(*[1000.0] * 40)
LINKS = range(6)


def lab(**host: Any) -> FakeLab:
    return FakeLab(COMMITS, question(good_sha="c0", bad_sha="c39"), **host)


def costs(of: FakeLab, sha: str, link: int, count: int = 1) -> list[float]:
    rows = of.probes(sha, Purpose.CLOCK.linked(link), count)
    return [row.values[CPU][0] for row in rows]


def test_each_link_has_one_cost_whenever_it_is_read() -> None:
    orders = [[(sha, link) for sha in COMMITS for link in LINKS], [(sha, link) for link in LINKS for sha in COMMITS]]
    found = []
    for order in orders:
        host = lab(layout=0.02)
        found.append({of: costs(host, *of, 2) for of in order})
    assert found[0] == found[1]
    assert all(first == second for first, second in found[0].values())
    effects = [cost / 10 - 1 for cost, _ in found[0].values()]
    assert len(set(effects)) == len(effects)
    assert 0.017 < stdev(effects) < 0.023
    assert abs(fmean(effects)) < 0.005
    assert costs(lab(layout=0.02, seed=2), "c0", 0) != costs(lab(layout=0.02), "c0", 0)


def test_without_layout_all_links_cost_the_same() -> None:
    assert {cost for link in LINKS for cost in costs(lab(), "c3", link)} == {10.0}


def test_a_redraw_takes_its_time_once() -> None:
    host = lab(build_s=100.0, link_s=3.0, probe_s=10.0)
    for link in (0, 1, 1, 2):
        costs(host, "c0", link, 2)
    assert host.clock_s == 100 + 2 * 3 + 6 * 10


def test_there_are_none_where_the_host_has_none() -> None:
    host = lab(redraws="lld is not installed")
    assert costs(host, "c0", 0)
    with pytest.raises(Unobservable, match="lld is not"):
        costs(host, "c0", 1)
