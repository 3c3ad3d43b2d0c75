"""Grids, the keeping of finished trials, and the numbers that are made of them."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from searching import cells, exact, table
from searching.cells import Cell
from searching.run import Results, Work, carry_out, pieces, run
from searching.score import Trial, Verdict, brier, calibration, times_longer
from searching.searches import OURS, SEARCHES, TEN
from searching.world import World

ROOT = Path(__file__).resolve().parents[2]
EASY = Cell("Size and step", World(size=64, step=20))


def timeless(trials: list[Trial]) -> list[Trial]:
    """Without the only figure that depends on the machine."""
    return [replace(one, thought_s=0.0) for one in trials]


@pytest.mark.parametrize("search", list(SEARCHES))
def test_a_search_does_the_same_again(search: str) -> None:
    cell = Cell("All together", cells.combined(64, 20.0))
    work = Work(cell, search, seed=3, first=2, last=4)
    assert timeless(carry_out(work)) == timeless(carry_out(work))


def test_ours_finds_an_easy_step() -> None:
    assert [one.verdict for one in carry_out(Work(EASY, OURS, 1, 0, 5))] == [Verdict.RIGHT] * 5


def test_finished_trials_are_not_done_again(tmp_path: Path) -> None:
    works = list(pieces([EASY], {TEN: 30, "asv find": 30}, seed=1))
    assert [(work.first, work.last) for work in works] == [(0, 25), (25, 30)] * 2
    first = run(works, 2, tmp_path)
    assert {key: len(trials) for key, trials in first.items()} == {(EASY, TEN): 30, (EASY, "asv find"): 30}
    # What is kept has its processor time in it, so equal times mean that nothing was done twice.
    assert run(works, 1, tmp_path) == first
    lost = tmp_path / f"{works[0].key()}.json"
    lost.unlink()
    again = run(works, 1, tmp_path)
    assert timeless(again[EASY, TEN]) == timeless(first[EASY, TEN])
    assert lost.exists()


def test_both_grids_have_every_kind_of_world() -> None:
    small, full = list(cells.small()), list(cells.full())
    assert {cell.group for cell in small} == {cell.group for cell in full}
    for grid in (small, full):
        assert len({cell.name for cell in grid}) == len(grid)
        assert min(cell.world.size for cell in grid) == 64
        assert max(cell.world.size for cell in grid) == 8192


def test_what_cannot_be_promised_is_left_out() -> None:
    assert Cell("", World(step=1)).promised
    assert not Cell("", World(step=0.5)).promised
    hidden = Cell("", World(step=1, layout=0.3))
    assert hidden.bound == pytest.approx(0.952, abs=0.001)
    assert not hidden.promised
    assert Cell("", World(step=2, layout=0.3)).bound is None


def outcome(
    right: int, hours: float, trials: int = 10, probability: float | None = None, others: float = 0.0
) -> list[Trial]:
    """So many right answers, each after the same time."""
    verdicts = [Verdict.RIGHT] * right + [Verdict.WRONG] * (trials - right)
    return [
        Trial(one, one is Verdict.RIGHT, probability, 12, 90, 3600.0, hours * 3600, others, 0.0) for one in verdicts
    ]


def test_the_headline() -> None:
    """Ours is compared with the peers that are right, where it is right itself."""
    wrong = {search: outcome(2, 0.1) for search in SEARCHES}
    plain, slow, hard = (Cell("", World(size=size)) for size in (10, 20, 30))
    unclear, several = Cell("", World(step=0.5)), Cell("", World(others=4))
    results: Results = {}
    for cell, changed in (
        (plain, {OURS: outcome(10, 2.0), TEN: outcome(10, 4.0), "Pinpoint": outcome(5, 1.0)}),
        (slow, {OURS: outcome(9, 3.0), TEN: outcome(10, 2.0)}),
        (hard, {OURS: outcome(10, 9.0)}),
        (unclear, {OURS: outcome(1, 9.0)}),
        (several, {OURS: outcome(2, 9.0, trials=2) + outcome(1, 9.0, others=0.51)}),
    ):
        results |= {(cell, search): trials for search, trials in (wrong | changed).items()}
    got = table.headline(results)
    assert (got.cells, got.faster_share, got.worst_ratio) == (5, 0.5, 1.5)
    assert got.right_share == pytest.approx(31 / 32)


def test_hours_are_compared_in_the_histories_that_both_searched() -> None:
    """A peer that was tried more often is not faster or slower by the histories that ours never saw."""
    easy, hard = outcome(10, 1.0), outcome(10, 9.0)
    assert times_longer(easy + hard, outcome(10, 2.0)) == 0.5
    assert times_longer(outcome(2, 2.0, trials=2), easy + hard) == 2.0
    results: Results = {(EASY, search): outcome(2, 0.1) for search in SEARCHES}
    results |= {(EASY, OURS): outcome(10, 2.0), (EASY, TEN): outcome(10, 4.0) + outcome(90, 1.0, trials=90)}
    got = table.headline(results)
    assert (got.faster_share, got.worst_ratio) == (1.0, 0.5)


def test_calibration() -> None:
    trials = outcome(9, 1.0, probability=0.93) + outcome(5, 1.0, probability=0.6) + outcome(3, 1.0)
    assert [(b.low, b.high, b.count, b.observed) for b in calibration(trials)] == [
        (0.5, 0.8, 10, 0.5),
        (0.9, 0.95, 10, 0.9),
    ]
    assert brier(trials) == pytest.approx((9 * 0.07**2 + 0.93**2 + 5 * 0.4**2 + 5 * 0.6**2) / 20)
    assert brier(outcome(3, 1.0)) is None


def test_the_exact_metric_finds_the_largest_step() -> None:
    tallies = exact.compare(seed=1, trials=2, size=128)
    assert tallies["cpubisect, by function"].largest == 1.0
    assert tallies["cpubisect, by function"].found >= 0.5
    assert tallies == exact.compare(seed=1, trials=2, size=128)


def test_a_page_without_a_place_for_the_tables_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Something else\n")
    command = [sys.executable, str(ROOT / "benchmarks" / "search.py"), "--full", "--trials", "1", "--page", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "lacks the line" in done.stderr
    assert page.read_text() == "# Something else\n"


def test_accuracy_is_told_of_all_and_of_the_worst() -> None:
    (right,) = carry_out(Work(EASY, OURS, 1, 0, 1))
    wrong = replace(right, verdict=Verdict.WRONG, true=False)
    other = Cell("Outliers", World(size=64, step=20, outliers=0.05))
    results: Results = {(EASY, OURS): [right] * 60 + [wrong] * 20, (other, OURS): [right] * 80}
    numbers = table.accuracy_numbers(results)
    assert (numbers["cells"], numbers["histories"], numbers["cells_below"]) == (2, 160, 1)
    assert (numbers["right_share"], numbers["worst_cell"]) == (0.875, 0.75)
    _, _, bad, good = table.accuracy(results)
    assert [row.split(" | ")[1:3] for row in (bad, good)] == [["80", "75 %"], ["80", "100 %"]]


def test_a_page_without_a_place_for_tables_is_refused(tmp_path: Path) -> None:
    for kind in ("--full", "--accuracy"):
        words = [ROOT / "benchmarks" / "search.py", kind, "--trials", "1", "--page", tmp_path / "x.md"]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "lacks the line that the tables come after" in done.stderr
        assert "Traceback" not in done.stderr
