"""A bisection on a cluster with several builders, as real processes: builds are made side by side, and the answer is
that of one host."""

import json
from collections import Counter
from pathlib import Path

import pytest
from small_bisections import BENCH, QUICK, UNCONFINED, cost, history, tree, verdict_of
from small_cluster import SmallCluster, journal

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")

SIZE, SLOW = 12, 8


@pytest.mark.long
def test_builds_are_made_side_by_side_and_the_answer_is_that_of_one_host(tmp_path: Path) -> None:
    costs = [cost((1000 if number < SLOW else 3000) + number) for number in range(1, SIZE)]
    story = history({**tree(1000), "small_bench.c": BENCH}, *costs)
    shas = [sha for _, sha in sorted(story.write(tmp_path / "kv").items())]
    words = ["start", shas[0], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom", "--json"]
    with SmallCluster(tmp_path / "cluster") as cluster:
        cluster.start("b1", "build", "--slots", "2")
        cluster.start("b2", "build")
        cluster.start("p1", "probe")
        cluster.ready("b1", "b2", "p1")
        asked = cluster.run(*words, *QUICK, *UNCONFINED)
        asked.until("probed in")
        _, status = cluster.run("status").ended()
        code, output = asked.ended()
        assert code == 0, asked.said
    assert "p1 (probe): " in status
    found = json.loads(output)
    assert [culprit["sha"] for culprit in verdict_of(found)["culprits"]] == [shas[SLOW]]
    told = journal(tmp_path / "cluster" / "mine", found["id"])
    built = [event["data"] for event in told if event["kind"] == "build-finished"]
    assert {event["host"] for event in built} <= {"b1", "b2"}
    assert max(Counter(event["sha"] for event in built).values()) == 1
    probed = [event["data"] for event in told if event["kind"] == "probe-finished"]
    assert {event["host"] for event in probed} == {"p1"}
    kinds = [event["kind"] for event in told if event["kind"] in ("build-started", "build-finished")]
    assert kinds[:2] == ["build-started"] * 2, "the ends are begun together"
    under_way = {"started": 0, "most": 0}
    for kind in kinds:
        under_way["started"] += 1 if kind == "build-started" else -1
        under_way["most"] = max(under_way.values())
    assert under_way["most"] >= 2
