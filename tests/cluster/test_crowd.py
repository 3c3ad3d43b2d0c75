"""A head, four builders and two probe hosts as real processes, each with a home of its own and nothing shared but the
address: the verdict is that of one host, and each does only what it is there for."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_bisections import BENCH, QUICK, UNCONFINED, cost, history, tree, verdict_of
from small_cluster import Process, SmallCluster, journal

from cpubisect.base.metrics import CPU

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")

SIZE, STEPS = 16, {5: 800, 11: 2000}
"""So many commits, and by how much some of them make reading costlier."""

BUILDERS, PROBERS = ("b1", "b2", "b3", "b4"), ("p1", "p2")


def apart(place: Path, name: str) -> dict[str, str]:
    """The environment of a host that has its temporary files and its user's directory for itself, too."""
    own = {variable: place / "apart" / name / variable for variable in ("TMPDIR", "HOME", "XDG_CACHE_HOME")}
    for directory in own.values():
        directory.mkdir(parents=True)
    return {variable: str(directory) for variable, directory in own.items()}


def answer(process: Process) -> dict[str, Any]:
    code, output = process.ended()
    assert code == 0, process.said
    found: dict[str, Any] = json.loads(output)
    return found


@pytest.mark.long
def test_four_builders_and_two_probe_hosts_come_to_the_verdict_of_one(tmp_path: Path) -> None:
    costs = [1000 + number + sum(more for at, more in STEPS.items() if number >= at) for number in range(SIZE)]
    story = history({**tree(costs[0]), "small_bench.c": BENCH}, *map(cost, costs[1:]))
    shas = [sha for _, sha in sorted(story.write(tmp_path / "kv").items())]
    words = ["start", shas[0], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom", "--json"]
    words += [*QUICK, *UNCONFINED]
    alone = answer(Process(words, tmp_path / "alone", {}))
    with SmallCluster(tmp_path / "cluster") as cluster:
        for name in (*BUILDERS, *PROBERS):
            role = "build" if name in BUILDERS else "probe"
            cluster.start(name, role, environment=apart(tmp_path, name))
        cluster.ready(*BUILDERS, *PROBERS)
        together = answer(cluster.run(*words))
        for name in (*BUILDERS, *PROBERS):
            cluster.hosts[name].end()
    homes = {name: cluster.place / name for name in (*BUILDERS, *PROBERS)}
    told = journal(cluster.place / "mine", together["id"])

    found, expected = verdict_of(together), verdict_of(alone)
    assert found["kind"] == expected["kind"]
    culprits = [culprit["sha"] for culprit in expected["culprits"]]
    assert [culprit["sha"] for culprit in found["culprits"]] == culprits
    assert set(culprits) == {shas[at] for at in STEPS}

    built = [event["data"] for event in told if event["kind"] == "build-finished"]
    assert max(Counter(event["sha"] for event in built).values()) == 1
    assert {event["host"] for event in built} <= set(BUILDERS)
    assert len({event["host"] for event in built}) > 1
    made = Counter(file.name for name in BUILDERS for file in (homes[name] / "cluster/results").glob("*.result"))
    assert len(made) >= len(built)
    assert max(made.values()) == 1, "no two of them built a commit"

    probed = [event["data"] for event in told if event["kind"] == "probe-finished"]
    assert len({event["host"] for event in probed if CPU in event["values"]}) == 1, "the clock is of one host"
    assert {event["host"] for event in probed} <= set(PROBERS)
    for name in BUILDERS:
        assert not (homes[name] / "probe.lock").exists(), f"{name} made no probe"
    for name in PROBERS:
        assert not (homes[name] / "cluster/results").exists(), f"{name} built nothing"
        assert not [entry for entry in (homes[name] / "ccache").rglob("*") if entry.is_file()]
    for name, home in homes.items():
        assert not list((home / "work").glob("s*")), f"{name} leaves nothing behind"
        assert not [entry for entry in (tmp_path / "apart" / name / "TMPDIR").rglob("*") if entry.is_file()]
