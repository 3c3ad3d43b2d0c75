"""One lab over a small history: what its host breaks for a while is not held against a commit."""

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from small_bisections import BENCH, begun, cost, history, tree

from cpubisect.base.errors import UserError
from cpubisect.builders.build import BuildResult, Outcome
from cpubisect.builders.recipes.matrix import Matrix, locate_matrix
from cpubisect.records import queries
from cpubisect.records.purpose import Purpose
from cpubisect.run.lab import PROBE_ATTEMPTS, HostLab
from cpubisect.run.measuring import Unobservable
from cpubisect.search.events import BuildFinished, Event, ProbeFinished
from cpubisect.search.question import MetricChoice
from cpubisect.service.launch import lab_of, run

pytestmark = pytest.mark.xdist_group("runner")


class Broken:
    """While this file is there, no program of the history runs."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "broken"

    def program(self) -> dict[str, str]:
        """The db_bench that looks for the file."""
        check = f'if (access("{self.file}", F_OK) == 0) abort();'
        start = BENCH.index("{", BENCH.index("int main(")) + 1
        return {"small_bench.c": f"#include <stdlib.h>\n#include <unistd.h>\n{BENCH[:start]} {check} {BENCH[start:]}"}

    def set(self) -> None:
        self.file.touch()

    def clear(self) -> None:
        self.file.unlink()


@pytest.fixture
def broken(tmp_path: Path) -> Broken:
    return Broken(tmp_path)


def quiet(event: Event) -> None:
    pass


def opened(path: Path, good: str, *tests: str) -> HostLab:
    registry, bisection = begun(path, good, tests=tests or ("readrandom",))
    return lab_of(registry, bisection, quiet)


def again(lab: HostLab, **changed: Any) -> HostLab:
    """The lab as the next run has it: with nothing in memory."""
    return replace(lab, _built={}, _twins={}, _undrawn={}, **changed)


@pytest.mark.parametrize(
    ("tests", "named", "built"), [(("readrandom",), "", ["a", "b"]), (("overwrite", "readrandom"), "readrandom", ["b"])]
)
def test_a_build_belongs_to_the_test_that_asked_for_it_where_there_are_several(
    home: Path, tmp_path: Path, tests: tuple[str, ...], named: str, built: list[str]
) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1], *tests)
    asking = lab.beside(lab.tests[-1])
    lab.tell(BuildFinished(sha="a", outcome="built"))
    asking.tell(BuildFinished(sha="b", outcome="built"))
    assert asking.built_here() == built
    assert lab.store.told(lab.bisection, BuildFinished)[-1].test == named


def test_a_commit_that_was_probed_is_probed_again_by_the_next_run(home: Path, tmp_path: Path, broken: Broken) -> None:
    shas = history({**tree(1000), **broken.program()}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    assert len(lab.probes(shas[1], Purpose.CLOCK, 1)) == 1
    broken.set()
    with pytest.raises(Unobservable, match="probe"):
        again(lab).probes(shas[1], Purpose.CLOCK, 2)
    rows = lab.store.probes(lab.bisection, purpose=Purpose.CLOCK)
    assert [bool(row.error) for row in rows] == [False, *[True] * PROBE_ATTEMPTS]
    broken.clear()
    assert len(again(lab).probes(shas[1], Purpose.CLOCK, 2)) == 2


def test_a_commit_that_could_not_be_probed_speaks_for_no_other(home: Path, tmp_path: Path, broken: Broken) -> None:
    same = {"small_bench.c": broken.program()["small_bench.c"] + "/* the same code */\n"}
    shas = history({**tree(1000), **broken.program()}, same, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    broken.set()
    with pytest.raises(Unobservable, match="probe"):
        lab.probes(shas[1], Purpose.SEARCH, 1)
    broken.clear()
    assert lab.same_code(shas[1], shas[2])
    assert len(lab.probes(shas[2], Purpose.SEARCH, 1)) == 1


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.HUNG, Outcome.OUT_OF_MEMORY])
def test_a_build_that_did_not_end_well_is_not_made_again(home: Path, tmp_path: Path, outcome: Outcome) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    recipe = lab.matrix.recipe(lab.engine, shas[2], lab.version(shas[2]), lab.toolchains)
    result = BuildResult(recipe, outcome, None, Path("log"), 1.0, 1.0, first_error="it went wrong")
    lab.store.add_build(lab.bisection, result, None, 1.0)
    with pytest.raises(Unobservable, match="it went wrong"):
        lab.build(shas[2])
    assert len(lab.store.builds(lab.bisection)) == 1


def test_a_rule_that_repairs_a_commit_makes_it_a_candidate_again(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1000, "#error not today\n")).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    with pytest.raises(Unobservable, match="not today"):
        lab.build(shas[2])
    assert lab.failures().keys() == queries.failures(lab.store, lab.bisection).keys() == {shas[2]}
    edit = '{file: cost.h, find: "#error.*", replace: "", why: w}'
    rule = f'      - versions: "*"\n        why: w\n        edits: [{edit}]\n'
    before, mine, after = locate_matrix().read_text().partition("\n  mysql:\n")
    repaired = tmp_path / "matrix.yaml"
    repaired.write_text(f"{before.rstrip()}\n{rule}{mine}{after}")
    lab = again(lab, matrix=Matrix.load(repaired))
    assert not lab.failures()
    lab.build(shas[2])
    assert not lab.failures()
    assert not queries.failures(lab.store, lab.bisection)


def test_failures_on_both_sides_of_a_success_end_in_so_many_attempts(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Broken
) -> None:
    shas = history({**tree(1000), **broken.program()}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    make, asked = HostLab._make_probe, count(1)

    def breaks(lab: HostLab, *arguments: Any) -> bool:
        number = next(asked)
        assert number < 10, "it would have gone on for ever"
        broken.file.unlink(missing_ok=True)
        if number != 2:
            broken.set()
        return make(lab, *arguments)

    monkeypatch.setattr(HostLab, "_make_probe", breaks)
    with pytest.raises(Unobservable, match="probe"):
        lab.probes(shas[1], Purpose.CLOCK, 3)


def test_an_end_that_cannot_be_probed_any_more_interrupts_and_loses_nothing(
    home: Path, tmp_path: Path, broken: Broken, steady: None
) -> None:
    story = history({**tree(1000), **broken.program()}, *(cost(n, f"/* {n} */") for n in (1001, 3000, 3001)))
    shas = story.write(tmp_path / "kv")
    registry, bisection = begun(tmp_path / "kv", shas[1], "clock_ops=1000,60000", metric=MetricChoice.CPU)
    probed: list[str] = []

    def breaks(event: Event) -> None:
        if isinstance(event, ProbeFinished):
            probed.append(event.sha)
        if probed == [shas[1], shas[4]]:
            broken.set()

    with pytest.raises(UserError, match="cannot be measured now") as caught:
        run(registry, bisection, breaks)
    assert f"bisect resume {bisection}" in str(caught.value.hint)
    assert registry.store.bisection(bisection).state == "interrupted"
    before = queries.spent(registry.store, [bisection])[bisection].probes
    broken.clear()
    verdict = run(registry, bisection, quiet)
    assert verdict is not None
    assert [culprit.sha for culprit in verdict.tests["readrandom"].culprits] == [shas[3]]
    assert queries.spent(registry.store, [bisection])[bisection].probes > before
