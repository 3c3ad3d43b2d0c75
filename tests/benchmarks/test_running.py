"""Grids, the keeping of finished trials, and the numbers that are made of them."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from searching import audit, cells, exact, plot, table
from searching.cells import Cell
from searching.run import Results, Work, carry_out, pieces, run
from searching.score import (
    Stated,
    Summary,
    Trial,
    Verdict,
    as_right,
    brier,
    calibration,
    honesty,
    lower_bound,
    summarise,
    upper_bound,
)
from searching.searches import OURS, SEARCHES, TEN
from searching.world import Scatter, World

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
    works = list(pieces([EASY], [TEN, "asv find"], 30, seed=1))
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


def test_a_world_is_told_from_others_by_its_name() -> None:
    names = {cell.world: cell.name for cell in cells.audit()}
    assert names[World(251, 2.0, outliers=0.05, outlier_size=10.0)] == "251, 2σ, 5% outliers, each +10σ"
    assert names[World(251, 3.0, jump=10.0)] == "251, 3σ, jump of +10σ"
    assert names[World(251, 2.0, layout=1.0, scatter=Scatter.EITHER_WAY)] == "251, 2σ, layout ±0.5–2σ"
    assert names[World(251, 0.0, layout=1.0)] == "251, no step, layout 1σ"
    assert names[World(251, 2.0, dead=0.3, strewn=True)] == "251, 2σ, 30% unbuildable, strewn"
    assert set(audit.BEFORE) < set(names)


def test_what_cannot_be_promised_is_left_out() -> None:
    assert Cell("", World(step=1)).promised
    assert not Cell("", World(step=0.5)).promised
    assert not Cell("", World(step=0)).promised
    hidden = Cell("", World(step=1, layout=0.3))
    assert hidden.bound == pytest.approx(0.952, abs=0.001)
    assert not hidden.promised
    assert Cell("", World(step=2, layout=0.3)).bound is None


@pytest.mark.parametrize(("step", "bound"), [(2.0, 2 / 3), (0.5, 0.5), (3.0, 5 / 6), (4.0, None)])
def test_the_bound_of_layouts_either_way(step: float, bound: float | None) -> None:
    """Half of them go the wrong way, and of those so many are off by more than half the step."""
    cell = Cell("", World(step=step, layout=1.0, scatter=Scatter.EITHER_WAY))
    assert cell.bound == (None if bound is None else pytest.approx(bound))


def ended(verdict: Verdict, hours: float = 1.0, others: float = 0.0, stated: tuple[Stated, ...] = ()) -> Trial:
    """A bisection with that answer."""
    return Trial(verdict, "culprit", stated, None, 2.0, 12, 90, 3600.0, hours * 3600, others, 0.0)


def outcome(
    right: int, hours: float, trials: int = 10, others: float = 0.0, wrong: Verdict = Verdict.WRONG_GROUP
) -> list[Trial]:
    """So many right answers, each after the same time."""
    return [ended(verdict, hours, others) for verdict in [Verdict.RIGHT] * right + [wrong] * (trials - right)]


def among(changed: dict[str, list[Trial]], trials: int = 10) -> dict[str, list[Trial]]:
    """Those of some searches, all others being fast and wrong."""
    return {search: changed.get(search) or outcome(trials // 5, 0.1, trials) for search in SEARCHES}


def test_the_headline() -> None:
    """A cell where a peer is right and ours is not counts against ours, as does one where a peer is as right and
    faster."""
    plain, slow, hard, lost, unclear, small, nothing = (
        Cell("", World(size=size, step=step))
        for size, step in ((10, 2), (20, 2), (30, 2), (40, 2), (50, 0.5), (60, 1), (70, 0))
    )
    several = Cell("", World(others=4))
    silent = outcome(0, 1.0, wrong=Verdict.NONE)
    results: Results = {}
    for cell, changed in (
        (plain, {OURS: outcome(10, 2.0), TEN: outcome(10, 4.0), "Pinpoint": outcome(5, 1.0)}),
        (slow, {OURS: outcome(9, 3.0), TEN: outcome(10, 2.0)}),
        (hard, {OURS: outcome(10, 9.0)}),
        (lost, {OURS: outcome(5, 1.0), TEN: outcome(10, 2.0)}),
        (unclear, {OURS: outcome(1, 9.0)}),
        # Below two deviations no hours are promised.
        (small, {OURS: outcome(10, 9.0), TEN: outcome(10, 1.0)}),
        (several, {OURS: outcome(2, 9.0, 2) + outcome(1, 9.0, 8, others=0.51, wrong=Verdict.NAMED_WRONG)}),
        (nothing, dict.fromkeys(SEARCHES, silent)),
    ):
        results |= {(cell, search): trials for search, trials in among(changed).items()}
    got = table.headline(results)
    assert (got.cells, got.trials) == (8, 80)
    # Of plain, slow, hard, lost, small; in several and unclear nobody is right.
    assert got.faster_share == 2 / 5
    assert (got.worst_ratio, got.worst_world) == (1.5, slow.name)
    assert got.right_share == pytest.approx((10 + 9 + 10 + 5 + 10 + 2) / 52)
    assert got.named_wrong_share == pytest.approx(7 / 80)
    assert got.named_wrong_at_most == pytest.approx(upper_bound(7, 80))
    shown = got.as_dict()
    assert {"cells", "trials", "right_share", "named_wrong_share", "faster_share", "worst_ratio"} <= set(shown)


def test_a_peer_is_as_right_unless_its_trials_say_otherwise() -> None:
    def of(right: int, trials: int = 200) -> Summary:
        return summarise(outcome(right, 1.0, trials))

    assert as_right(of(200), of(200))
    assert as_right(of(199), of(200))
    assert as_right(of(197), of(195))
    # It may be right in 99 %, but not as often.
    assert of(195).passes
    assert not as_right(of(195), of(200))
    # Both alike, but not right.
    assert not as_right(of(150), of(150))


def test_only_what_is_as_right_is_compared() -> None:
    """In one cell the cheapest peer that passes is less often right, in another it is as right."""
    one, other = Cell("", World(size=10)), Cell("", World(size=20))
    results: Results = {}
    for cell, ten in ((one, 195), (other, 199)):
        changed = {OURS: outcome(200, 3.0, 200), TEN: outcome(ten, 2.0, 200), "Pinpoint": outcome(200, 6.0, 200)}
        results |= {(cell, search): trials for search, trials in among(changed, 200).items()}
    found = table.summaries(results)
    assert [table._ratio(found[cell]) for cell in (one, other)] == [0.5, 1.5]
    assert table.headline(results).faster_share == 0.0


def test_bounds() -> None:
    """Without a miss in 600 the bound is the share that leaves one in twenty chances of that."""
    assert upper_bound(0, 600) == pytest.approx(1 - 0.05 ** (1 / 600))
    assert upper_bound(0, 600) < 0.005
    assert lower_bound(600, 600) == pytest.approx(0.05 ** (1 / 600))
    assert lower_bound(0, 600) == 0.0
    assert upper_bound(600, 600) == 1.0
    assert upper_bound(6, 600) > 0.01


def named(probability: float | None, is_step: bool = True, percent: float = 2.0) -> Stated:
    """A commit with a step of 2 % if it has one, stated within 1 %."""
    return Stated(is_step, probability, percent, percent - 1, percent + 1, 2.0 if is_step else 0.0)


def test_calibration() -> None:
    found = [named(0.93)] * 9 + [named(0.93, False)] + [named(0.6)] * 5 + [named(0.6, False)] * 5 + [named(None)] * 3
    assert [(b.low, b.high, b.count, b.true) for b in calibration(found)] == [(0.5, 0.8, 10, 5), (0.9, 0.95, 10, 9)]
    assert brier(found) == pytest.approx((9 * 0.07**2 + 0.93**2 + 5 * 0.4**2 + 5 * 0.6**2) / 20)
    assert brier([named(None)]) is None
    # What is stated with 0.998 is among the surest, as is what is stated with 1.
    assert [(b.low, b.count) for b in calibration([named(0.998), named(1.0), named(0.9979)])] == [(0.99, 1), (0.998, 2)]


def test_what_is_stated_is_held_against_the_truth() -> None:
    stated = [named(0.999, percent=2.5), named(0.998, percent=3.5), named(0.999, False), named(0.99, percent=2.4)]
    trials = [ended(Verdict.RIGHT, stated=(one,)) for one in stated]
    blind = replace(ended(Verdict.NONE), visible=1.5)
    trials += [blind, replace(blind, visible=2.5), ended(Verdict.NONE)]
    of = honesty(trials)
    assert (of.named, of.sure, of.sure_true) == (4, 3, 2)
    # 3.5 ± 1 does not hold 2, nor does 2 ± 1 nothing.
    assert of.covered == 2
    assert of.bias == pytest.approx(2.8 / 2)
    assert of.bias_error == pytest.approx((0.7**2 + 0.3**2 + 0.4**2) ** 0.5 / 3 / 2)
    assert (of.silent, of.blind) == (3, 1)


def test_the_exact_metric_finds_the_largest_step() -> None:
    tallies = exact.compare(seed=1, trials=2, size=128)
    assert tallies["cpubisect, by function"].largest == 1.0
    assert tallies["cpubisect, by function"].found >= 0.5
    assert tallies == exact.compare(seed=1, trials=2, size=128)


def hand_made() -> Results:
    """A plain world with one false answer in 20, and one with layout where nothing is named."""
    plain, off = Cell("", World(251, 2.0)), Cell("", World(251, 2.0, layout=1.0))
    right = ended(Verdict.RIGHT, stated=(named(0.999, percent=2.1),))
    wrong = ended(Verdict.NAMED_WRONG, stated=(named(0.999, False),))
    layout = replace(ended(Verdict.NONE), kind="layout")
    return {(plain, OURS): [right] * 19 + [wrong], (off, OURS): [layout] * 20}


def test_the_audits_table_has_its_figures_beside_ours() -> None:
    _, _, plain, off = audit.table(hand_made())
    assert plain.startswith("| 251, 2σ | 20 | 95 (76.4–99.1) % | 0 / 0 / 0 | 0 % | 5 % (21.61 %) | 1.00 |")
    assert plain.endswith("| 93 · 7 / 0 / 0 · 0 · 0 (100) |")
    assert off.startswith("| 251, 2σ, layout 1σ | 20 | 0 (0–16.1) % | 0 / 0 / 100 |")
    assert list(audit.kinds(hand_made()))[2:] == ["| 251, 2σ | 20 | 0 |", "| 251, 2σ, layout 1σ | 0 | 20 |"]
    numbers = audit.numbers(hand_made())
    assert (numbers["worlds"], numbers["trials"], numbers["right_worst"]) == (2, 40, 0.95)
    assert (numbers["named_wrong_worst"], numbers["sure_true"], numbers["covered"]) == (0.05, 0.95, 0.95)
    assert (numbers["bias_worst"], numbers["right_at_sigma"]) == (1.05, None)


def test_the_plot_shows_what_was_stated_against_what_is_true() -> None:
    (point,) = audit.points(hand_made())
    assert (point.side, point.doubt, point.wrong, point.count) == (
        "without layout",
        pytest.approx(0.001),
        pytest.approx(0.05),
        20,
    )
    assert point.low == pytest.approx(lower_bound(1, 20))
    assert point.high == pytest.approx(upper_bound(1, 20))
    (bias,) = audit.biases(hand_made())
    assert (bias.world, bias.ratio) == ("251, 2σ", pytest.approx(1.05))
    drawn = plot.calibration([point], [bias])
    assert drawn.startswith("<svg")
    assert "251, 2σ" in drawn
    for title in ("doubt that was stated, 1 − P", "mean stated step over the true one, with its 99 % interval"):
        assert f">{title}</text>" in drawn


def test_a_page_without_a_place_for_tables_is_refused(tmp_path: Path) -> None:
    for kind in ("--full", "--audit"):
        page = tmp_path / f"{kind}.md"
        page.write_text("# Something else\n")
        words = [ROOT / "benchmarks" / "search.py", kind, "--trials", "1", "--page", page]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "lacks the line that the tables come after" in done.stderr
        assert "Traceback" not in done.stderr
        assert page.read_text() == "# Something else\n"
