"""Whether the difference is in the build: what other flags found for the same ends."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from questions import question
from small_bisections import BENCH, ask, history, tree, verdict_of
from web_home import application

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import CPU, INSTRUCTIONS, Counter
from cpubisect.records.registry import Registry
from cpubisect.report.form import Form
from cpubisect.report.render import render
from cpubisect.search.question import Find
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Kind, Verdict
from cpubisect.views.gather import gather
from cpubisect.views.other_flags import MOST, OtherFlags, compared, same_but_flags
from cpubisect.web.views.comparison import comparison

ASKED = question(parameters={"scan": {"rows": "10"}})
MAKEFILE = """\
OWN ?= -DCOST={cost}
db_bench: small_bench.c cost.h docs/cost.md
\t$(CC) -O1 -w $(OWN) $(EXTRA_CFLAGS) -include cost.h -o $@ small_bench.c
"""
MATRIX = """\
engines:
  minikv:
    tags: ["v{version}"]
    version_files:
      - path: include/minikv/version.h
        patterns: ['MINIKV_MAJOR\\s+(\\d+)', 'MINIKV_MINOR\\s+(\\d+)', 'MINIKV_PATCH\\s+(\\d+)']
    builder: rocksdb
    workload: db_bench
    rules:
      - versions: "*"
        why: Anything.
        system: make
        toolchain: [gcc-12]
        options: [OWN=-DCOST=1000]
        release: {options: []}
