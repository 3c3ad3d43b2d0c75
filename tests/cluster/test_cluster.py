"""A head, builders and probe hosts as real processes: a bisection comes to the verdict that it has on one host,
whatever becomes of them on the way."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from small_bisections import BENCH, MAKEFILE, QUICK, UNCONFINED, cost, history, tree, verdict_of
from small_cluster import Process, SmallCluster

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")

QUESTION = ["--test", "readrandom", "--json", *QUICK, *UNCONFINED]


class Gate:
    """A door in a Makefile: builds wait in it until it is opened."""

    def __init__(self, place: Path) -> None:
        self.open_, self.pipe = place / "open", place / "pipe"
        os.mkfifo(self.pipe)

    def rule(self) -> str:
        """For a Makefile."""
        return f"test -e {self.open_} || cat {self.pipe}"

    def wait(self) -> int:
        """Until a build is in it; an end of the pipe, which holds it there."""
        return os.open(self.pipe, os.O_WRONLY)

    def open(self) -> None:
        """Later builds go through."""
        self.open_.touch()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def clone(place: Path, makefile: str = MAKEFILE) -> tuple[Path, list[str]]:
    """A history of five commits of which the fourth makes reading three times as costly."""
    first = {**tree(1000), "Makefile": makefile, "small_bench.c": BENCH}
    story = history(first, cost(1001), cost(1002), cost(3000), cost(3001))
    return place / "kv", story.write(place / "kv")


def words(path: Path, good: str) -> list[str]:
    return ["start", good, "main", "--repo", str(path), *QUESTION]


def answer(process: Process) -> dict[str, Any]:
    code, output = process.ended()
    assert code == 0, process.said
    data: dict[str, Any] = json.loads(output)
    return data


def culprits(report: dict[str, Any]) -> list[str]:
    return [culprit["sha"] for culprit in verdict_of(report)["culprits"]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCluster]:
    """A head, two builders and a probe host."""
    with SmallCluster(tmp_path_factory.mktemp("cluster")) as made:
        for name in ("b1", "b2"):
            made.start(name, "build")
        made.start("p1", "probe")
        made.ready("b1", "b2", "p1")
        yield made


def test_the_verdict_is_that_of_one_host_and_nothing_is_built_where_it_is_probed(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    path, shas = clone(tmp_path)
    alone = Process(words(path, shas[1]), tmp_path / "alone", {})
    together = cluster.run(*words(path, shas[1]))
    found, expected = answer(together), answer(alone)
    assert culprits(found) == culprits(expected) == [shas[4]]
    assert verdict_of(found)["kind"] == verdict_of(expected)["kind"]
    assert found["host"]["name"] == "p1"
    built = [line for line in together.said if " is done by b" in line]
    assert len(built) == found["totals"]["builds"] > 0
    assert not list((cluster.place / "p1" / "cluster").glob("results/*"))
    assert not [entry for entry in (cluster.place / "p1" / "ccache").rglob("*") if entry.is_file()]
    for name in ("b1", "b2", "p1"):
        assert not list((cluster.place / name / "work").glob("s*")), "a worker leaves nothing behind"


def test_a_search_by_screening_builds_is_confirmed_by_ordinary_ones_there_too(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    path, shas = clone(tmp_path)
    together = cluster.run(*words(path, shas[1]), "--screen")
    found = answer(together)
    assert culprits(found) == [shas[4]]
    made = [(commit["sha"], commit["recipe"]["variant"]) for commit in found["commits"]]
    assert [sha for sha, kind in made if not kind] == [shas[3], shas[4]]
    assert {sha for sha, kind in made if kind == "screening"} >= {shas[1], shas[3], shas[4], shas[5]}
    assert len([line for line in together.said if " is done by b" in line]) == len(made)


def test_hosts_say_what_they_are(cluster: SmallCluster) -> None:
    listed = cluster.run("cluster", "hosts", "--json")
    code, output = listed.ended()
    told = {one["name"]: one for one in json.loads(output)}
    assert code == 0
    assert [told[name]["role"] for name in ("b1", "b2", "p1")] == ["build", "build", "probe"]
    assert told["b1"]["toolchains"][0]["release"]
    assert told["p1"]["fingerprint"]["kernel"]
    assert told["p1"]["counters"]
    code, output = cluster.run("cluster", "hosts").ended()
    assert (code, len(output.splitlines())) == (0, 3)


def test_nothing_of_a_cluster_without_certificates_listens_for_other_hosts(cluster: SmallCluster) -> None:
    for process in cluster.hosts.values():
        own = psutil.Process(process.pid)
        listening = [one.laddr.ip for one in own.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
        assert listening
        assert set(listening) <= {"127.0.0.1", "::1"}


def test_a_host_has_one_name_and_one_role(cluster: SmallCluster) -> None:
    second = Process(
        ["cluster", "worker", cluster.address, "--role", "build", "--name", "p1"], cluster.place / "second", {}
    )
    assert second.ended()[0] == 2
    assert "p1 is there already, to probe" in second.said[-1]


def test_what_began_on_a_cluster_goes_on_there_only(cluster: SmallCluster, tmp_path: Path) -> None:
    path, shas = clone(tmp_path, "db_bench:\n\tfalse\n")
    asked = cluster.run(*words(path, shas[1]), home="moved")
    asked.ended()
    listed = json.loads(Process(["list", "--json"], cluster.place / "moved", {}).ended()[1])
    alone = Process(["resume", str(listed[0]["id"])], cluster.place / "moved", {})
    assert alone.ended()[0] == 2
    assert "p1, a host of a cluster" in alone.said[-1] or "is finished" in alone.said[-1]


@pytest.mark.long
def test_work_of_a_builder_that_is_killed_is_done_elsewhere(cluster: SmallCluster, tmp_path: Path, gate: Gate) -> None:
    path, shas = clone(tmp_path, MAKEFILE.replace("\t$(CC)", f"\t{gate.rule()}\n\t$(CC)"))
    asked = cluster.run(*words(path, shas[1]), home="killed")
    host = asked.until(" is done by b").rpartition(" ")[2]
    held = gate.wait()
    gate.open()
    below = psutil.Process(cluster.hosts[host].pid).children(recursive=True)
    assert below
    cluster.hosts[host].kill()
    os.close(held)
    assert host in asked.until(f"{host} was lost with the build of ")
    found = answer(asked)
    assert culprits(found) == [shas[4]]
    assert not psutil.wait_procs(below, timeout=60)[1], "what it had started goes with it"
    cluster.start(host, "build")
    cluster.ready(host)


@pytest.mark.long
def test_a_build_that_is_killed_alone_is_begun_again_there(cluster: SmallCluster, tmp_path: Path, gate: Gate) -> None:
    path, shas = clone(tmp_path, MAKEFILE.replace("\t$(CC)", f"\t{gate.rule()}\n\t$(CC)"))
    asked = cluster.run(*words(path, shas[1]), home="killed-alone")
    host = asked.until(" is done by b").rpartition(" ")[2]
    held = gate.wait()
    gate.open()
    below = psutil.Process(cluster.hosts[host].pid).children(recursive=True)
    carrying = [
        one for one in below if "cpubisect.cluster.carrying" in one.cmdline() and "guard.py" not in str(one.cmdline())
    ]
    assert len(carrying) == 1
    carrying[0].kill()
    os.close(held)
    asked.until(f"what {host} did was killed from outside: once more")
    assert culprits(answer(asked)) == [shas[4]]


@pytest.mark.long
def test_a_builder_that_is_asked_to_end_in_a_build_leaves_nothing_of_it(
    cluster: SmallCluster, tmp_path: Path, gate: Gate
) -> None:
    path, shas = clone(tmp_path, MAKEFILE.replace("\t$(CC)", f"\t{gate.rule()}\n\t$(CC)"))
    asked = cluster.run(*words(path, shas[1]), home="ended")
    host = asked.until(" is done by b").rpartition(" ")[2]
    held = gate.wait()
    below = psutil.Process(cluster.hosts[host].pid).children(recursive=True)
    assert list((cluster.place / host / "work").glob("s*"))
    cluster.hosts[host].end()
    assert not list((cluster.place / host / "work").glob("s*"))
    assert not psutil.wait_procs(below, timeout=60)[1]
    gate.open()
    os.close(held)
    assert culprits(answer(asked)) == [shas[4]]
    cluster.start(host, "build")
    cluster.ready(host)


@pytest.mark.long
def test_an_interrupted_bisection_leaves_no_build_behind(cluster: SmallCluster, tmp_path: Path, gate: Gate) -> None:
    path, shas = clone(tmp_path, MAKEFILE.replace("\t$(CC)", f"\t{gate.rule()}\n\t$(CC)"))
    asked = cluster.run(*words(path, shas[1]), home="interrupted")
    host = asked.until(" is done by b").rpartition(" ")[2]
    held = gate.wait()
    below = psutil.Process(cluster.hosts[host].pid).children(recursive=True)
    asked.kill()
    assert not psutil.wait_procs(below, timeout=60)[1]
    os.close(held)
    gate.open()
    cluster.settled()
    going_on = cluster.run("resume", "--json", home="interrupted")
    assert culprits(answer(going_on)) == [shas[4]]


@pytest.mark.long
def test_a_probe_host_that_is_lost_is_waited_for(cluster: SmallCluster, tmp_path: Path) -> None:
    path, shas = clone(tmp_path)
    asked = cluster.run(*words(path, shas[1]), home="waiting")
    asked.until("probed in")
    cluster.hosts["p1"].kill()
    assert "p1, which is to probe, is not there" in asked.until("waits for a host")
    cluster.start("p1", "probe")
    cluster.ready("p1")
    assert culprits(answer(asked)) == [shas[4]]


@pytest.mark.long
def test_a_head_that_is_killed_is_started_again_and_all_go_on(cluster: SmallCluster, tmp_path: Path) -> None:
    path, shas = clone(tmp_path)
    asked = cluster.run(*words(path, shas[1]), home="headless")
    asked.until("probed in")
    cluster.hosts["head"].kill()
    asked.until("does not answer")
    cluster.start_head()
    cluster.ready("b1", "b2", "p1")
    found = answer(asked)
    assert culprits(found) == [shas[4]]
    built = [line for line in asked.said if "compiles from the cache" in line]
    assert len(built) == found["totals"]["builds"], "nothing that had arrived is built again"


def other_gcc(place: Path) -> dict[str, str]:
    """The environment of a host whose gcc-12 is of another release of the distribution's package."""
    place.mkdir()
    for name in ("gcc-12", "g++-12"):
        real = shutil.which(name)
        said = f'case "$*" in --version) echo "{name} (Debian 12.2.0-99) 12.2.0";; *) exec {real} "$@";; esac'
        (place / name).write_text(f"#!/bin/sh\n{said}\n")
        (place / name).chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}"}


