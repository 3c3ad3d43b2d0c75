"""The compiler cache of builds in a sandbox: what one makes the next of the same repository finds, and no other."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trees import GOOD, commit, recipe_for, settings_in

from cpubisect.base.errors import UserError
from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.build import BuildResult
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.builders.trees import cache
from cpubisect.builders.trees.cache import SHELVES, ApartCache

NAME = "ab/cdefghijkl"


def built(directory: Path, clone: str, sha: str, kind: Kind = Kind.BUBBLEWRAP) -> BuildResult:
    return carry_out(
        recipe_for(sha), BUILDER, directory / clone, directory / "work", settings_in(directory, sandbox=kind)
    )


def of(directory: Path, origin: str = "clone", own: str = "own") -> ApartCache:
    return ApartCache.of(directory / "ccache", origin, directory / own)


def make(one: ApartCache, content: bytes, name: str = NAME) -> None:
    path = one.own / "made" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def kept(one: ApartCache, name: str = NAME) -> list[bytes]:
    return [path.read_bytes() for shelf in one.shelves if (path := shelf / name).exists()]


def test_a_second_build_of_a_repository_compiles_nothing_and_another_repository_s_all(tmp_path: Path) -> None:
    sha = commit(tmp_path / "clone", GOOD)
    commit(tmp_path / "other", GOOD)
    first, second = built(tmp_path, "clone", sha), built(tmp_path, "clone", sha)
    assert (first.cache_hits, first.cache_misses) == (0, 2)
    assert (second.cache_hits, second.cache_misses) == (2, 0)
    other = commit(tmp_path / "other", {})
    assert built(tmp_path, "other", other).cache_misses == 2
    plain = built(tmp_path, "clone", sha, Kind.NONE)
    assert plain.cache_misses == 2
    assert {first.code, second.code, plain.code} == {first.code}
    assert (first.sandbox, plain.sandbox) == (Kind.BUBBLEWRAP, Kind.NONE)


def test_a_header_that_changes_and_changes_back_is_found_at_once(tmp_path: Path) -> None:
    texts = [GOOD["util/names.h"] + f"// {number}\nextern int n{number};\n" for number in range(3)]
    shas = [commit(tmp_path / "clone", {**GOOD, "util/names.h": text}) for text in texts]
    for sha in shas:
        built(tmp_path, "clone", sha)
    assert [built(tmp_path, "clone", sha).cache_hits for sha in shas] == [2, 2, 2]


def test_an_entry_is_never_replaced(tmp_path: Path) -> None:
    first, second = of(tmp_path), of(tmp_path, own="later")
    make(first, b"right")
    make(second, b"wrong")
    assert (first.keep(), second.keep()) == (1, 1)
    assert kept(first) == [b"right", b"wrong"]
    assert (first.kept / "0" / NAME).read_bytes() == b"right"


@given(st.lists(st.binary(min_size=1, max_size=3), max_size=SHELVES + 4))
@settings(max_examples=25)
def test_what_came_first_stays_first(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]) -> None:
    directory = tmp_path_factory.mktemp("cache")
    for number, content in enumerate(contents):
        one = of(directory, own=f"own{number}")
        make(one, content)
        one.keep()
    assert kept(of(directory)) == list(dict.fromkeys(contents))[:SHELVES]


def test_only_plain_files_with_names_of_entries_are_kept(tmp_path: Path) -> None:
    one = of(tmp_path)
    secret = tmp_path / "abcdefghijkl"
    secret.write_bytes(b"private")
    (one.own / "made" / "ab").mkdir(parents=True)
    (one.own / "made" / NAME).symlink_to(secret)
    (one.own / "made" / "cd").symlink_to(tmp_path)
    os.mkfifo(one.own / "made" / "ab" / "mnopqrstuv")
    make(one, b"x", "ab/short")
    make(one, b"x", "ab/cdefghijkl.tmp.1")
    make(one, b"x", "deep/ab/cdefghijkl")
    assert one.keep() == 0
    for own in ("made", "other"):
        linked = of(tmp_path, own=own)
        (linked.own / "made").symlink_to(tmp_path)
        assert linked.keep() == 0


def test_what_was_kept_is_not_looked_at_again(tmp_path: Path) -> None:
    one = of(tmp_path)
    make(one, b"first")
    assert (one.keep(), one.keep()) == (1, 0)
    make(one, b"another")
    assert one.keep() == 1


def test_the_oldest_go_first(tmp_path: Path) -> None:
    one = of(tmp_path)
    for number in range(4):
        make(one, b"12345678", f"ab/entry00{number}")
    one.keep()
    for number in range(4):
        os.utime(one.kept / "0" / f"ab/entry00{number}", (number, number))
    one.trim(20)
    assert sorted(path.name for path in (one.kept / "0" / "ab").iterdir()) == ["entry002", "entry003"]


def test_a_cache_that_cannot_be_made_names_its_path(tmp_path: Path) -> None:
    (tmp_path / "ccache-apart").write_text("a file")
    with pytest.raises(UserError, match=r"cannot write to .*ccache-apart"):
        of(tmp_path)


@pytest.mark.parametrize(
    ("said", "works"),
    [("ccache version 4.7", True), ("ccache version 4.10.2", True), ("ccache version 4.6.3", False), ("what?", False)],
)
def test_an_old_ccache_is_no_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, works: bool) -> None:
    (tmp_path / "ccache").write_text(f"#!/bin/sh\necho '{said}'\n")
    (tmp_path / "ccache").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert (cache.problem() == "") is works