"""


def told(percent: float, *, metric: str = INSTRUCTIONS, half: float = 0.01, least: float = 0.5) -> Verdict:
    step = Step(percent, percent - half, percent + half, half)
    return Verdict(Kind.CULPRIT, "", metric=metric, ends={metric: step}, smallest_visible={metric: least})


def said(own: Verdict, other: Verdict) -> OtherFlags | None:
    return compared(ASKED, "scan", own, other, 7)


@pytest.mark.parametrize(
    ("own", "other", "telling"),
    [
        (told(10.0), told(1.0), True),
        (told(1.0), told(10.0), True),
        (told(10.0), told(-1.0), True),
        (told(10.0), told(9.0), False),
        (told(10.0), told(5.1), False),
        (told(10.0), told(4.9), True),
        (told(0.4), told(0.0), False),
        (told(0.6), told(0.0), True),
        (told(3.0, least=4.0), told(0.0), False),
        (told(10.0, metric=CPU, half=4.0), told(1.0, metric=CPU, half=4.0), True),
        (told(10.0, metric=CPU, half=6.0), told(1.0, metric=CPU, half=6.0), False),
        (told(10.0), told(1.0, metric=CPU), False),
        (Verdict(Kind.NO_REGRESSION, "equal code"), told(10.0), True),
        (Verdict(Kind.NO_REGRESSION, "equal code"), Verdict(Kind.NO_REGRESSION, "equal code"), False),
        (Verdict(Kind.UNBUILDABLE, "no compiler"), told(10.0), False),
    ],
)
def test_much_another_difference_is_in_the_build(own: Verdict, other: Verdict, telling: bool) -> None:
    assert (said(own, other) is not None) == telling
    assert (said(other, own) is not None) == telling


@given(st.floats(-90, 900), st.floats(-90, 900))
def test_what_is_said_is_that_most_of_the_larger_one_is_missing(one: float, other: float) -> None:
    found = said(told(one), told(other))
    if found:
        assert (found.own, found.percent) == (one, other)
        assert abs(one - other) >= MOST * max(abs(one), abs(other))


def test_the_note_names_the_command_to_measure_the_other_way() -> None:
    asked = replace(
        ASKED,
        repository="/tmp/a clone",
        given={"rows": "10", "pattern": "a b"},
        flags=Flags.RELEASE,
        find=Find.IMPROVEMENT,
        toolchain="gcc-13",
    )
    found = compared(asked, "scan", told(12.0), told(0.5), 7)
    assert found is not None
    assert found.command == (
        "bisect start v1 v2 --test scan --flags pinned --repo '/tmp/a clone' --find improvement --toolchain gcc-13 "
        "--set 'pattern=a b' --set rows=10"
    )
    assert found.sentence == (
        "built by one set of flags for all commits the ends differ by +0.50 % instructions/query (bisection 7), by "
        "each tree's own release flags by +12.00 %: most of the difference is in the build, not in the code; to "
        f"measure the other way: {found.command}"
    )


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"flags": Flags.RELEASE}, True),
        ({"flags": Flags.RELEASE, "first": True, "min_step": 3.0}, True),
        ({}, False),
        ({"flags": Flags.RELEASE, "toolchain": "gcc-13"}, False),
        ({"flags": Flags.RELEASE, "counter": Counter.HARDWARE}, False),
        ({"flags": Flags.RELEASE, "good_sha": "3" * 40}, False),
        ({"flags": Flags.RELEASE, "bad_sha": "3" * 40}, False),
        ({"flags": Flags.RELEASE, "parameters": {"scan": {"rows": "20"}}}, False),
        ({"flags": Flags.RELEASE, "tests": ("other",), "parameters": {"other": {}}}, False),
    ],
)
def test_only_what_was_asked_alike_is_compared(change: dict[str, object], same: bool) -> None:
    other = replace(ASKED, **change)
    assert same_but_flags(ASKED, other, "scan") is same
    assert same_but_flags(other, ASKED, "scan") is same


def test_a_step_of_the_build_is_told_from_one_of_the_code(home: Path, tmp_path: Path) -> None:
    """The second commit only changes how the tree builds itself."""
    first = {**tree(1000), "cost.h": "#define LOOKUP COST\n", "small_bench.c": BENCH}
    story = history({**first, "Makefile": MAKEFILE.format(cost=1000)}, {"Makefile": MAKEFILE.format(cost=1500)})
    shas = story.write(tmp_path / "kv")
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(MATRIX)
    more = ("--matrix", str(matrix))

    pinned = ask(tmp_path / "kv", shas[1], "main", *more, home=home)
    assert verdict_of(pinned)["kind"] == "no-regression"
    assert (pinned["flags"], pinned["other_flags"]) == ("pinned", {})
    release = ask(tmp_path / "kv", shas[1], "main", *more, "--flags", "release", home=home)
    assert verdict_of(release)["kind"] == "culprit"
    assert [commit["recipe"]["flags"] for commit in release["commits"]] == ["release", "release"]

    registry = Registry.open()
    keys = [{build.recipe_key for build, _ in registry.store.builds(number)} for number in (1, 2)]
    assert not keys[0] & keys[1]
    for number, own, other in ((1, "pinned", "release"), (2, "release", "pinned")):
        found = gather(registry, number).other_flags["readrandom"]
        assert (found.bisection, found.flags) == (3 - number, other)
        for form in (Form.TEXT, Form.MARKDOWN, Form.HTML):
            text = re.sub(r"\s+", " ", render(registry, number, form).decode())
            assert "most of the difference is in the build, not in the code" in text
        assert f"({own})" in render(registry, number, Form.TEXT).decode()
        data = json.loads(render(registry, number, Form.JSON))
        assert f"--flags {other}" in data["other_flags"]["readrandom"]["command"]
        page = application(home).test_client().get(f"/bisections/{number}").text
        assert "most of the difference is in the build" in page
    reproduce = render(registry, 2, Form.TEXT).decode().partition("To reproduce")[2]
    assert re.search(r"--flags (\\\s+)?release", reproduce)
    assert "--flags" not in render(registry, 1, Form.TEXT).decode().partition("To reproduce")[2]

    lines = comparison(registry, [shas[1], shas[2]]).groups[0].lines
    ratios = {line.settings.get("flags"): line.cells[1].relative_instructions for line in lines}
    assert ratios[None] is None, "its code is equal by pinned flags, so it was not measured"
    assert ratios["release"] is not None
    assert ratios["release"] > 1.1