@pytest.mark.long
@pytest.mark.skipif(shutil.which("gcc-12") is None, reason="gcc-12 is not installed")
def test_a_builder_with_another_gcc_is_not_asked_and_it_is_said_what_it_has(
    cluster: SmallCluster, tmp_path: Path
) -> None:
    path, shas = clone(tmp_path)
    begun = cluster.run(*words(path, shas[1]), "--toolchain", "gcc-12", home="compilers")
    begun.until("probed in")
    begun.kill()
    cluster.start("odd", "build", environment=other_gcc(tmp_path / "programs"))
    cluster.ready("odd")
    going_on = cluster.run("resume", "--json", home="compilers")
    assert culprits(answer(going_on)) == [shas[4]]
    assert not [line for line in going_on.said if "done by odd" in line]
    cluster.hosts["odd"].end()


@pytest.mark.long
def test_an_artifact_that_is_damaged_on_the_way_is_asked_for_again_and_not_built_again(tmp_path: Path) -> None:
    path, shas = clone(tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    spoiling = tmp_path / "site"
    spoiling.mkdir()
    # What the worker puts there is changed the first time, as by a disk that lies.
    (spoiling / "sitecustomize.py").write_text(
        "import os, sys, threading\n"
        "if 'cpubisect.cluster.carrying' in ' '.join(sys.orig_argv):\n"
        "    import fsspec.implementations.local as local\n"
        "    real = local.LocalFileSystem.mv\n"
        "    def mv(self, source, target, **more):\n"
        "        real(self, source, target, **more)\n"
        f"        if not os.path.exists({str(spoiling / 'done')!r}):\n"
        f"            open({str(spoiling / 'done')!r}, 'w').close()\n"
        "            open(target, 'r+b').write(b'nonsense')\n"
        "    local.LocalFileSystem.mv = mv\n"
    )
    with SmallCluster(tmp_path / "cluster", "--artifacts", f"file://{shared}") as own:
        python = os.pathsep.join(filter(None, (str(spoiling), os.environ.get("PYTHONPATH", ""))))
        own.start("b1", "build", environment={"PYTHONPATH": python})
        own.start("p1", "probe")
        own.ready("b1", "p1")
        asked = own.run(*words(path, shas[1]))
        assert "is not what was sent" in asked.until("arrived damaged")
        found = answer(asked)
    assert culprits(found) == [shas[4]]
    assert (spoiling / "done").exists()
    logs = [log.read_text() for log in (tmp_path / "cluster" / "mine" / "logs").glob("build-*.log")]
    assert sum("sent once more" in log for log in logs) == 1
    assert list(shared.glob("??/*"))


def test_over_tls_only_hosts_of_the_same_authority_are_let_in(tmp_path: Path) -> None:
    for place in ("ours", "theirs"):
        assert Process(["cluster", "certificates", str(tmp_path / place), "head", "b1"], tmp_path, {}).ended()[0] == 0
    ours = ["--certificates", str(tmp_path / "ours" / "b1")]
    head = ["--certificates", str(tmp_path / "ours" / "head")]
    with SmallCluster(tmp_path / "cluster", *head, scheme="tls") as own:
        own.start("b1", "build", *ours)
        own.ready("b1")
        for process in own.hosts.values():
            for one in psutil.Process(process.pid).net_connections("tcp"):
                # A worker listens for others, encrypted; Dask's pages do not.
                assert one.status != psutil.CONN_LISTEN or one.laddr.ip in ("127.0.0.1", "::1", "0.0.0.0", "::")
        listing = ["cluster", "hosts", own.address]
        assert Process([*listing, *ours], tmp_path / "mine", {}).ended()[0] == 0
        for given, why in (
            (["--certificates", str(tmp_path / "theirs" / "b1")], "no head answers at"),
            ([], "there is no certificate"),
        ):
            asked = Process([*listing, *given], tmp_path / "mine", {})
            assert (asked.ended()[0], len(asked.said)) == (2, 1), asked.said
            assert why in asked.said[0]
        plain = Process(["cluster", "hosts", own.address.replace("tls", "tcp")], tmp_path / "mine", {})
        assert (plain.ended()[0], len(plain.said)) == (2, 1), plain.said
        assert stat.S_IMODE((tmp_path / "ours" / "b1" / "host.key").stat().st_mode) == 0o600
