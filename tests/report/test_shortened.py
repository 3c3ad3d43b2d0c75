"""A report is cut to what a tracker takes, and says so; strangers' words do nothing in it, cut or not."""

import re
from collections.abc import Callable

import pytest
from hostile_reports import CONTENTS
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cpubisect.report.blocks import Block, Code, Column, Content, Facts, Paragraph, Section, Table
from cpubisect.report.markdown import as_markdown
from cpubisect.report.shortened import LEAST, shortened, size
from cpubisect.report.text import as_text

RENDERERS = st.sampled_from([as_text, as_markdown, lambda content: as_text(content).replace("x", "xx")])
LIMITS = st.integers(LEAST, 6000)
Render = Callable[[Content], str]


def section(title: str, *blocks: Block) -> Section:
    return Section(title, blocks)


def parsed(markdown: str) -> list[Token]:
    """What CommonMark with tables makes of a text."""
    return MarkdownIt("commonmark").enable("table").parse(markdown)


@given(CONTENTS, LIMITS, RENDERERS)
def test_the_limit_is_kept(content: Content, limit: int, render: Render) -> None:
    text = shortened(content, limit, render)
    assert size(text) <= limit
    assert text.strip()


@given(CONTENTS, RENDERERS)
def test_what_fits_is_left_alone(content: Content, render: Render) -> None:
    whole = render(content)
    assert shortened(content, size(whole) + LEAST, render) == whole


@given(CONTENTS, LIMITS)
def test_a_report_in_markdown_is_nothing_but_what_we_wrote(content: Content, limit: int) -> None:
    """No link, picture, comment, mention or reference outside of code, cut or not; and no block is left open."""
    for markdown in (as_markdown(content), shortened(content, limit, as_markdown)):
        tokens = parsed(f"{markdown}\n\nend")
        assert [token.type for token in tokens[-3:]] == ["paragraph_open", "inline", "paragraph_close"]
        assert tokens[-2].content == "end"
        words = [child for token in tokens for child in token.children or ()]
        kinds = {token.type for token in (*tokens, *words)}
        assert not kinds & {"link_open", "image", "html_inline", "bullet_list_open", "ordered_list_open", "hr"}
        assert not kinds & {"blockquote_open", "code_block"}
        said = [word.content for word in words if word.type == "text"]
        for token in tokens:
            if token.type == "html_block":
                found = re.fullmatch(r"<details><summary>([^<>]*)</summary>\n|</details>\n", token.content)
                assert found, token.content
                said.append(found[1] or "")
        for text in said:
            assert not re.search(r"@\w|#\d|\bGH-\d|https?://\w|\bwww\.\w|/(issues|pull)/\d", text, re.IGNORECASE), text


@given(st.text())
def test_no_way_of_counting_gives_more_than_the_size(text: str) -> None:
    assert size(text) >= len(text)
    assert size(text) >= len(text.encode("utf-16-le")) // 2
    assert size(text) >= len(text.replace("\n", "\r\n"))


def test_the_longest_section_loses_most_and_says_so() -> None:
    rows = "\n".join(f"row {n}" for n in range(1000))
    content = Content(("answer",), (section("Culprit", Code("commit abc")), section("Commits", Code(rows, "sh"))))
    short = shortened(content, 2000, as_markdown)
    assert 1900 < size(short) <= 2000
    begins = "**answer**\n\n### Culprit\n\n```\ncommit abc\n```\n\n### Commits\n\n```sh\nrow 0\nrow 1\n"
    assert short.startswith(begins)
    told = re.search(r"\n```\n\n… (\d+) lines left out here; the full report has them\n$", short)
    assert told
    assert short.count("row") + int(told[1]) == 1000


@pytest.mark.parametrize("render", [as_text, as_markdown])
def test_every_kind_of_block_is_cut_by_its_rows(render: Render) -> None:
    rows = [f"row{n:03}" for n in range(300)]
    columns = (Column("title"), Column("other", loose=True))
    blocks: list[Block] = [
        Paragraph("\n".join(rows)),
        Facts(tuple((row, "said") for row in rows)),
        Table(columns, tuple((row, "said") for row in rows[:-1]), "and more"),
        Code("\n".join(rows)),
    ]
    content = Content(("answer",), tuple(section(f"Section {n}", block) for n, block in enumerate(blocks)))
    short = shortened(content, 4000, render)
    kept = {part.count("row0") for part in short.split("Section ")[1:]}
    assert len(kept) == 1
    assert short.count(f"… {300 - kept.pop():,} lines left out here; the full report has them") == 4
    assert "and more" not in short


def test_blocks_after_a_cut_go_and_are_counted() -> None:
    blocks = (Facts((("a", "1"), ("b", "2"))), Paragraph("x " * 400), Code("\n".join("y" * 60 for _ in range(20))))
    short = shortened(Content(("answer",), (section("Title", *blocks),)), 300, as_text)
    assert short == "answer\n\nTitle\n  a  1\n  b  2\n\n  … 21 lines left out here; the full report has them\n"


def test_too_many_sections_are_counted() -> None:
    content = Content(("answer",), tuple(section(f"Section {n}", Paragraph("row\nrow")) for n in range(1000)))
    short = shortened(content, 1000, as_text)
    assert short.startswith("answer\n\nSection 0\n  … 2 lines left out here; the full report has them\n")
    kept = short.count("\nSection ")
    assert short.endswith(f"\n… {1000 - kept} sections left out here; the full report has them\n")


def test_an_opening_of_many_sentences_keeps_the_first() -> None:
    short = shortened(Content(tuple(f"answer {n}" for n in range(100)), ()), 300, as_text)
    assert short.startswith("answer 0\n\nanswer 1\n")
    assert short.endswith("lines left out here; the full report has them\n")


def test_one_endless_line_is_cut() -> None:
    short = shortened(Content(("answer", "x" * 100_000), ()), 5000, as_markdown)
    assert short == f"**answer**\n\n{'x' * 1000}… (99,000 more characters)\n"


def test_an_endless_answer_is_cut_to_the_smallest_limit() -> None:
    short = shortened(Content(("x" * 100_000,), (section("Title", Paragraph("row")),)), LEAST, as_markdown)
    assert short.startswith(f"**{'x' * 100}… (99,900 more characters)**\n")


def test_the_limit_is_kept_where_not_even_the_answer_fits() -> None:
    assert (
        shortened(Content(("€" * 1000,), ()), LEAST, as_text) == "… 1 section left out here; the full report has them\n"
    )
