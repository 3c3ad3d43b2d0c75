"""A report is cut to what a tracker takes, and says so."""

from hypothesis import given
from hypothesis import strategies as st
from test_harmless import MARKDOWN, outside

from cpubisect.harmless import inert
from cpubisect.shorten import shorten, size

LIMITS = st.integers(200, 3000)
LINES = st.text(max_size=40) | st.sampled_from(
    ["### Notes", "Title", "  row", "```", "`" * 1500, "€" * 1200, "a" * 2000]
)
LONG = st.lists(LINES, max_size=200).map("\n".join)


@given(LONG | MARKDOWN, LIMITS, st.booleans())
def test_the_limit_is_kept(text: str, limit: int, markdown: bool) -> None:
    assert size(shorten(text, limit, markdown=markdown)) <= limit


@given(LONG | MARKDOWN, st.booleans())
def test_what_fits_is_left_alone(text: str, markdown: bool) -> None:
    assert shorten(text, size(text) + 200, markdown=markdown) == text


@given(st.text(), st.integers(200, 4000))
def test_no_way_of_counting_gives_more_than_the_size(text: str, limit: int) -> None:
    assert size(text) >= len(text)
    assert size(text) >= len(text.encode("utf-16-le")) // 2
    assert size(text) >= len(text.replace("\n", "\r\n"))


@given(LONG | MARKDOWN, LIMITS)
def test_a_cut_lets_nothing_out_of_code_blocks_and_leaves_none_open(text: str, limit: int) -> None:
    quiet = inert(text)
    if size(quiet) > limit:
        short = shorten(quiet, limit, markdown=True)
        assert inert(short) == short
        assert outside(short + "\nend")[-1] == "end"


def test_the_longest_section_loses_most_and_says_so() -> None:
    rows = [f"row {n}" for n in range(1000)]
    text = "\n".join(
        ["**answer**", "", "### Culprit", "", "```", "commit abc", "```", "", "### Commits", "```", *rows, "```"]
    )
    short = shorten(text, 2000, markdown=True)
    assert size(short) > 1900
    assert short.startswith("**answer**\n\n### Culprit\n\n```\ncommit abc\n```\n\n### Commits\n```\nrow 0\n")
    assert "lines left out here; the full report has them" in short


def test_plain_text_is_cut_by_its_sections() -> None:
    text = "\n".join(["answer", "", "Question", *["  setting"] * 300, "", "Cost", "  4 builds"])
    short = shorten(text, 500, markdown=False)
    assert short.startswith("answer\n\nQuestion\n  setting\n")
    assert short.endswith("Cost\n  4 builds")


def test_too_many_sections_are_counted() -> None:
    text = "\n".join(f"Section {n}\n  row\n  row" for n in range(1000))
    short = shorten(text, 1000, markdown=False)
    assert short.startswith("Section 0\n")
    assert short.endswith("sections left out here; the full report has them")


def test_one_endless_line_is_cut() -> None:
    short = shorten("answer\n" + "x" * 100_000, 5000, markdown=False)
    assert short.endswith("x… (99,000 more characters)")
