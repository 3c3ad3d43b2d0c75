"""A report in every form: the finding first, all a maintainer needs, and nothing that a commit message may do."""

import json
import re
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from small_bisections import ask, cost, history, tree, verdict_of
from told import SUBJECT, Told, told

from cpubisect.cli import main
from cpubisect.report import render as report
from cpubisect.report.blocks import clean
from cpubisect.report.content import content_of
from cpubisect.report.form import Form
from cpubisect.report.markdown import code, fenced, plain
from cpubisect.report.text import as_text
from cpubisect.views.bisection import Bisection

pytestmark = pytest.mark.xdist_group("report")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[Told]:
    with told(tmp_path_factory.mktemp("told"), compiler_cache) as one:
        yield one


def rendered(found: Told, form: Form) -> str:
    return report.render(found.registry, found.bisection, form).decode()


def bisect(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


def test_the_text_begins_with_the_finding(found: Told) -> None:
    first, second, *_ = rendered(found, Form.TEXT).split("\n\n")
    flat = " ".join(first.split())
    assert flat.startswith("minikv, readrandom: ")
    assert f"more instructions per query since commit {found.shas[4][:12]}" in flat
    told = " ".join(second.split())
    assert f"its parent {found.shas[3][:12]}" in told
    assert re.search(r": [\d,]+ before, [\d,]+ after \(callgrind|perf\); 99 % interval of the step \+2", told)


def test_the_text_says_all_that_a_maintainer_asks_for_in_76_columns(found: Told) -> None:
    text = rendered(found, Form.TEXT)
    # A word of a command cannot be broken.
    assert max(len(line) for line in text.splitlines() if str(found.clone.parent) not in line) <= 76
    for said in (
        "Message of ", "Files changed by ", "compiler ", "build ", "settings ", "Host", "binary", "cost.h",
        "To reproduce", "reproduce.sh", "99 % interval", found.shas[4], found.shas[3],
    ):  # fmt: skip
        assert said in text, said


def test_nothing_in_the_text_steers_a_terminal(found: Told) -> None:
    text = rendered(found, Form.TEXT)
    assert {unicodedata.category(character) for character in text if character != "\n"}.isdisjoint({"Cc", "Cf"})
    assert clean({"a": ["\x1b[1m\u202e\ud800 ok\r\n"]}) == {"a": ["\ufffd[1m\ufffd\ufffd ok\n"]}


def test_markdown_keeps_a_message_in_its_fence(found: Told) -> None:
    text = rendered(found, Form.MARKDOWN)
    fence = re.search(r"### Message of \w+\n\n(`+)\n(.*?)\n\1\n", text, re.DOTALL)
    assert fence is not None
    assert len(fence[1]) == 4
    assert "</details>" in fence[2]
    outside = text.replace(fence[0], "")
    prose = re.sub(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "", outside)
    assert SUBJECT.partition(" <")[0] in prose
    assert "<script" not in prose.replace("\\<", "")
    assert "@everyone" not in prose


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("a **b** <i>", "a \\*\\*b\\*\\* \\<i\\>"),
        ("- a\n1. b", "\\- a 1. b"),
        ("1. b", "1\\. b"),
        ("@who #12 GH-7 www.x.org http://x", "@\u2060who #\u206012 GH\u2060-7 www.\u2060x.org http://\u2060x"),
        ("cc me@x.org", "cc me@\u2060x.org"),
        ("in a/b/issues/7", "in a/b/issues/\u20607"),
        ("5 + 6 - 7.", "5 + 6 - 7."),
    ],
)
def test_plain_markdown_means_what_it_says(text: str, becomes: str) -> None:
    assert plain(text) == becomes


def test_code_in_markdown_cannot_be_left() -> None:
    assert code("a `` b | c\nd") == "``` a `` b ¦ c d ```"
    assert fenced("````\nx")[0] == "`````"


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_stands_alone_and_runs_nothing(found: Told) -> None:
    text = rendered(found, Form.HTML)
    tags = Page(text).tags
    assert not {"script", "img", "iframe", "link", "object", "b"} & {tag for tag, _ in tags}
    names = {name for _, attributes in tags for name in attributes}
    assert not {name for name in names if name.startswith("on")} | ({"style", "src"} & names)
    assert "default-src 'none'" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not re.findall(r"url\((?!#)", text)


