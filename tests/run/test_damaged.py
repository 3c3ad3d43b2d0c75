"""What was kept of a build and is no longer what it was: it is built anew, and never held against its commit."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import partial_clone
from small_bisections import begun, briefly, cost, history, tree

from cpubisect.base.errors import UserError
from cpubisect.builders.build import Outcome
from cpubisect.records import queries
from cpubisect.records.purpose import Purpose
from cpubisect.run.bench import here
from cpubisect.run.lab import HostLab
from cpubisect.search.events import ArtifactDamaged, BuildFinished, Event
from cpubisect.service.launch import lab_of, run


def quiet(event: Event) -> None:
    pass


def again(lab: HostLab) -> HostLab:
    """The lab as the next run has it: with nothing in memory."""
    return replace(lab, _built={}, _twins={}, _undrawn={})


def opened(tmp_path: Path) -> tuple[HostLab, dict[int, str]]:
    """A lab over two commits, both built and probed."""
    shas = history(tree(1000), cost(3000)).write(tmp_path / "kv")
    registry, bisection = begun(tmp_path / "kv", shas[1])
    lab = lab_of(registry, bisection, quiet)
    for sha in (shas[1], shas[2]):
        lab.probes(sha, Purpose.SEARCH, 1)
    return lab, shas


def program(lab: HostLab, sha: str) -> Path:
    """The kept db_bench of a commit."""
    digest = lab.build(sha).artifact
    assert digest is not None
    return lab.home.artifacts / digest[:2] / digest / "db_bench"


def truncate(lab: HostLab, shas: dict[int, str]) -> None:
    os.truncate(program(lab, shas[2]), 1000)


def put_the_other_ends_there(lab: HostLab, shas: dict[int, str]) -> None:
    shutil.copy2(program(lab, shas[1]), program(lab, shas[2]))


def lead_elsewhere(lab: HostLab, shas: dict[int, str]) -> None:
    program(lab, shas[2]).unlink()
    program(lab, shas[2]).symlink_to(program(lab, shas[1]))


@pytest.mark.parametrize(
    "damage",
    [truncate, put_the_other_ends_there, lead_elsewhere, lambda lab, shas: program(lab, shas[2]).unlink()],
    ids=["truncated", "the other end's", "a link", "missing"],
)
@pytest.mark.parametrize("resumed", [False, True], ids=["while it runs", "between two runs"])
def test_a_damaged_build_is_made_anew_with_one_line_and_keeps_its_probes(
    home: Path, tmp_path: Path, damage: Callable[[HostLab, dict[int, str]], None], resumed: bool
) -> None:
    lab, shas = opened(tmp_path)
    before = lab.build(shas[2])
    damage(lab, shas)
    lab = again(lab) if resumed else lab
    assert len(lab.probes(shas[2], Purpose.SEARCH, 1)) == 1, "its probes were of what it was"
    assert len(lab.probes(shas[2], Purpose.SEARCH, 2)) == 2
    (told,) = lab.store.told(lab.bisection, ArtifactDamaged)
    assert told.sha == shas[2]
    assert told.sentence.endswith("has changed on the disk and was thrown away; it is built anew")
    assert [event.outcome for event in lab.store.told(lab.bisection, BuildFinished)] == ["built"] * 3
    assert [row.id for row, _ in lab.builds() if row.sha == shas[2]] == [before.id]
    assert lab.bench.artifacts.sound(again(lab).build(shas[2]).artifact or "")
    costs = [row.values["instructions/query"] for row in lab.probes(shas[2], Purpose.SEARCH, 2)]
    assert costs[0][0] == pytest.approx(costs[1][0], rel=0.01)
    assert not lab.failures()


def test_a_whole_bisection_by_damaged_builds_names_the_same_culprit(home: Path, tmp_path: Path) -> None:
    lab, shas = opened(tmp_path)
    put_the_other_ends_there(lab, shas)
    os.truncate(program(lab, shas[1]), 10)
    registry, bisection = begun(tmp_path / "kv", shas[1])
    with briefly():
        verdict = run(registry, bisection, quiet)
    assert verdict is not None
    assert [one.sha for one in verdict.tests["readrandom"].culprits] == [shas[2]]
    assert len(registry.store.told(bisection, ArtifactDamaged)) == 2


def test_what_another_bisection_built_since_serves_one_whose_own_was_lost(home: Path, tmp_path: Path) -> None:
    lab, shas = opened(tmp_path)
    truncate(lab, shas)
    registry, bisection = begun(tmp_path / "kv", shas[1])
    other = lab_of(registry, bisection, quiet)
    assert other.build(shas[2]).id != lab.build(shas[2]).id
    assert len(again(lab).probes(shas[2], Purpose.SEARCH, 1)) == 1
    assert again(lab).build(shas[2]).id == lab.build(shas[2]).id
    assert len(lab.store.told(lab.bisection, BuildFinished)) == 2


def test_its_own_build_is_used_before_one_that_another_bisection_made_meanwhile(home: Path, tmp_path: Path) -> None:
    lab, shas = opened(tmp_path)
    own = lab.build(shas[2])
    registry, bisection = begun(tmp_path / "kv", shas[1])
    lab_of(registry, bisection, quiet).bench.make(lab.bench.recipe(shas[2]))
    assert again(lab).build(shas[2]).id == own.id
    assert queries.spent(lab.store, [lab.bisection])[lab.bisection].probes == 2


def test_a_build_that_was_there_and_cannot_be_made_anew_stops_the_run_and_blames_no_commit(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, shas = opened(tmp_path)
    truncate(lab, shas)
    real = here.carry_out

    def fails(*arguments: object, **named: object) -> object:
        done = real(*arguments, **named)  # type: ignore[arg-type]
        return replace(done, outcome=Outcome.FAILED, output=None, first_error="cc: not found")

    monkeypatch.setattr(here, "carry_out", fails)
    for way in (lab, again(lab)):
        with pytest.raises(UserError, match=r"was built before and cannot be built now \(cc: not found\)") as caught:
            way.probes(shas[2], Purpose.SEARCH, 2)
        assert f"`bisect resume {lab.bisection}` goes on" in caught.value.hint
    assert not lab.failures()
    monkeypatch.undo()
    assert len(again(lab).probes(shas[2], Purpose.SEARCH, 2)) == 2


def test_a_build_that_is_another_program_when_it_is_made_anew_is_measured_anew(home: Path, tmp_path: Path) -> None:
    header = tmp_path / "host.h"
    header.write_text("#define HOST 1\n")
    shas = history(tree(1000), cost(3000, f'#include "{header}"\nstatic int host = HOST;\n')).write(tmp_path / "kv")
    registry, bisection = begun(tmp_path / "kv", shas[1])
    lab = lab_of(registry, bisection, quiet)
    lab.probes(shas[2], Purpose.SEARCH, 1)
    truncate(lab, shas)
    header.write_text("#define HOST 1\nint more(void) { return HOST; }\n")
    with pytest.raises(UserError, match="is another program when it is built now") as caught:
        lab.probes(shas[2], Purpose.SEARCH, 2)
    assert "measures it anew" in caught.value.hint
    assert len(again(lab).probes(shas[2], Purpose.SEARCH, 1)) == 1
    assert len(lab.store.probes(lab.bisection)) == 2


def test_a_partial_clone_that_cannot_fetch_ends_the_run_and_costs_no_commit(home: Path, tmp_path: Path) -> None:
    shas = history(tree(1000), cost(3000)).write(tmp_path / "kv")
    partial_clone(tmp_path / "kv", tmp_path / "partial")
    registry, bisection = begun(tmp_path / "partial", shas[1])
    lab = lab_of(registry, bisection, quiet)
    (tmp_path / "kv").rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(UserError, match="could not fetch"):
            lab.build(shas[2])
    (tmp_path / "away").rename(tmp_path / "kv")
    assert lab.build(shas[2]).outcome == Outcome.BUILT
