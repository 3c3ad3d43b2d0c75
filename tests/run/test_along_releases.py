"""Whole bisections along tagged releases, and over two series that lie side by side, in small repositories."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from repositories import Story
from small_bisections import BENCH, ask, tree, verdict_of
from web_home import application

from cpubisect.base.home import Home
from cpubisect.cli import main
from cpubisect.history.history import History

BOTH = ("readrandom", "overwrite")


def release(lookup: int, encode: int, version: str) -> dict[str, str]:
    """A whole tree of one release."""
    major, minor, patch = version.split(".")
    macros = f"#define MINIKV_MAJOR {major}\n#define MINIKV_MINOR {minor}\n#define MINIKV_PATCH {patch}\n"
    costs = f"#define LOOKUP {lookup}\n#define ENCODE {encode}\nint marker_{patch};\n"
    bench = BENCH.replace("i < 500", "i < ENCODE")
    return {**tree(lookup), "small_bench.c": bench, "cost.h": costs, "include/minikv/version.h": macros}


def shown(*words: str) -> str:
    return CliRunner().invoke(main, list(words), catch_exceptions=False).stdout


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.long
def test_along_releases_each_test_gets_those_that_brought_its_growth(home: Path, tmp_path: Path) -> None:
    reading = [1000, 1000, 1100, 1100, 1400, 1400, 1400]
    writing = [500, 500, 500, 500, 500, 500, 700]
    story = Story()
    for number, costs in enumerate(zip(reading, writing, strict=True)):
        story.tag(f"v1.0.{number}", story.commit(release(*costs, f"1.0.{number}"), message=f"Release 1.0.{number}"))
    shas = story.write(tmp_path / "releases.git", bare=True)
    data = ask(tmp_path / "releases.git", "1.0.0", "1.0.6", home=home, tests=BOTH)
    found = {
        test: [(one["release"], one["parent_release"], one["sha"]) for one in own["culprits"]]
        for test, own in data["verdict"]["tests"].items()
    }
    assert found == {
        "readrandom": [("v1.0.4", "v1.0.3", shas[5]), ("v1.0.2", "v1.0.1", shas[3])],
        "overwrite": [("v1.0.6", "v1.0.5", shas[7])],
    }
    built = [commit["sha"] for commit in data["commits"]]
    assert len(built) == len(set(built)) <= 7, "all builds are shared"
    text = shown("report")
    opening, short = text.partition("In short")[0], text.partition("In short")[2].partition("\n\n")[0]
    assert f"since release v1.0.4, commit {shas[5][:12]}" in flat(opening)
    assert "Confirmed by building this release and its parent v1.0.3 alike" in flat(opening)
    rows = [line.split() for line in short.splitlines()[2:]]
    assert [(row[0], row[1], row[5]) for row in rows if len(row) > 5] == [
        ("readrandom", "v1.0.4", "%"),
        ("readrandom", "v1.0.2", "%"),
        ("overwrite", "v1.0.6", "%"),
    ]
    assert all(row[6:] for row in rows), "each has its functions"
    assert "release v1.0.4" in shown("list", "--json")
    assert "culprit: " + f"{shas[5][:12]} = v1.0.4" in shown("log", "1")
    html = shown("report", "--format", "html")
    assert "<h2>In short</h2>" in html


@pytest.fixture
def forked(tmp_path: Path) -> tuple[Path, dict[int, str]]:
    """Two series that come from commit 2: in 1.0 reading becomes cheaper, in 1.1 dearer."""
    story = Story()
    story.commit(release(1000, 500, "1.0.0"))
    story.commit({"docs/a": "1"})
    for number, lookup in enumerate((1000, 900, 900)):
        story.commit(release(lookup, 500, f"1.0.{number + 1}"), branch="old", parents=[2] if number == 0 else None)
    for number, lookup in enumerate((1000, 1000, 1250, 1250)):
        story.commit(release(lookup, 500, f"1.1.{number + 1}"))
    story.tag("v1.0.3", 5)
    story.tag("v1.1.4", 9)
    return tmp_path / "kv", story.write(tmp_path / "kv")


@pytest.mark.long
def test_what_lies_on_either_side_of_the_fork_is_found(
    home: Path, tmp_path: Path, forked: tuple[Path, dict[int, str]]
) -> None:
    path, shas = forked
    plain = verdict_of(ask(path, "1.0.3", "1.1.4", home=home))
    assert [one["sha"] for one in plain["culprits"]] == [shas[8]]
    assert plain["sides"]["fork"] == shas[2]
    assert not plain["sides"]["searched"]
    data = ask(path, "1.0.3", "1.1.4", "--both-sides", home=home)
    verdict = verdict_of(data)
    assert [(one["sha"], one["side"]) for one in verdict["culprits"]] == [(shas[8], "bad"), (shas[4], "good")]
    assert verdict["sides"]["searched"]
    assert verdict["sides"]["good_share"] == pytest.approx(100 / 350, abs=0.02)
    assert sum(one["share"] for one in verdict["culprits"]) == pytest.approx(1.0, abs=0.03)
    assert data["totals"]["candidates"] == 4 + 3
    assert data["both_sides"]
    text = flat(shown("report"))
    assert f"Since the fork point {shas[2][:12]} 1.1.4 changed by +2" in text
    assert "% of the difference is on 1.1.4's side and 2" in text
    assert f"{shas[4][:12]} (good's branch)" in text
    assert "side good's own branch, since the fork point" in text
    assert "--both-sides" in text
    assert "now the other side, from the fork point" in shown("log", "2")
    shown("report", "2", "--format", "bundle", "--output", str(tmp_path / "b.tar.gz"))
    with tarfile.open(tmp_path / "b.tar.gz") as bundle:
        script = next(name for name in bundle.getnames() if name.endswith("reproduce.sh"))
        told = bundle.extractfile(script)
        assert told
        assert "--find improvement" in told.read().decode()
    client = application(home).test_client()
    page = client.get("/bisections/2").text
    assert "from the fork point to good" in page
    assert "on good&#39;s own branch" in page or "on good's own branch" in page
    assert client.get(f"/bisections/2/culprits/{shas[4]}").status_code == 200
    assert client.get("/bisections/2/suspects").status_code in (200, 404)
    assert client.get("/api/bisections/2/chart").status_code == 200


def test_there_must_be_two_sides(home: Path, forked: tuple[Path, dict[int, str]]) -> None:
    path, shas = forked
    words = ["start", shas[1], "1.1.4", "--repo", str(path), "--test", "readrandom", "--both-sides"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert f"{shas[1]} lies on the way to 1.1.4: there is no other side to search: leave out --both-sides" in flat(
        result.stderr
    )
    assert len(result.stderr.strip().splitlines()) == 1
    assert json.loads(shown("list", "--json")) == []


@pytest.mark.parametrize(("value", "says"), [(True, "there is no other side to search"), ("often", "both_sides")])
def test_the_api_refuses_it_alike(home: Path, forked: tuple[Path, dict[int, str]], value: Any, says: str) -> None:
    path, shas = forked
    token = "t" * 32
    Home.open()
    client = application(home, token=token, repositories=(str(path),)).test_client()
    asked = {"repository": path.name, "good": shas[1], "bad": "1.1.4", "tests": ["readrandom"], "both_sides": value}
    answer = client.post("/api/bisections", json=asked, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 422
    assert says in answer.text


def test_the_fork_is_where_the_lines_of_first_parents_part(forked: tuple[Path, dict[int, str]]) -> None:
    path, shas = forked
    history = History(path)
    assert history.candidates(shas[5], shas[9]).fork == shas[2]
    assert history.candidates(shas[2], shas[5]).fork is None
    assert history.since(shas[2], shas[5]) == history.candidates(shas[2], shas[5])


def test_from_a_fork_point_that_was_merged_the_way_to_good_begins_there(tmp_path: Path) -> None:
    story = Story()
    trunk = [story.commit() for _ in range(4)]
    left = story.commit(branch="old", parents=[trunk[1]])
    merge = story.commit(branch="old", parents=[left, trunk[2]])
    tip = story.commit(branch="old")
    shas = story.write(tmp_path / "clone")
    history = History(tmp_path / "clone")
    fork = history.candidates(shas[tip], shas[trunk[3]]).fork
    assert fork == shas[trunk[2]]
    assert history.candidates(fork, shas[tip]).start == shas[trunk[1]]
    own = history.since(fork, shas[tip])
    assert [(one.sha, one.parent, one.is_merge) for one in own.commits] == [
        (shas[merge], fork, True),
        (shas[tip], shas[merge], False),
    ]
