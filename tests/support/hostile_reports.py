"""Reports of any shape and length whose every word wants to be markup, a mention, a link, or the end of its block."""

from hypothesis import strategies as st

from cpubisect.report.blocks import Code, Column, Content, Facts, Paragraph, Section, Table, clean

LONG = ["x" * 3000, "€" * 1500, "😀 @" * 400, "`" * 1500]
HOSTILE = [
    "@you", "cc @you #7", "a/b#8 GH-7", "https://github.com/a/b/issues/7", "www.x.org/pull/7", "me@x.org", "&copy;",
    "$x$", "```", "````x", "~~~", "`x", "``", "    code", "# A", "- x", "1. x", "> x", "|a|b|", "[a](b)", "===", "***",
    "\\", "", "<!--", "-->", "<b>", "</details>", "{noformat}", "{NoFormat:x}",
]  # fmt: skip
LINE = st.sampled_from([*HOSTILE, *LONG]) | st.text(max_size=9).map(lambda text: str(clean(text)).replace("\n", " "))
LINES = st.builds(lambda lines, times: "\n".join(lines * times), st.lists(LINE, max_size=5), st.integers(1, 40))
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.builds(
        Table,
        st.lists(st.builds(Column, LINE, st.booleans(), st.booleans()), min_size=width, max_size=width).map(tuple),
        st.lists(st.lists(LINE, min_size=width, max_size=width).map(tuple), max_size=5).map(tuple),
        LINE,
    )
)
BLOCKS = (
    st.builds(Paragraph, LINES)
    | st.builds(Facts, st.lists(st.tuples(LINE, LINE), max_size=5).map(tuple))
    | TABLES
    | st.builds(Code, LINES, st.sampled_from(["", "sh", "diff"]), LINE)
)
CONTENTS = st.builds(
    Content,
    st.lists(LINE.filter(str.strip), min_size=1, max_size=3).map(tuple),
    st.lists(st.builds(Section, LINE, st.lists(BLOCKS, max_size=3).map(tuple)), max_size=4).map(tuple),
)
