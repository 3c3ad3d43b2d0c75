from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.builders.trees.plan import Compilation, compilations
from cpubisect.builders.unity import FEWEST, breakers, chunks, library_objects

PLAN = """\
Linux vm 6.1 #1 SMP, isn't a command
mkdir -p cache && ccache g++ -I. '-DNAME="a b"' -c cache/lru.cc -o cache/lru.o
mkdir -p db && ccache g++ -I. '-DNAME="a b"' \\
  -o ./db/db.o -c ./db/db.cc
ccache g++ -I. -DHERE -c util/crc.cc -o util/crc.o
ccache gcc -c util/crc_c.c -o util/crc_c.o
ccache g++ -I. -c tools/main.cc -o tools/main.o
rm -f libkv.a; gcc-ar rs libkv.a ./cache/lru.o ./db/db.o  ./util/crc.o ./util/crc_c.o
ccache g++ tools/main.o -L. -lkv -o db_bench
"""


def compilation(source: str, *flags: str) -> Compilation:
    to = source.replace(".cc", ".o")
    return Compilation(("g++", *flags, "-c", source, "-o", to), source, to)


def test_a_plan_tells_what_is_compiled_and_what_the_library_is() -> None:
    found = compilations(PLAN)
    assert [(made.source, made.object) for made in found] == [
        ("cache/lru.cc", "cache/lru.o"),
        ("db/db.cc", "db/db.o"),
        ("util/crc.cc", "util/crc.o"),
        ("tools/main.cc", "tools/main.o"),
    ]
    assert found[0].argv[:4] == ("ccache", "g++", "-I.", '-DNAME="a b"')
    assert found[1].of("all.cc", "all.o")[-4:] == ("-o", "all.o", "-c", "all.cc")
    assert library_objects(PLAN, "db_bench") == {"cache/lru.o", "db/db.o", "util/crc.o", "util/crc_c.o"}


def test_without_an_archive_the_library_is_what_is_linked() -> None:
    plan = "g++ -c a.cc -o a.o\ng++ -c b.cc -o b.o\ng++ -o db_bench a.o b.o\n"
    assert library_objects(plan, "db_bench") == {"a.o", "b.o"}
    assert library_objects(plan, "other") == frozenset()


def test_only_equal_flags_share_a_chunk() -> None:
    several = [compilation(f"{n}.cc", *(["-O3"] if n % 3 == 0 else [])) for n in range(24)]
    made = chunks([*several, compilation("single.cc", "-DX")], 4)
    assert all(len({member.flags for member in chunk.members}) == 1 for chunk in made)
    assert sum(len(chunk.members) for chunk in made) == 24


@given(st.lists(st.from_regex(r"[a-z]{1,8}/[a-z_]{1,12}\.cc", fullmatch=True), unique=True), st.integers(1, 12))
def test_chunks_keep_every_source_once_and_in_order(names: list[str], count: int) -> None:
    made = chunks([compilation(name) for name in names], count)
    assert [member.source for chunk in made for member in chunk.members] == (names if len(names) > 1 else [])
    assert len(made) <= max(1, min(count, len(names) // FEWEST))
    assert [chunk.number for chunk in made] == list(range(len(made)))


@given(st.integers(0, 199), st.integers(2, 10))
def test_one_source_less_moves_at_most_a_few_cuts(gone: int, count: int) -> None:
    names = [f"room/source_{number}.cc" for number in range(200)]
    before, after = (
        chunks([compilation(n) for n in some], count) for some in (names, names[:gone] + names[gone + 1 :])
    )
    unchanged = {chunk.text for chunk in before} & {chunk.text for chunk in after}
    assert len(unchanged) >= count - 5


def test_a_chunk_takes_the_first_object_and_leaves_the_others_empty() -> None:
    (chunk,) = chunks([compilation(f"db/{name}.cc", "-DA=$B") for name in "abcd"], 1)
    assert chunk.text == "".join(f'#include "db/{name}.cc"\n' for name in "abcd")
    rules = chunk.rules("chunk.cc", "none")
    assert (
        "db/a.o: chunk.cc db/a.cc db/b.cc db/c.cc db/d.cc\n\tmkdir -p db\n\tg++ '-DA=$$B' -c chunk.cc -o db/a.o\n"
        in rules
    )
    assert "db/c.o: none.o db/c.cc\n\tmkdir -p db\n\tcp none.o db/c.o\n" in rules
    assert [member.source for member in chunk.without({"db/a.cc"}).members] == ["db/b.cc", "db/c.cc", "db/d.cc"]
    assert chunk.without({"db/a.cc", "db/b.cc", "db/d.cc"}).members == ()


@pytest.mark.parametrize(
    ("output", "blamed"),
    [
        ("b.cc:3:5: error: redefinition of 'int f()'\na.cc:3:5: note: 'int f()' previously defined here\n", {"b.cc"}),
        ("In file included from b.cc:1,\n                 from chunk-0.cc:2:\nx.h:1:2: error: bad\n", {"b.cc"}),
        ("x.h: In instantiation of 'T<int>':\n./a.cc:7:1:   required from here\nx.h:1:2: error: bad\n", {"a.cc"}),
        ("/tree/a.cc:1:1: error: bad\n", {"a.cc"}),
        ("a.cc:1:1: warning: unused\n", set()),
        ("cc1plus: out of memory\n", set()),
    ],
    ids=["redefinition", "header", "template", "full path", "warning", "other"],
)
def test_an_error_is_about_the_source_that_was_read(output: str, blamed: set[str]) -> None:
    assert breakers(output, {"a.cc", "b.cc"}, Path("/tree")) == blamed


def test_pairs_of_cuts_never_cross() -> None:
    for length in range(2, 80):
        made = chunks([compilation(f"{n}.cc") for n in range(length)], 8)
        starts = [int(chunk.members[0].source[:-3]) for chunk in made]
        assert all(first < second for first, second in pairwise(starts))
