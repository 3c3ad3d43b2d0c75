"""Versions: what is one, and which comes first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.version import Version

parts = st.lists(st.integers(0, 200), min_size=2, max_size=5).map(tuple)


@pytest.mark.parametrize(
    ("name", "expected", "suffix"),
    [
        ("5.6.51", (5, 6, 51), ""),
        ("v8.11.4", (8, 11, 4), ""),
        ("mysql-5.6.51", (5, 6, 51), ""),
        ("rocksdb-3.5", (3, 5), ""),
        ("5.6.6-m9", (5, 6, 6), "m9"),
        ("5.7.5-RC", (5, 7, 5), "rc"),
        ("5.5.25a", (5, 5, 25), "a"),
        (" 1.5.8.1\n", (1, 5, 8, 1), ""),
        ("mariadb-10.11.6", (10, 11, 6), ""),
        ("Percona-Server-8.0.35-27", (8, 0, 35), "27"),
        ("8.0.35-27", (8, 0, 35), "27"),
        ("REL_17_2", (17, 2), ""),
        ("17_2", (17, 2), ""),
        ("REL9_6_24", (9, 6, 24), ""),
        ("REL_17_BETA1", (17,), "beta1"),
        ("REL_17_RC1", (17,), "rc1"),
        ("REL9_6_RC1", (9, 6), "rc1"),
    ],
)
def test_names_of_versions(name: str, expected: tuple[int, ...], suffix: str) -> None:
    version = Version.parse(name)
    assert (version.parts, version.suffix) == (expected, suffix)


@pytest.mark.parametrize("name", ["", "5", "main", "5.6.", ".5.6", "5.6.x", "-5.6.1", "5.6.1 or so", "5..6", "a1b2c3d"])
def test_other_names_are_none(name: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        Version.parse(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "REL_17_STABLE",
            "REL9_6_STABLE",
            "17beta1",
            "17_dev",
            "REL_17",
            "17_",
            "_17_2",
            "17_2_",
            "REL_17__2",
            "17_2.1",
        ),
        *("v8.5.3-27-g1a2b3c4", "5.6.51-", "--5.6.51", "e4_2f"),
    ],
)
def test_branches_and_descriptions_are_no_versions(name: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        Version.parse(name)


def test_one_number_is_a_version_only_where_nothing_else_can_stand() -> None:
    assert Version.read("17").parts == (17,)
    assert Version.read("17.2") == Version.parse("17.2")
    for text in ("", "-1", "17beta1", "main"):
        with pytest.raises(ValueError, match="not a version"):
            Version.read(text)


@given(parts, st.sampled_from(["", "m9", "rc", "dev"]))
def test_what_is_printed_can_be_read(numbers: tuple[int, ...], suffix: str) -> None:
    version = Version(numbers, suffix)
    again = Version.parse(str(version))
    assert (again.parts, again.suffix) == (numbers, suffix)


@given(parts, parts)
def test_the_order_is_that_of_the_numbers(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    first, second = Version(one), Version(other)
    assert (first < second) + (first == second) + (first > second) == 1
    assert (first < second) == ((*one, 0, 0, 0) < (*other, 0, 0, 0))


@given(parts, st.integers(0, 3))
def test_zeros_at_the_end_and_suffixes_make_no_difference(numbers: tuple[int, ...], zeros: int) -> None:
    longer = Version(numbers + (0,) * zeros, "m9")
    assert longer == Version(numbers)
    assert hash(longer) == hash(Version(numbers))


def test_ten_comes_after_nine() -> None:
    assert sorted(map(Version.parse, ["8.10.0", "8.9.1", "10.0", "8.9"])) == [
        *map(Version.parse, ["8.9", "8.9.1", "8.10.0", "10.0"])
    ]


def test_nothing_else_equals_a_version() -> None:
    assert Version((5, 6)) != "5.6"
