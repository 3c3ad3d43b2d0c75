"""Strangers' words do nothing on a terminal or in a ticket."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cpubisect.harmless import BREAK, closed, fence_after, inert, unbroken, visible

MARKDOWN = st.lists(
    st.sampled_from(
        ["```", "````", "~~~", "``` c", "```a`", "    ```", "# A", "### B", "@you #7", "GH-7 a/b#8", "", "x"]
    )
    | st.text(max_size=20).filter(lambda line: "\n" not in line)
).map("\n".join)


def outside(markdown: str) -> list[str]:
    """The lines that are in no code block."""
    fence, lines = "", []
    for line in markdown.split("\n"):
        after = fence_after(line, fence)
        if not fence and not after:
            lines.append(line)
        fence = after
    return lines


@given(st.text(st.characters()))
@example("\x1b[31m\r\n\u202e\ud800\x85\u2028")
def test_what_is_visible_is_printable_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not set(shown) & {chr(n) for n in [*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028]}
    assert visible(shown) == shown


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs"))))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(MARKDOWN)
def test_nothing_outside_code_names_anybody(markdown: str) -> None:
    for line in outside(inert(markdown)):
        assert "@you" not in line
        assert "#7" not in line
        assert "GH-7" not in line
        assert "#8" not in line


@given(MARKDOWN)
def test_inert_changes_nothing_else_and_only_once(markdown: str) -> None:
    assert inert(markdown).replace(BREAK, "") == markdown.replace(BREAK, "")
    assert inert(inert(markdown)) == inert(markdown)


def test_code_blocks_and_links_are_left_alone() -> None:
    markdown = "```\n@you #7\n```\n[commit](https://github.com/a/b/commit/c0ffee)"
    assert inert(markdown) == markdown


def test_links_to_tickets_are_broken() -> None:
    assert inert("see https://github.com/a/b/issues/7") == f"see https://github.com/a/b/issues/{BREAK}7"


@given(MARKDOWN)
def test_a_closed_text_has_no_open_code_block(markdown: str) -> None:
    assert outside(closed(markdown) + "\nend")[-1] == "end"
    assert closed(markdown).startswith(markdown)


@pytest.mark.parametrize("text", ["{noformat}", "{NoFormat:title=x}", "{{noformat}}", "a{noformat}b{noformat}"])
def test_a_noformat_block_cannot_be_ended(text: str) -> None:
    assert "{noformat" not in unbroken(text).lower()
    assert unbroken(text).replace(BREAK, "") == text
