"""A comment is never longer than its tracker takes, and strangers' words stay where they were put in it."""

from dataclasses import replace
from pathlib import Path

import pytest
from hostile_reports import CONTENTS
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.attach.access import Patience
from cpubisect.attach.github import GitHub, Issue
from cpubisect.attach.jira import BREAK, Jira, unbroken
from cpubisect.report.blocks import Content
from cpubisect.report.documents import Report

MARKER = "cpubisect:" + "0123456789abcdef" * 2
ISSUE = GitHub(Issue("a", "b", 1), "https://api.github.com", None, Path("files"), Patience())
TICKET = Jira("https://example.org", "KV-1", None, Patience())
TIMES = st.sampled_from([1, 20, 100])


def longer(content: Content, times: int) -> Content:
    return replace(content, sections=content.sections * times)


@settings(max_examples=30)
@given(CONTENTS, TIMES)
def test_a_comment_on_github(content: Content, times: int) -> None:
    text = ISSUE.compose(Report((), longer(content, times)), MARKER).text
    assert len(text.replace("\n", "\r\n").encode()) <= 65_536
    assert text.endswith(f"\n\n<!-- {MARKER} -->\n")


@settings(max_examples=30)
@given(CONTENTS, TIMES)
def test_a_comment_in_jira(content: Content, times: int) -> None:
    text = TICKET.compose(Report((), longer(content, times)), MARKER).text
    assert len(text.replace("\n", "\r\n").encode()) <= 32_767
    assert text.lower().count("{noformat") == 2
    assert text.startswith("{noformat}\n")
    assert text.endswith(f"\n\nReference: {MARKER}\n{{noformat}}")


@pytest.mark.parametrize("text", ["{noformat}", "{NoFormat:title=x}", "{{noformat}}", "a{noformat}b{noformat}"])
def test_a_noformat_block_cannot_be_ended(text: str) -> None:
    assert "{noformat" not in unbroken(text).lower()
    assert unbroken(text).replace(BREAK, "") == text
