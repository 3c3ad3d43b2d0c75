"""What a partial clone is sent, beside a whole one, of a small repository."""

from pathlib import Path

import clones
from clones import Held, Step
from repositories import Story, git, rocksdb_version

PAGES = "".join(f"page {number}\n" for number in range(2000))


def test_a_partial_clone_gets_later_what_it_reads(tmp_path: Path) -> None:
    story = Story()
    story.commit({**rocksdb_version("8.5.0"), "db/old.cc": "int old;\n"})
    story.commit({"db/old.cc": None, "db/db.cc": "int one;\n"})
    for number in (2, 3, 4):
        story.commit({"db/db.cc": f"int number_{number};\n", "README.md": f"{number} {PAGES}"})
    story.tag("v8.5.0", 2)
    origin = tmp_path / "origin.git"
    shas = story.write(origin, bare=True)
    git(origin, "update-ref", "refs/pull/1/head", shas[5])
    before = git(origin, "config", "--list")

    url = clones.serve(origin, tmp_path / "server.git")
    found = clones.measure(url, ["v8.5.0", shas[4], "main"], tmp_path)
    assert git(origin, "config", "--list") == before
    assert "pull" not in git(tmp_path / "whole.git", "for-each-ref")

    whole, partial = found["whole"], found["partial"]
    assert [step.name for step in whole] == [step.name for step in partial]
    assert (whole[0].gained.packs, whole[0].gained.blobs) == (1, 9)
    assert all(step.gained == Held() for step in whole[1:])
    clone, history, good, bad, diffs, between, _ = (step.gained for step in partial)
    assert (clone.packs, clone.blobs) == (1, 0)
    # The version file; what else the ends have; db.cc of the commit after good, the one whose README.md is not read.
    assert (history.blobs, good.blobs, bad.blobs, diffs.blobs, between.blobs) == (1, 1, 2, 2, 1)
    # What came before is never asked for.
    assert sum(step.gained.blobs for step in partial) < whole[0].gained.blobs
    assert len(clones.table(whole, partial)) == 2 + len(whole) + 2


def test_the_table_adds_up() -> None:
    one = [Step("clone", Held(1, 2_000_000, 3_000_000, 9), 1.0), Step("history", Held(), 0.5)]
    other = [Step("clone", Held(1, 500_000, 600_000), 0.5), Step("history", Held(2, 10_000, 20_000, 2), 1.5)]
    *_, after, total = clones.table(one, other)
    assert after == "| after the clone | 0.00 | 0.00 | 0.5 | 0.01 | 0.02 | 2 | 2 | 1.5 |"
    assert total == "| total | 2.00 | 3.00 | 1.5 | 0.51 | 0.62 | 3 | 2 | 2.0 |"
