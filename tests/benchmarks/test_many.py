"""The simulation of many builders: what it draws, what searches take in it, and its tables."""

import json
import subprocess
import sys
from pathlib import Path

import many
import pytest

from cpubisect.search.price import build_share
from searching.crews import CREWS, OURS, Crew
from searching.farm import BUILD_S, PROBE_S, Run, Setting, Story, search

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("crew", CREWS, ids=lambda crew: crew.name)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_every_rule_finds_a_step_and_does_the_same_again(crew: Crew, k: int) -> None:
    story = Story(Setting(90), 1, 2)
    run = search(story, k, crew.rule())
    assert {high for _, high in run.found} == story.planted
    assert all(high - low == 1 for low, high in run.found)
    assert run == search(Story(Setting(90), 1, 2), k, crew.rule())
    assert 0 < run.builder_hours <= k * run.hours + 1e-9
    assert run.ended < run.builds


@pytest.mark.parametrize("crew", CREWS, ids=lambda crew: crew.name)
def test_a_step_in_a_stretch_that_cannot_be_built_is_found_with_it(crew: Crew) -> None:
    for trial in range(6):
        story = Story(Setting(120, dead=0.3), 1, trial)
        run = search(story, 6, crew.rule())
        assert any(low < culprit <= high for low, high in run.found for culprit in story.planted)
        assert not {number for pair in run.found for number in pair} & set(story.dead)


def test_several_steps_are_found_with_many_builders_as_with_one() -> None:
    story = Story(Setting(120, several=True), 1, 1)
    one, many_ = (search(story, k, OURS.rule()) for k in (1, 8))
    assert many_.found == one.found
    assert many_.hours < one.hours


def test_two_builders_make_the_ends_at_once() -> None:
    story = Story(Setting(2), 1, 0)
    full = BUILD_S * build_share(10**6)
    first, second = (story.build_s(number, full) for number in (0, 1))
    both = search(story, 2, OURS.rule())
    # A lone builder's second end is one commit away from the first.
    alone = search(story, 1, OURS.rule())
    assert both.builds == alone.builds == 2
    assert both.hours * 3600 == pytest.approx(max(first, second, min(first, second) + PROBE_S) + PROBE_S, rel=0.01)
    assert alone.hours * 3600 > first


def test_a_prior_that_names_the_culprit_makes_a_search_short() -> None:
    plain, named, wrong = (
        search(Story(Setting(250, prior=prior), 1, 3), 1, OURS.rule()) for prior in ("none", "named", "wrong name")
    )
    assert named.builds == 4 < plain.builds
    assert wrong.builds <= plain.builds + 3
    assert named.found == plain.found == wrong.found


def runs_of(hours: float, builds: int, found: int = 5) -> list[Run]:
    return [Run(hours * part, builds, 1, hours, frozenset({(found - 1, found)})) for part in (0.5, 1.0, 3.0)]


def test_what_must_hold_is_read_off_the_runs() -> None:
    results = {
        (many.OURS.name, 1): runs_of(1.0, 10),
        (many.OURS.name, 8): runs_of(0.4, 24),
        (many.EVENLY.name, 1): runs_of(1.1, 9),
        (many.EVENLY.name, 8): runs_of(0.5, 20),
    }
    held = many.held(results)
    assert (held.hours, held.builds, held.same) == (pytest.approx(0.4), pytest.approx(2.4), 1.0)
    assert held.later == pytest.approx(0.8)
    assert held.within
    told = {Setting(250): results}
    assert many.headline(told)["holds"] is True
    worse = {**results, (many.OURS.name, 8): runs_of(0.46, 26, found=7)}
    assert not many.held(worse).within
    assert many.held(worse).same == 0.5
    assert many.headline({Setting(250): worse})["holds"] is False
    assert many.headline({Setting(250): results, Setting(250, prior="named"): worse})["named_hours_8"] == 0.46
    lines = [*many.table(told), *many.verdicts(told)]
    assert "| 250, one step | 3 | cpubisect | 1.00 h (×1.00) · 10 | 0.40 h (×0.40) · 24 |" in lines
    assert len({line.count("|") for line in many.table(told)}) == 1
    assert len({line.count("|") for line in many.verdicts(told)}) == 1


def test_finished_runs_are_kept(tmp_path: Path) -> None:
    first = many.runs(Setting(30), OURS, 2, seed=1, trials=2, kept=tmp_path)
    (path,) = tmp_path.iterdir()
    changed = [{**one, "builds": 99} for one in json.loads(path.read_text())]
    path.write_text(json.dumps(changed))
    again = many.runs(Setting(30), OURS, 2, seed=1, trials=2, kept=tmp_path)
    assert [one.builds for one in again] == [99, 99]
    assert [one.found for one in again] == [one.found for one in first]
    many.runs(Setting(30), OURS, 2, seed=2, trials=2, kept=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--write"], "--write is for the tables of --full: give both"),
        (["--seed", "-1"], "the seed is not negative"),
        (["--seed", "x"], "invalid int value"),
        (["--huge"], "unrecognized arguments: --huge"),
    ],
)
def test_what_is_asked_wrongly_is_told_in_a_line(words: list[str], said: str) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "many.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
