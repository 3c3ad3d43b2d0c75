"""PURE: what several parts of a report say of a bisection."""

import shlex
from collections.abc import Sequence

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import INSTRUCTIONS, SIMULATED
from cpubisect.search.question import Find, MetricChoice
from cpubisect.search.verdict import Answer, Verdict
from cpubisect.views.bisection import Asked, Bisection

FLAGS = {Flags.PINNED: "one set for all commits (pinned)", Flags.RELEASE: "of each tree's own release build (release)"}
"""What is said of the flags that commits are compiled by."""


def verdicts(told: Bisection) -> tuple[tuple[str, Verdict], ...]:
    """The verdicts there are, each with its test."""
    return tuple(told.verdict.tests.items()) if told.verdict else ()


def joined(tests: Sequence[str]) -> str:
    """The tests of a question in one line."""
    return ", ".join(tests)


def short(counted: str) -> str:
    """A metric that is counted, as the title of a column."""
    return "instr/query" if counted == INSTRUCTIONS else counted


def name_of(bisection: int, verdict: Answer | None) -> str:
    """What a bisection's files are called: after its first culprit, else after the kind of its answer."""
    if verdict is None:
        return f"cpubisect-{bisection}-unfinished"
    culprits = [culprit.sha[:12] for own in verdict.tests.values() for culprit in own.culprits]
    return f"cpubisect-{bisection}-{culprits[0] if culprits else verdict.kind}"


def reproduce(asked: Asked) -> list[str]:
    """The words of the command that asks the same question again, of the public repository where one is known."""
    words = ["bisect", "start", asked.good.sha, asked.bad.sha]
    words += [word for test in asked.tests for word in ("--test", test)]
    words += ["--repo", asked.origin or asked.repository, "--engine", asked.engine]
    if asked.find is not Find.REGRESSION:
        words += ["--find", asked.find.value]
    if asked.metric is not MetricChoice.AUTO:
        words += ["--metric", asked.metric.value]
    options = (("--min-step", asked.min_step), ("--toolchain", asked.toolchain), ("--counter", asked.counter_asked))
    for option, value in options:
        if value is not None:
            words += [option, str(value)]
    if asked.flags is not Flags.PINNED:
        words += ["--flags", asked.flags.value]
    implied = SIMULATED.get(asked.metric.counted)
    words += [f"--{simulation}" for simulation in asked.simulations if simulation is not implied]
    wishes = {
        "--first": asked.first,
        "--both-sides": asked.both_sides,
        "--screen": asked.screen,
        "--unsafe-settings": asked.unsafe_settings,
    }
    words += [option for option, wanted in wishes.items() if wanted]
    for name, setting in sorted(asked.given.items()):
        words += ["--set", f"{name}={setting}"]
    return words


def command(words: Sequence[str], width: int = 74) -> str:
    """Words as a shell command over several lines, broken between words only."""
    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) > width - 4:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return " \\\n".join(lines)
