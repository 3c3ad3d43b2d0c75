"""Is it the code or the build? What bisections of the same ends by other flags found, where that tells."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import CPU, INSTRUCTIONS
from cpubisect.base.plain import Plain
from cpubisect.records import queries
from cpubisect.records.rows import BisectionRow
from cpubisect.records.store import Store
from cpubisect.search.ends import DEFAULT_MIN_STEP
from cpubisect.search.question import Find, Question
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Kind, Verdict

NO_STEP = Step(0.0, 0.0, 0.0, 0.0)

MOST = 0.5
"""The build makes the difference if from this part of the larger one on it is not there by the other flags."""

WHOSE = {Flags.PINNED: "one set of flags for all commits", Flags.RELEASE: "each tree's own release flags"}


@dataclass(frozen=True)
class OtherFlags(Plain):
    """What another bisection of the same ends, by other `flags`, found for a test: they differ by `percent` in
    `metric`, where here they differ by `own`; `command` measures them by those flags."""

    bisection: int
    flags: Flags
    metric: str
    percent: float
    own: float
    command: str

    @property
    def sentence(self) -> str:
        """What that says."""
        return (
            f"built by {WHOSE[self.flags]} the ends differ by {self.percent:+.2f} % {self.metric} (bisection "
            f"{self.bisection}), by {WHOSE[self.flags.other]} by {self.own:+.2f} %: most of the difference is in the "
            f"build, not in the code; to measure the other way: {self.command}"
        )


def other_flags(store: Store, row: BisectionRow) -> dict[str, OtherFlags]:
    """By test, what the newest of the others with another answer on the same host says."""
    if not row.verdict:
        return {}
    # Whoever only shows a verdict starts without the history.
    from cpubisect.history.mirrors import public_origin

    others = [store.bisection(number) for number in queries.of_same_ends(store, row.question) if number != row.id]
    repository = row.question.repository
    asked = replace(row.question, repository=public_origin(Path(repository)) or repository)
    found: dict[str, OtherFlags] = {}
    for other in others:
        for test, own in row.verdict.tests.items():
            theirs = other.verdict and other.verdict.tests.get(test)
            alike = other.host.get("cpu") == row.host.get("cpu") and same_but_flags(row.question, other.question, test)
            if theirs and alike and test not in found:
                said = compared(asked, test, own, theirs, other.id)
                if said:
                    found[test] = said
    return found


def same_but_flags(one: Question, other: Question, test: str) -> bool:
    """Whether two questions are about the same ends, test and compiler, and differ in whose flags are taken."""
    if test not in one.tests or test not in other.tests or one.flags is other.flags:
        return False
    alike = ("engine", "good_sha", "bad_sha", "toolchain", "counter", "screen")
    return all(getattr(one, name) == getattr(other, name) for name in alike) and (
        one.parameters[test] == other.parameters[test]
    )


def compared(question: Question, test: str, own: Verdict, other: Verdict, bisection: int) -> OtherFlags | None:
    """What another bisection, `same_but_flags`, says of the difference that was found here; None if both found much the
    same, or it can't be told."""
    for metric in (INSTRUCTIONS, CPU):
        here, there = _ends(own, metric), _ends(other, metric)
        if here and there:
            break
    else:
        return None
    gap = abs(here.percent - there.percent)
    least = max(_least(metric, own.smallest_visible), _least(metric, other.smallest_visible))
    if gap < max(least, MOST * max(abs(here.percent), abs(there.percent))) or not _apart(metric, here, there):
        return None
    flags = question.flags.other
    return OtherFlags(bisection, flags, metric, there.percent, here.percent, _command(question, test, flags))


def _ends(verdict: Verdict, metric: str) -> Step | None:
    """The step between the ends: none at all where their code is equal, which is not measured."""
    if verdict.kind is Kind.NO_REGRESSION and not verdict.ends:
        return NO_STEP
    return verdict.ends.get(metric)


def _least(metric: str, visible: Mapping[str, float]) -> float:
    return visible.get(metric, DEFAULT_MIN_STEP)


def _apart(metric: str, here: Step, there: Step) -> bool:
    """Whether noise is not why two steps differ: counts that repeat need no interval."""
    if metric == INSTRUCTIONS:
        return True
    return here.low > there.high or there.low > here.high


def _command(question: Question, test: str, flags: Flags) -> str:
    words = ["bisect", "start", question.good, question.bad, "--test", test, "--flags", flags.value]
    words += ["--repo", question.repository]
    words += ["--find", question.find.value] if question.find is not Find.REGRESSION else []
    words += ["--toolchain", question.toolchain] if question.toolchain else []
    words += ["--unsafe-settings"] if question.unsafe_settings else []
    for name, value in sorted(question.given.items()):
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
