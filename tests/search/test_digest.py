import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cpubisect.search.clock.digest import Digest, Reading, digest

values = st.floats(90.0, 110.0)
readings_of_both = st.lists(
    st.tuples(st.integers(0, 3), values, st.floats(1.0, 4000.0)), min_size=6, max_size=40
).filter(lambda found: len({number for number, _, _ in found}) > 1)


def taken(found: list[tuple[int, float, float]]) -> list[Reading]:
    """Readings one after the other: each with the seconds since the one before."""
    clock = np.cumsum([passed for _, _, passed in found])
    return [Reading(number, value, float(at)) for (number, value, _), at in zip(found, clock, strict=True)]


@settings(max_examples=60)
@given(readings_of_both)
def test_the_walk_of_visits_is_the_mean_of_the_earlier_of_two_times(found: list[tuple[int, float, float]]) -> None:
    data = digest(taken(found))
    readings = zip(data.hour, data.number, data.frame, strict=True)
    slots = [(int(hour // (1 / 12)), int(number), int(frame)) for hour, number, frame in readings]
    visits = sorted(set(slots))
    own = [[hour for hour, slot in zip(data.hour, slots, strict=True) if slot == visit] for visit in visits]
    expected = [[np.minimum.outer(one, other).mean() for other in own] for one in own]
    assert data.visits.number.tolist() == [number for _, number, _ in visits]
    assert data.visits.walk == pytest.approx(np.asarray(expected))


@settings(max_examples=60)
@given(readings_of_both, st.floats(0.1, 50.0))
def test_the_unit_of_the_readings_does_not_matter(found: list[tuple[int, float, float]], unit: float) -> None:
    one = digest(taken(found))
    other = digest([Reading(r.number, r.value * unit, r.at_s) for r in taken(found)])
    low, high = min(one.averages), max(one.averages)
    assert other.difference(low, high) == pytest.approx(one.difference(low, high), rel=1e-6, abs=1e-6)
    assert one.difference(high, low)[0] == pytest.approx(-one.difference(low, high)[0])


def drifting(sigma: float, drift: float, step: float, seed: int, pairs: int = 40) -> Digest:
    """0 and 1 in turn, then 0 and 2 in turn, on a host whose drift is a random walk; 2 costs `step` percent more."""
    random = np.random.default_rng(seed)
    walk = np.cumsum(random.normal(0.0, drift * (40 / 3600) ** 0.5, 4 * pairs))
    numbers = [0, 1] * pairs + [0, 2] * pairs
    noise = random.normal(0.0, sigma, 4 * pairs)
    return digest(
        [
            Reading(number, 100.0 + walk[i] + noise[i] + (step if number == 2 else 0.0), 40.0 * i)
            for i, number in enumerate(numbers)
        ]
    )


def test_what_was_never_read_side_by_side_is_compared_through_what_was_read_beside_it() -> None:
    misses, errors = [], []
    for seed in range(30):
        percent, error = drifting(sigma=1.0, drift=20.0, step=3.0, seed=seed).difference(1, 2)
        misses.append((percent - 3.0) / error)
        errors.append(error)
    assert np.sqrt(np.mean(np.square(misses))) < 1.5
    # Four means of 40 readings each, whose noise adds up; the plain means differ by some 15 percent of drift.
    assert np.median(errors) < 3 * (4 / 40) ** 0.5


def test_without_drift_the_error_is_that_of_plain_means() -> None:
    errors = [drifting(sigma=1.0, drift=0.0, step=3.0, seed=seed).difference(1, 2)[1] for seed in range(30)]
    assert np.median(errors) == pytest.approx((2 / 40) ** 0.5, rel=0.25)


@pytest.mark.parametrize("visits", [2, 3, 5])
@pytest.mark.parametrize("shift", [8.0, -8.0])
def test_drift_in_a_pause_is_not_taken_for_disturbances(visits: int, shift: float) -> None:
    """The ends 0 and 63 in turn, a pause, then 0 and 30, which cost the same, in turn on a host that has drifted."""
    random = np.random.default_rng(1)
    before = [Reading((0, 63)[i % 2], 100.0 + 5.0 * (i % 2), 40.0 * i) for i in range(20)]
    after = [Reading((0, 30)[i % 2], 100.0 + shift, 4400.0 + 40.0 * i) for i in range(2 * visits)]
    noisy = [Reading(r.number, r.value + float(random.normal()), r.at_s) for r in (*before, *after)]
    percent, error = digest(noisy).difference(0, 30)
    assert abs(percent) < 3 * error
    assert error < 3.0


@pytest.mark.parametrize("shift", [10.0, -6.0])
def test_a_host_that_changes_is_noticed_and_what_was_read_before_is_kept_apart(shift: float) -> None:
    """0 is read before and after the change, 1 after it only, and costs 2 percent more."""
    random = np.random.default_rng(3)
    readings = [Reading(i % 2 if i > 10 else 0, 100.0 + 2.0 * (i % 2 if i > 10 else 0), 40.0 * i) for i in range(60)]
    changed = [
        Reading(r.number, r.value + float(random.normal(0.0, 0.5)) + (shift if i >= 20 else 0.0), r.at_s)
        for i, r in enumerate(readings)
    ]
    data = digest(changed)
    assert data.changes == (pytest.approx(shift, rel=0.1),)
    percent, error = data.difference(0, 1)
    assert percent == pytest.approx(2.0, abs=3 * error)
    assert error < 0.5
    assert digest([r for i, r in enumerate(changed) if i >= 20]).changes == ()


@pytest.mark.parametrize("commits", [20, 60])
def test_a_long_search_forgets_nothing_of_what_was_read_side_by_side(commits: int) -> None:
    """Each commit is read 8 times beside one end on a host that drifts by 2 percent per root hour."""
    random = np.random.default_rng(2)
    numbers = [n for i in range(1, commits) for n in ((0, commits)[i % 2], i) * 8] + [0, commits] * 8
    builds = np.asarray([400.0 if i % 16 == 0 else 0.0 for i in range(len(numbers))])
    clock = np.cumsum(40.0 + builds)
    walk = np.cumsum(random.normal(0.0, 2.0 * np.sqrt((40.0 + builds) / 3600)))
    noise = random.normal(0.0, 1.0, len(numbers))
    data = digest(
        [Reading(n, float(100.0 + w + e), float(t)) for n, w, e, t in zip(numbers, walk, noise, clock, strict=True)]
    )
    found = [data.difference(0, number) for number in range(1, commits)]
    assert np.sqrt(np.mean(np.square([percent for percent, _ in found]))) < 1.0
    assert np.sqrt(np.mean(np.square([percent / error for percent, error in found]))) < 1.5


@settings(max_examples=60)
@given(readings_of_both, st.integers(0, 2), st.integers(1, 3))
def test_a_part_of_the_range_keeps_what_the_whole_tells(
    found: list[tuple[int, float, float]], low: int, size: int
) -> None:
    whole = digest(taken(found))
    kept = [number for number in whole.averages if low <= number <= low + size]
    assume(kept)
    part = whole.inside(low, low + size)
    assert list(part.averages) == [number - low for number in kept]
    assert [part.count(number - low) for number in kept] == [whole.count(number) for number in kept]
    for one in kept:
        for other in kept:
            assert part.difference(one - low, other - low) == whole.difference(one, other)


def test_one_reading_of_each_tells_nothing_for_sure() -> None:
    assert digest([Reading(5, 110.0, 0.0), Reading(0, 100.0, 1000.0)]).difference(0, 5) == (pytest.approx(10.0), np.inf)


def test_a_disturbed_reading_is_drawn_in() -> None:
    random = np.random.default_rng(3)
    calm = [Reading(0, float(100.0 + random.normal()), 40.0 * i) for i in range(30)]
    loud = [Reading(r.number, r.value + (60.0 if i == 17 else 0.0), r.at_s) for i, r in enumerate(calm)]
    assert digest(loud).averages[0] == pytest.approx(0.0, abs=1.0)


def test_a_clock_that_was_set_back_stands_still() -> None:
    data = digest([Reading(0, 100.0, 500.0), Reading(1, 101.0, 540.0), Reading(0, 100.2, 20.0)])
    assert data.hour.tolist() == [0.0, 40 / 3600, 40 / 3600]


def test_nothing_read_is_an_empty_digest() -> None:
    assert digest([]).averages == {}
