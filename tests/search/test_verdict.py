"""Questions, verdicts and answers as plain data and back, and what an answer to several tests says."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from questions import question

from cpubisect.base.metrics import CPU, INSTRUCTIONS, SIMULATED, Counter, Simulation
from cpubisect.search.ends import ChangedVariable
from cpubisect.search.question import Find, MetricChoice, Question
from cpubisect.search.stats import Step
from cpubisect.search.verdict import (
    Answer,
    ChangedDefault,
    ChangedFile,
    Culprit,
    FunctionChange,
    Group,
    Kind,
    Verdict,
    prefix,
)

CULPRIT = Culprit(
    sha="c" * 40,
    parent="b" * 40,
    subject="Cost more",
    author="Ada Writer",
    date="2001-09-12",
    steps={INSTRUCTIONS: Step(20.0, 19.0, 21.0, 0.5), CPU: Step(3.0, -math.inf, math.inf, math.inf)},
    functions=(FunctionChange("f(int)", 1.0, 2.5),),
    inside=("d" * 40,),
    share=0.9,
    probability=0.999,
    message="Cost more\n\nfor a reason",
    files=(ChangedFile("a.c", 1, 2), ChangedFile("b.png", None, None)),
    more_files=3,
    variables=(ChangedVariable("sync_binlog", None, "1"),),
)
VERDICT = Verdict(
    Kind.CULPRIT,
    "c Cost more",
    metric=INSTRUCTIONS,
    ends={CPU: Step(1.0, 0.5, 1.5, 0.2)},
    culprits=(CULPRIT,),
    groups=(Group("a", "b", ("x", "y"), 4.0, "neither builds"),),
    defaults=(ChangedDefault("sync_binlog", "0", "1"),),
    smallest_visible={INSTRUCTIONS: 0.5, CPU: math.inf},
    remainder=-0.5,
    notes=("a note",),
)
Steps = st.builds(Step, *(st.floats(allow_nan=False, allow_infinity=False),) * 4)


@pytest.mark.parametrize("tests", [("scan",), ("scan", "insert")])
def test_a_question_comes_back_with_its_list_of_tests(tests: tuple[str, ...]) -> None:
    asked = question(
        tests=tests,
        parameters={test: {"rows": "10"} for test in tests},
        given={"rows": "10"},
        metric=MetricChoice.CPU,
        find=Find.IMPROVEMENT,
        min_step=2.0,
        counter=Counter.HARDWARE,
        simulations=tuple(Simulation),
    )
    stored = json.loads(json.dumps(asked.to_json()))
    assert stored["tests"] == list(tests)
    assert stored["parameters"].keys() == set(tests)
    assert "test" not in stored
    assert Question.from_json(stored) == asked


def test_what_is_searched_on_says_what_must_be_simulated() -> None:
    assert MetricChoice.AUTO.simulations() == ()
    assert MetricChoice.CPU.simulations([Simulation.BRANCH]) == (Simulation.BRANCH,)
    assert MetricChoice.L1_MISSES.simulations([Simulation.BRANCH]) == (Simulation.CACHE, Simulation.BRANCH)
    for metric in MetricChoice:
        simulated = metric.counted in SIMULATED
        assert simulated == bool(metric.simulations())
        assert simulated or metric.counted == INSTRUCTIONS
        assert not (simulated and metric.clocked)


def test_a_question_of_before_a_counter_could_be_chosen_comes_back() -> None:
    stored = question().to_json()
    del stored["counter"], stored["simulations"]
    assert Question.from_json({**stored, "of another program": 1}) == question()


def test_an_answer_comes_back_with_all_that_it_says() -> None:
    answer = Answer.of({"scan": VERDICT}, ("scan",))
    stored = json.dumps(answer.to_json(), allow_nan=False)
    assert Answer.from_json(json.loads(stored)) == answer


def test_a_verdict_of_before_messages_were_kept_comes_back() -> None:
    old = VERDICT.to_json()
    for name in ("message", "files", "more_files", "variables", "probability"):
        del old["culprits"][0][name]
    (culprit,) = Verdict.from_json(old).culprits
    assert (culprit.message, culprit.files, culprit.probability, culprit.sha) == ("", (), None, CULPRIT.sha)


def test_what_is_unbounded_is_null_and_unbounded_again() -> None:
    step = Step(3.0, -math.inf, math.inf, math.inf)
    assert step.to_json() == {"percent": 3.0, "low": None, "high": None, "visible": None}
    assert Step.from_json(step.to_json()) == step
    assert not step.bounded


@given(Steps)
def test_a_step_comes_back(step: Step) -> None:
    assert Step.from_json(json.loads(json.dumps(step.to_json()))) == step


def test_an_answer_to_several_tests_leads_with_the_most_telling_kind() -> None:
    verdicts = {"a": Verdict(Kind.NO_REGRESSION, "none"), "b": Verdict(Kind.ONE_OF, "two")}
    found = Answer.of(verdicts, ("a", "b"))
    assert found.kind is Kind.ONE_OF
    assert found.summary == "a: no-regression: none; b: one-of: two"


def test_only_one_of_several_tests_is_named() -> None:
    first = {"a": Verdict(Kind.NO_REGRESSION, "none")}
    assert Answer.of(first, ("a",)).summary == "none"
    assert Answer.of(first, ("a", "b")).summary == "a: no-regression: none", "the other one is not answered yet"
    assert (prefix("a", ("a",)), prefix("a", ("a", "b"))) == ("", "a: ")