def test_the_page_has_charts_for_wide_and_narrow_screens_and_all_tables(found: Told) -> None:
    text = rendered(found, Form.HTML)
    tags = Page(text).tags
    pictures = [tag for tag, attributes in tags if attributes.get("class") in ("wide", "narrow")]
    assert len(pictures) == 6
    assert sum(tag == "svg" for tag, _ in tags) == 6
    ids = [attributes["id"] for tag, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "prefers-color-scheme: dark" in text
    for said in (
        "Functions that changed",
        "How ",
        "compiler",
        "Commits measured",
        "Host",
        "To reproduce",
        "picture.bin",
    ):
        assert said in text, said


def test_json_has_the_message_the_files_and_the_recipes(found: Told) -> None:
    data = json.loads(rendered(found, Form.JSON))
    (culprit,) = verdict_of(data)["culprits"]
    assert culprit["message"].startswith(SUBJECT)
    files = {file["path"]: (file["added"], file["removed"]) for file in culprit["files"]}
    assert files["picture.bin"] == (None, None)
    assert files["<b>odd</b> $(name) `x`.txt"] == (2, 0)
    assert culprit["more_files"] == 0
    assert culprit["variables"] == data["variables"] == []
    assert all(commit["recipe"]["compiler"] for commit in data["commits"])
    assert data["origin"] == ""


def test_a_verdict_of_before_messages_were_kept_is_told(found: Told) -> None:
    row = found.registry.store.bisection(found.bisection)
    assert row.verdict
    old = row.verdict.to_json()
    for name in ("message", "files", "more_files", "variables"):
        del old["tests"]["readrandom"]["culprits"][0][name]
    found.registry.store.update_bisection(found.bisection, verdict=old)
    try:
        for form in (Form.TEXT, Form.MARKDOWN, Form.HTML):
            assert found.shas[4] in rendered(found, form)
    finally:
        found.registry.store.update_bisection(found.bisection, verdict=row.verdict)


def test_an_unfinished_bisection_is_told_in_every_form(found: Told) -> None:
    row = found.registry.store.bisection(found.bisection)
    found.registry.store.update_bisection(found.bisection, state="interrupted", verdict=None, finished=None)
    try:
        assert "no answer yet" in rendered(found, Form.TEXT)
        for form in Form:
            assert report.render(found.registry, found.bisection, form)
        assert "unfinished" in report.file_name(found.registry, found.bisection, Form.PNG)
    finally:
        values = {"state": row.state, "verdict": row.verdict, "finished": row.finished}
        found.registry.store.update_bisection(found.bisection, **values)


def test_the_command_writes_files_and_chooses_names(found: Told, tmp_path: Path) -> None:
    words = ("report", str(found.bisection), "--format")
    assert bisect(*words, "png", "--output", str(tmp_path)).exit_code == 0
    short = found.shas[4][:12]
    assert (tmp_path / f"cpubisect-{found.bisection}-{short}.png").read_bytes().startswith(b"\x89PNG")
    assert bisect(*words, "svg", "--output", str(tmp_path / "x.svg")).exit_code == 0
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    assert bisect(*words, "markdown").stdout.startswith("**minikv")


def test_a_file_that_cannot_be_written_is_one_line(found: Told, tmp_path: Path) -> None:
    result = bisect("report", str(found.bisection), "--output", str(tmp_path / "no" / "where"))
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "--output" in result.stderr


def test_the_help_has_examples() -> None:
    output = bisect("report", "--help").output
    assert "--format bundle --output ." in output


def test_an_end_that_does_not_build_is_told_with_its_recipe(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1000, "#error no\n")).write(tmp_path / "kv")
    data = ask(tmp_path / "kv", shas[1], shas[2], home=home)
    first, *rest = as_text(content_of(Bisection.from_json(data))).split("\n\n")
    assert f"{shas[2][:12]}" in first
    assert first.endswith("(unbuildable)")
    (failed,) = [part for part in rest if part.startswith(f"How {shas[2][:12]} did not build")]
    assert "#error no" in failed
    assert any(part.startswith(f"How {shas[1][:12]} was built") for part in rest)
    assert f"good {shas[1][:12]} ({shas[1][:12]})" in " ".join(" ".join(rest).split())
