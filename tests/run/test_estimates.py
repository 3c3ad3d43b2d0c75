"""Prices of a line's numbers by what their builds must compile, in a lab whose builds tell."""

from collections.abc import Mapping, Sequence

import pytest
from fake_lab import Commit, FakeLab, ScriptedPast, straight
from questions import question

from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.base.objects import ObjectFile
from cpubisect.records.purpose import Purpose
from cpubisect.run.classes import main_line
from cpubisect.run.strategies.estimates import UNKNOWN_PROBE_S, Estimates
from cpubisect.run.strategies.exact import ExactSearch
from cpubisect.search import events
from cpubisect.search.ends import Regime, Yardstick
from cpubisect.search.price import build_share

FILES = ("all.h", "few.h", "a.cc", "b.cc", "c.cc")
OBJECTS = {
    "a.o": ObjectFile("a.cc", ("a.cc", "all.h", "few.h"), 40.0),
    "b.o": ObjectFile("b.cc", ("b.cc", "all.h"), 30.0),
    "c.o": ObjectFile("c.cc", ("c.cc", "all.h"), 10.0),
}
COMMON_S = 100.0 - 80.0


class TellingPast(ScriptedPast):
    """Every commit makes a version of its own of each path that it changes."""

    def versions(
        self, commits: Sequence[tuple[str, str]], folders: Sequence[str]
    ) -> list[tuple[str, Mapping[str, tuple[str, str]]]]:
        """As a real history does."""
        found = []
        for sha, other in commits:
            pairs = {path: (self._version(other, path), self._version(sha, path)) for path in FILES if path in folders}
            found.append((sha, {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}))
        return found

    def _version(self, sha: str, path: str) -> str:
        """The commit that changed it last."""
        commit = self._commits[sha]
        return sha if path in commit.paths or sha == "c0" else self._version(commit.parents[0], path)


class TellingLab(FakeLab):
    """Its builds tell what their objects were made from."""

    def __init__(self, commits: Mapping[str, Commit]) -> None:
        super().__init__(commits, question(good="c0", bad=list(commits)[-1], good_sha="c0", jobs=1))
        self.history = TellingPast(commits)

    def objects(self, build: int) -> Mapping[str, ObjectFile]:
        """The same of each."""
        return OBJECTS


def line_of(*paths: str) -> dict[str, Commit]:
    return straight(1000.0, *(Commit(1000.0, paths=(path,)) for path in paths))


@pytest.mark.parametrize(
    ("built", "compiling"),
    [
        (("c0",), (None, 40.0, 70.0, 70.0, 80.0, 80.0)),
        (("c0", "c5"), (None, 40.0, 70.0, 70.0, 0.0, None)),
        (("c4", "c0"), (None, 40.0, 70.0, 70.0, None, 0.0)),
        (("c2", "c5"), (70.0, 30.0, None, 0.0, 0.0, None)),
    ],
)
def test_a_build_takes_what_no_other_has_compiled(built: tuple[str, ...], compiling: tuple[float | None, ...]) -> None:
    lab = TellingLab(line_of("few.h", "b.cc", "other.h", "all.h", "docs.txt"))
    line = main_line(lab, lab.history.candidates("c0", "c5"))
    for sha in built:
        lab.build(sha)
    estimates = Estimates(lab, line)
    price = estimates.price()
    expected = [UNKNOWN_PROBE_S + (0.0 if one is None else COMMON_S + one) for one in compiling]
    assert [price(number) for number in range(line.size)] == pytest.approx(expected)
    assert estimates.build_s(1, estimates.price()) == (None if compiling[1] is None else COMMON_S + compiling[1])


def test_a_build_that_is_made_later_counts_too() -> None:
    lab = TellingLab(line_of("all.h", "few.h", "few.h"))
    estimates = Estimates(lab, main_line(lab, lab.history.candidates("c0", "c3")))
    lab.build("c0")
    before = estimates.build_s(2, estimates.price())
    lab.build("c3")
    assert (before, estimates.build_s(2, estimates.price())) == (COMMON_S + 80.0, COMMON_S + 40.0)


def test_where_builds_do_not_tell_the_price_is_by_distance() -> None:
    commits = line_of("all.h", "few.h", "few.h")
    lab = FakeLab(commits, question(good="c0", bad="c3", good_sha="c0"))
    lab.build("c0")
    estimates = Estimates(lab, main_line(lab, lab.history.candidates("c0", "c3")))
    assert estimates.price(Purpose.SEARCH)(2) == pytest.approx(UNKNOWN_PROBE_S + 100.0 * build_share(2))


def test_a_search_says_what_it_and_each_of_its_builds_are_likely_to_take() -> None:
    costs = [1000.0] * 5 + [1100.0] * 4
    commits = straight(*(Commit(cost, paths=("few.h",)) for cost in costs))
    lab = TellingLab(commits)
    line = main_line(lab, lab.history.candidates("c0", "c8"))
    search = ExactSearch(lab, line, Yardstick(INSTRUCTIONS, Regime.EXACT, 1, 1.0, 1))
    (price,) = lab.told(events.Price)
    each = COMMON_S + 40.0 + 10.0
    assert isinstance(price, events.Price)
    assert (price.builds, price.seconds) == (3, pytest.approx(3 * each))
    assert search.next().seconds == pytest.approx(each - 10.0)
