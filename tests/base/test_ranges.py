import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.ranges import VersionRange
from cpubisect.base.version import Version

numbers = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(tuple)
ends = st.one_of(st.none(), numbers.map(Version))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("5.18 - 6.29", ["5.18", "5.18.4", "6.0", "6.29.5"], ["5.17.9", "6.30", "7.0"]),
        ("7.0 -", ["7.0", "11.2.1"], ["6.29.5"]),
        ("- 5.1", ["4.0", "5.1.73"], ["5.2"]),
        ("8.0.13", ["8.0.13"], ["8.0.12", "8.0.14", "8.0"]),
        ("8.0", ["8.0.13", "8.0"], ["8.1"]),
        ("9 - 10", ["9.0.1", "10.8"], ["8.9", "11.0"]),
        ("5.7.2-m12 - 5.7.4", ["5.7.2", "5.7.3-m13"], ["5.7.1"]),
        ("*", ["0.1", "99.9"], []),
    ],
)
def test_ranges(text: str, inside: list[str], outside: list[str]) -> None:
    versions = VersionRange.parse(text)
    assert [name for name in inside + outside if versions.holds(Version.parse(name))] == inside


@pytest.mark.parametrize("text", ["", "-", " - ", "5.x", "5.1 - 5.2 - 5.3", "newest"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        VersionRange.parse(text)


@pytest.mark.parametrize("value", [5.6, None, ["5.6"], "5.6..8.0", "..8.0.3", "all"])
def test_a_value_of_a_file_that_is_no_range(value: object) -> None:
    with pytest.raises(ValueError, match=r"write `5\.18 - 6\.29`"):
        VersionRange.parse(value)


def test_an_empty_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="its low end is above its high end"):
        VersionRange.parse("6.30 - 6.29")


@given(ends, ends)
def test_a_range_reads_as_it_is_written(low: Version | None, high: Version | None) -> None:
    written = str(VersionRange(low, high))
    try:
        read = VersionRange.parse(written)
    except ValueError as error:
        assert "empty" in str(error)  # noqa: PT017
        return
    assert str(read) == written


@given(numbers, numbers)
def test_an_end_holds_for_all_versions_that_begin_like_it(end: tuple[int, ...], more: tuple[int, ...]) -> None:
    version = Version(end + more)
    assert VersionRange(Version(end), None).holds(version)
    assert VersionRange(None, Version(end)).holds(version)


@given(numbers, numbers)
def test_every_version_is_below_or_above_an_end(end: tuple[int, ...], parts: tuple[int, ...]) -> None:
    version = Version(parts)
    below = VersionRange(None, Version(end)).holds(version)
    above = VersionRange(Version(end), None).holds(version)
    assert below or above
    assert (below and above) == VersionRange(Version(end), Version(end)).holds(version)
