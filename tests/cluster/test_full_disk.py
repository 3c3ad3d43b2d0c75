"""A worker whose disk is full: one line names host and disk, the work is done elsewhere, and nothing is lost."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

from cluster_orders import hosts_of, order_of
from small_bisections import BENCH, QUICK, UNCONFINED, cost, history, tree, verdict_of
from small_cluster import SmallCluster, journal
from small_trees import GOOD, commit

from cpubisect.base.errors import UserError
from cpubisect.builders.build import Outcome
from cpubisect.search.events import Event
from soaking.disks import Skipped, fill, mount, unmount

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk"),
]

SIZE = "48m"
LEFT = (0, 50_000, 200_000, 1_000_000, 4_000_000)
"""So many bytes are left on it: not enough to begin, to take the tree in, to build, to keep what was built."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes the home of a host a small disk; the file that fills it."""
    made: list[Path] = []

    def make(name: str) -> Path:
        made.append(tmp_path / "cluster" / name)
        try:
            mount(made[-1], SIZE)
        except Skipped as why:
            pytest.skip(str(why))
        return made[-1] / "ballast"

    yield make
    for place in made:
        unmount(place)


def test_what_a_builder_has_no_space_for_is_built_elsewhere(tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    ballast = small_disk("b1")
    clone, told = tmp_path / "clone", list[str]()
    with SmallCluster(tmp_path / "cluster") as cluster:
        for name in ("b1", "b2"):
            cluster.start(name, "build")
        cluster.ready("b1", "b2")
        with hosts_of(cluster, tmp_path / "mine") as hosts:

            def built_on() -> list[str]:
                shas = [commit(clone, {**GOOD, "note.txt": os.urandom(8).hex()}) for _ in range(2)]
                orders = [order_of(clone, sha, tmp_path) for sha in shas]
                handles = [hosts.build(order, lambda event: told.append(event.sentence)) for order in orders]
                done = [handle.result() for handle in handles]
                assert [one.result.outcome for one in done] == [Outcome.BUILT] * 2
                return sorted(one.host for one in done)

            for left in LEFT:
                told.clear()
                fill(ballast, left)
                where = built_on()
                full = [text for text in told if "is full" in text]
                assert len(full) == where.count("b2") - 1, told
                assert all(f"the disk of b1 is full ({ballast.parent}): the build of " in text for text in full)
                assert full or left, "not even the order can be kept"
                ballast.unlink()
            assert built_on() == ["b1", "b2"], "with space it builds again"
            fill(ballast)
            cluster.hosts["b2"].kill()
            alone = hosts.build(order_of(clone, commit(clone, {"note.txt": ""}), tmp_path), told_not)
            with pytest.raises(UserError, match=f"the disk of b1 is full .{ballast.parent}.: the build of ") as caught:
                alone.result()
            assert caught.value.hint


def told_not(event: Event) -> None:
    """Nobody looks at it."""


def answer_of(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output)
    return found


def test_a_probe_host_that_is_full_ends_it_in_one_line_and_it_goes_on_with_all_it_had(
    tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    ballast = small_disk("p1")
    story = history({**tree(1000), "small_bench.c": BENCH}, cost(1001), cost(1002), cost(3000), cost(3001))
    shas = [sha for _, sha in sorted(story.write(tmp_path / "kv").items())]
    with SmallCluster(tmp_path / "cluster") as cluster:
        cluster.start("b1", "build")
        cluster.start("p1", "probe")
        cluster.ready("b1", "p1")
        asked = cluster.run("start", shas[0], "main", "--repo", str(tmp_path / "kv"), "--test", "readrandom", "--json",
                            *QUICK, *UNCONFINED)  # fmt: skip
        asked.until("probed in")
        fill(ballast)
        code, _ = asked.ended()
        assert code == 2, asked.said
        assert f"the disk of p1 is full ({ballast.parent}): the probe of " in asked.said[-1]
        ballast.unlink()
        code, output = cluster.run("resume", "--json").ended()
        assert code == 0
        found = answer_of(output)
    assert [culprit["sha"] for culprit in verdict_of(found)["culprits"]] == [shas[3]]
    told = journal(tmp_path / "cluster" / "mine", found["id"])
    built = [event["data"]["sha"] for event in told if event["kind"] == "build-finished"]
    assert len(built) == len(set(built)), "nothing is built again"
