"""One lab over a small history: what its host breaks for a while is not held against a commit, and what it has linked
anew is kept."""

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from small_bisections import BENCH, MAKEFILE, begun, cost, history, tree

from cpubisect.base.errors import UserError
from cpubisect.builders import redraw
from cpubisect.builders.build import BuildResult, Outcome
from cpubisect.builders.recipes.matrix import Matrix, locate_matrix
from cpubisect.records import queries
from cpubisect.records.purpose import Purpose
from cpubisect.run.bench import here
from cpubisect.run.bench.here import KILLED_ATTEMPTS
from cpubisect.run.bench.making import PROBE_ATTEMPTS
from cpubisect.run.lab import REDRAWS_AT_ONCE, HostLab
from cpubisect.run.measuring import Unobservable
from cpubisect.search.events import BuildFinished, Event, Killed, ProbeFinished, Progress, Redrawing, Redrawn
from cpubisect.search.question import MetricChoice
from cpubisect.service.launch import lab_of, run
from cpubisect.views.measured import measured


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


def test_a_patch_that_cannot_be_read_is_no_fault_of_the_commit(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    (tmp_path / "patches").mkdir()
    patch = tmp_path / "patches/own.patch"
    patch.touch()
    own = locate_matrix().read_text().replace("why: Plain C++17", "patches: [own.patch]\n        why: Plain C++17")
    (tmp_path / "own.yaml").write_text(own)
    lab = replace(opened(tmp_path / "kv", shas[1]), matrix=Matrix.load(tmp_path / "own.yaml"))
    assert lab.bench.recipe(shas[1]).patches == ("own.patch",)
    patch.unlink()
    with pytest.raises(UserError, match=r"cannot read the patch own\.patch"):
        lab.build(shas[1])
    assert not lab.failures()


class Killing:
    """A program that is killed the first so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        self.folder, self.times = folder / "times", times
        self.folder.mkdir()

    def line(self) -> str:
        """In a shell: die, unless that was often enough."""
        few = f'test "$(ls {self.folder} | wc -l)" -ge {self.times}'
        return f"{few} || {{ mktemp -p {self.folder} >/dev/null; kill -9 $$; }}"

    def begun(self) -> int:
        """How often it was."""
        return len(list(self.folder.iterdir()))


@pytest.mark.parametrize("times", range(KILLED_ATTEMPTS + 1))
def test_a_build_that_is_killed_is_begun_again_a_few_times(home: Path, tmp_path: Path, times: int) -> None:
    killing = Killing(tmp_path, times)
    makefile = MAKEFILE.replace("\t$(CC)", f"\t{killing.line().replace('$', '$$')}\n\t$(CC)")
    shas = history({**tree(1000), "Makefile": makefile}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    if times < KILLED_ATTEMPTS:
        assert lab.build(shas[1]).outcome == Outcome.BUILT
    else:
        with pytest.raises(Unobservable, match="Killed"):
            lab.build(shas[1])
    assert len(lab.store.builds(lab.bisection)) == 1
    assert len(lab.store.told(lab.bisection, Killed)) == min(times, KILLED_ATTEMPTS - 1)
    assert killing.begun() == times


@pytest.mark.parametrize("times", range(KILLED_ATTEMPTS + 1))
def test_a_probe_that_is_killed_is_begun_again_a_few_times(home: Path, tmp_path: Path, times: int) -> None:
    killing = Killing(tmp_path, times)
    line = killing.line().replace("$$", "$PPID").replace('"', '\\"')
    start = BENCH.index("{", BENCH.index("int main(")) + 1
    bench = f'#include <stdlib.h>\n{BENCH[:start]} system("{line}"); {BENCH[start:]}'
    shas = history({**tree(1000), "small_bench.c": bench}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    row = lab.build(shas[1])
    assert lab.bench.probe(row, Purpose.CLOCK, lab.test, lab.question.parameters[lab.test.name]) == (
        times < KILLED_ATTEMPTS
    )
    (probe,) = lab.store.probes(lab.bisection)
    assert bool(probe.error) == (times >= KILLED_ATTEMPTS)
    told = lab.store.told(lab.bisection, Killed)
    assert [event.what for event in told] == ["probe"] * min(times, KILLED_ATTEMPTS - 1)


def test_a_full_disk_is_not_held_against_what_is_probed(home: Path, tmp_path: Path) -> None:
    start = BENCH.index("{", BENCH.index("int main(")) + 1
    words = 'fprintf(stderr, "put error: IO error: No space left on device\\n"); return 1;'
    bench = f"#include <stdio.h>\n{BENCH[:start]} {words} {BENCH[start:]}"
    shas = history({**tree(1000), "small_bench.c": bench}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    with pytest.raises(UserError, match=r"the disk became full while \w+ was probed"):
        lab.probes(shas[1], Purpose.CLOCK, 1)
    assert lab.store.probes(lab.bisection) == []


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


CLOCK = Purpose.CLOCK


def drawn(lab: HostLab) -> list[int]:
    """How many links each redraw that ended made."""
    return [event.links for event in lab.store.told(lab.bisection, Redrawn)]


def probes_made(lab: HostLab) -> int:
    return len(lab.store.probes(lab.bisection))


def test_redraws_are_made_several_at_once_and_never_again(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    assert lab.redraws == ""
    rows = lab.probes(shas[1], CLOCK.linked(3), 2)
    assert [row.purpose for row in rows] == [CLOCK.linked(3)] * 2
    assert len(lab.probes(shas[1], CLOCK.linked(5), 1)) == 1
    assert drawn(lab) == [REDRAWS_AT_ONCE]
    build = lab.build(shas[1])
    kept = lab.store.links(build.id)
    assert sorted(kept) == [*range(1, REDRAWS_AT_ONCE + 1)]
    assert {*kept.values(), build.artifact} <= lab.store.artifacts_in_use()
    for link in (3, 5):
        shutil.rmtree(lab.home.artifacts / kept[link][:2] / kept[link], ignore_errors=True)
    assert len(again(lab).probes(shas[1], CLOCK.linked(3), 2)) == 2
    assert (drawn(lab), probes_made(lab)) == ([REDRAWS_AT_ONCE], 3)
    lost = [link for link, digest in kept.items() if digest in (kept[3], kept[5])]
    assert len(again(lab).probes(shas[1], CLOCK.linked(5), 2)) == 2
    assert (drawn(lab), probes_made(lab)) == ([REDRAWS_AT_ONCE, len(lost)], 4)
    assert lab.store.links(build.id) == kept
    lab.probes(shas[1], CLOCK.linked(REDRAWS_AT_ONCE + 1), 1)
    assert sorted(lab.store.links(build.id)) == [*range(1, 2 * REDRAWS_AT_ONCE + 1)]


def test_a_redraw_says_nothing_of_what_a_commit_costs(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    lab.probes(shas[1], CLOCK.linked(1), 1)
    lab.probes(shas[1], Purpose.SEARCH.linked(1), 1)
    assert len(lab.series(CLOCK.linked(1))) == 1
    assert lab.series(CLOCK) == []
    assert measured(queries.samples(lab.store, lab.bisection), {}).own == {}
    lab.probes(shas[1], CLOCK, 1)
    (row,) = measured(queries.samples(lab.store, lab.bisection), {}).own[shas[1]]
    assert row.purpose == CLOCK


def test_without_a_linker_for_it_there_are_only_the_redraws_that_were_probed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    lab.probes(shas[1], CLOCK.linked(1), 1)
    monkeypatch.setattr(here, "why_no_redraws", lambda: "there is no lld")
    assert lab.redraws == "there is no lld"
    assert len(again(lab).probes(shas[1], CLOCK.linked(1), 1)) == 1
    with pytest.raises(Unobservable, match="there is no lld"):
        again(lab).probes(shas[2], CLOCK.linked(1), 1)
    assert len(again(lab).probes(shas[2], CLOCK, 1)) == 1


def test_a_build_that_cannot_be_linked_again_is_tried_once_in_each_run(home: Path, tmp_path: Path) -> None:
    makefile = MAKEFILE.replace("\t", '\t[ -z "$$COMPILER_PATH" ] || { echo "ld: error: not again" >&2; exit 1; }\n\t')
    shas = history({**tree(1000), "Makefile": makefile}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    for link in (1, 2, 20):
        with pytest.raises(Unobservable, match="not again"):
            lab.probes(shas[1], CLOCK.linked(link), 1)
    (told,) = lab.store.told(lab.bisection, Redrawn)
    assert (told.links, "not again" in told.sentence) == (0, True)
    with pytest.raises(Unobservable, match="not again"):
        again(lab).probes(shas[1], CLOCK.linked(1), 1)
    assert drawn(lab) == [0, 0]
    assert len(lab.probes(shas[1], CLOCK, 1)) == 1


def test_a_redraw_that_is_interrupted_leaves_nothing_and_is_made_by_the_next_run(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    artifact = lab.build(shas[1]).artifact

    def interrupts(event: Event) -> None:
        if isinstance(event, Progress) and event.text.startswith("linking 2/"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        again(lab, watch=interrupts).probes(shas[1], CLOCK.linked(1), 1)
    assert list(lab.home.work.iterdir()) == []
    assert [path.name for path in lab.home.artifacts.glob("??/*")] == [artifact]
    assert lab.store.links(lab.build(shas[1]).id) == {}
    assert len(again(lab).probes(shas[1], CLOCK.linked(1), 1)) == 1


def test_a_disk_that_fills_up_meanwhile_is_the_hosts_fault(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    lab.build(shas[1])

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(redraw, "shuffling_linker", full)
    with pytest.raises(UserError, match="disk became full") as caught:
        lab.probes(shas[1], CLOCK.linked(1), 1)
    assert "bisect resume" in str(caught.value.hint)
    assert lab.store.told(lab.bisection, Redrawing)
    assert drawn(lab) == []
    monkeypatch.undo()
    assert len(lab.probes(shas[1], CLOCK.linked(1), 1)) == 1


def test_a_build_whose_code_was_looked_at_another_way_is_linked_anew(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    earlier = replace(lab.build(shas[1]), code="0" * 64)
    lab._built[shas[1]] = earlier
    assert len(lab.probes(shas[1], CLOCK.linked(1), 1)) == 1


def test_objects_that_are_no_longer_those_of_the_build_have_no_redraws(home: Path, tmp_path: Path) -> None:
    # As a library of the host would be: it is outside the tree, and no part of the recipe.
    header = tmp_path / "host.h"
    header.write_text("#define HOST 1\n")
    program = f'#include "{header}"\nint host = HOST;\n{BENCH}'
    shas = history({**tree(1000), "small_bench.c": program}, cost(1100)).write(tmp_path / "kv")
    lab = opened(tmp_path / "kv", shas[1])
    lab.build(shas[1])
    header.write_text("#define HOST 2\n")
    with pytest.raises(Unobservable, match="no longer what they were"):
        lab.probes(shas[1], CLOCK.linked(1), 1)
    assert drawn(lab) == [0]
    assert lab.store.links(lab.build(shas[1]).id) == {}
    assert list(lab.home.work.iterdir()) == []
    header.write_text("#define HOST 1\n")
    assert len(again(lab).probes(shas[1], CLOCK.linked(1), 1)) == 1
