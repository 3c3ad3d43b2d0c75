import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.search.clock.digest import Reading, digest
from cpubisect.search.clock.noisy import LIKELY, SURE, Action, current, expected_cost, held, next_action
from cpubisect.search.clock.situation import NoStep, Probe, Situation, Steps

BUILD_S, PROBE_S = 400.0, 40.0


@dataclass
class World:
    """A history whose commits cost 100 units and more from each step on; noise is in the same units.

    What is `dead` fails when it is first asked for, what is `crashing` when it is asked for again.
    """

    size: int
    steps: Mapping[int, float]
    sigma: float
    seed: int
    drift: float = 0.0
    dead: frozenset[int] = frozenset()
    crashing: frozenset[int] = frozenset()
    there: frozenset[int] = frozenset()
    min_step: float = 0.0
    enough: float = 0.5
    direction: int = 1
    built: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    clock_s: float = 0.0
    builds: int = 0

    def search(self) -> Action:
        """Do what is asked for until there is an answer."""
        random = np.random.default_rng(self.seed)
        cost = 100.0 + np.cumsum([self.steps.get(n, 0.0) for n in range(self.size)])
        shift = 0.0
        while isinstance(action := next_action(self.situation()), Probe):
            assert action.number not in self.failed
            if action.number in self.dead or (action.number in self.built and action.number in self.crashing):
                self.failed[action.number] = "error"
                continue
            if action.number not in self.built | self.there:
                self.clock_s += BUILD_S
                self.builds += 1
                shift += self.drift * math.sqrt(BUILD_S / 3600) * random.normal()
            self.built.add(action.number)
            for _ in range(action.count):
                for number in [n for n in (action.beside, action.number) if n is not None]:
                    self.clock_s += PROBE_S
                    shift += self.drift * math.sqrt(PROBE_S / 3600) * random.normal()
                    value = cost[number] + shift + self.sigma * random.normal()
                    self.readings.append(Reading(number, float(value), self.clock_s))
        return action

    def situation(self) -> Situation:
        """What is known now."""
        return Situation(
            size=self.size,
            readings=self.readings,
            build_s=lambda n: 0.0 if n in self.built | self.there else BUILD_S,
            probe_s=PROBE_S,
            dead=self.failed,
            direction=self.direction,
            min_step=self.min_step,
            enough=self.enough,
        )


def places(action: Action) -> list[tuple[int, int]]:
    assert isinstance(action, Steps)
    return [(step.low, step.high) for step in action.found]


@pytest.mark.parametrize("size", [2, 3, 64, 700])
@pytest.mark.parametrize("noise", [0.02, 0.2, 0.5])
def test_one_step_is_found_whatever_the_range(size: int, noise: float) -> None:
    culprit = max(1, size // 3)
    world = World(size, {culprit: 5.0}, 5.0 * noise, seed=size)
    answer = world.search()
    assert places(answer) == [(culprit - 1, culprit)]
    assert isinstance(answer, Steps)
    # Small steps and code layout, which may be there, limit what readings of a few commits can tell.
    assert answer.found[0].probability >= (SURE if noise < 0.5 else LIKELY)
    assert answer.found[0].percent == pytest.approx(5.0, abs=1.0 + 8.0 * noise)
    assert world.builds <= math.ceil(math.log2(size)) + 6


def test_equal_ends_are_no_step_and_what_would_have_been_seen_is_told() -> None:
    answer = World(50, {}, 1.0, seed=1, min_step=2.0).search()
    assert isinstance(answer, NoStep)
    assert abs(answer.percent) < 2.0
    assert 0.0 < answer.visible < 6.0
    assert answer.small


def test_ends_that_may_differ_but_not_surely_are_not_called_a_small_difference() -> None:
    world = World(50, {20: 2.0}, 30.0, seed=1, min_step=2.0)
    answer = world.search()
    assert isinstance(answer, NoStep)
    assert not answer.small


def test_a_step_the_other_way_is_no_step() -> None:
    assert isinstance(World(50, {20: -5.0}, 1.0, seed=2).search(), NoStep)
    assert places(World(50, {20: -5.0}, 1.0, seed=2, direction=-1).search()) == [(19, 20)]


def test_several_equal_steps_are_several_culprits() -> None:
    answer = World(200, {40: 3.0, 100: 3.0, 160: 3.0}, 0.5, seed=3, enough=1.0, min_step=1.5).search()
    assert set(places(answer)) == {(39, 40), (99, 100), (159, 160)}


def test_the_largest_of_several_steps_comes_first() -> None:
    answer = World(200, {40: 2.0, 100: 6.0}, 0.5, seed=4, enough=1.0, min_step=1.0).search()
    assert places(answer)[0] == (99, 100)


SEVERAL = {87: 0.75, 92: 2.0, 136: 0.7, 180: 0.71, 223: 0.4}


@pytest.mark.parametrize(
    ("steps", "culprit", "seed"), [(SEVERAL, 92, 0), (SEVERAL, 92, 1), ({37: 2.0, 173: 0.71, 206: 0.9}, 37, 6)]
)
def test_small_steps_elsewhere_do_not_keep_a_search_from_its_end(
    steps: Mapping[int, float], culprit: int, seed: int
) -> None:
    world = World(256, steps, 1.0, seed=seed)
    answer = world.search()
    assert isinstance(answer, Steps)
    (found,) = [step for step in answer.found if (step.low, step.high) == (culprit - 1, culprit)]
    assert found.probability >= LIKELY
    assert world.builds <= 60


def late_and_likely() -> Iterator[Situation]:
    """Moments of searches at which a step is likely, but not sure, and each reading has taken as long as it could."""
    for seed in range(40):
        world = World(3, {1: 1.5}, 1.0, seed=seed)
        world.search()
        late = [replace(reading, at_s=n * (BUILD_S + 2 * PROBE_S)) for n, reading in enumerate(world.readings)]
        for count in range(40, len(late)):
            situation = replace(world.situation(), readings=late[:count])
            now = current(situation)
            # Not close to where another host's arithmetic would decide otherwise.
            if now is not None and LIKELY + 0.01 < max(now.probabilities) < SURE - 0.01:
                yield situation


def test_a_late_search_goes_on_if_all_steps_are_asked_for() -> None:
    moment = next(moment for moment in late_and_likely() if isinstance(next_action(moment), Steps))
    assert isinstance(next_action(replace(moment, enough=1.0)), Probe)


def test_a_culprit_that_cannot_be_built_is_a_set() -> None:
    dead = frozenset(range(60, 71))
    answer = World(128, {65: 5.0}, 1.0, seed=5, dead=dead).search()
    assert places(answer) == [(59, 71)]


@pytest.mark.parametrize(("step", "sigma", "drift"), [(3.0, 0.5, 1.5), (1.0, 1.0, 2.0), (2.0, 1.0, 6.0)])
def test_drift_larger_than_the_step_is_seen_through(step: float, sigma: float, drift: float) -> None:
    right = [places(World(64, {30: step}, sigma, seed=seed, drift=drift).search()) == [(29, 30)] for seed in range(5)]
    assert sum(right) >= 4


def test_binaries_that_are_there_save_builds() -> None:
    there = frozenset(range(0, 1000, 20))
    world = World(1000, {501: 5.0}, 1.0, seed=6, there=there)
    assert places(world.search()) == [(500, 501)]
    assert world.builds <= 7


def test_a_search_that_was_interrupted_goes_on_where_it_was() -> None:
    whole = World(64, {20: 5.0}, 1.0, seed=7)
    whole.search()
    for count in (3, 9, len(whole.readings) - 1):
        known = {r.number for r in whole.readings[:count]}
        half = Situation(64, whole.readings[:count], lambda n, known=known: 0.0 if n in known else BUILD_S, PROBE_S)  # type: ignore[misc]
        assert next_action(half) == next_action(half)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 30), st.floats(90, 120)), max_size=30))
def test_the_posterior_is_a_distribution_over_gaps(read: Sequence[tuple[int, float]]) -> None:
    ends = [(0, 100.0), (31, 105.0), (0, 101.0), (31, 106.0), (0, 100.5)]
    readings = [Reading(number, value, 60.0 * i) for i, (number, value) in enumerate([*ends, *read])]
    now = current(Situation(32, readings, lambda n: BUILD_S, PROBE_S))
    assert now is not None
    assert float(now.probabilities.sum()) == pytest.approx(1.0)
    assert (now.probabilities >= 0).all()
    assert [low for low, _ in now.gaps] + [31] == sorted({r.number for r in readings})
    assert now.costly(31) == pytest.approx(1.0)


def test_before_both_ends_were_read_nothing_is_known() -> None:
    assert current(Situation(10, [Reading(0, 1.0, 0.0)], lambda n: 1.0, 1.0)) is None
    assert isinstance(next_action(Situation(10, [], lambda n: 1.0, 1.0)), Probe)


def test_more_noise_is_expected_to_take_longer() -> None:
    quiet, noisy = (expected_cost(1024, 2.0, sigma, BUILD_S, PROBE_S) for sigma in (0.1, 2.0))
    assert quiet[0] == noisy[0] == pytest.approx(10.0, abs=0.1)
    assert quiet[1] < noisy[1]


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_in_percent_of_the_good_end_wherever_they_are(seed: int) -> None:
    steps = {30: 20.0, 90: 20.0, 150: 20.0}
    answer = World(200, steps, 0.3, seed=seed, enough=1.0, min_step=5.0).search()
    assert isinstance(answer, Steps)
    assert {step.high for step in answer.found} == set(steps)
    assert all(step.percent == pytest.approx(20.0, abs=2.0) for step in answer.found)
    assert answer.remainder == pytest.approx(0.0, abs=2.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_commit_that_fails_after_it_was_read_is_not_asked_for_again(seed: int) -> None:
    world = World(64, {30: 3.0}, 1.5, seed=seed)
    read = {28: 103.0, 29: 100.4, 30: 101.9, 31: 104.4}
    for number in (0, 63, 0, 63, 0, 63, 0, 63):
        world.readings.append(Reading(number, 100.0 + 3.0 * (number > 0) + 0.5 * (len(world.readings) % 3), 1.0))
    world.readings += [Reading(number, value, 2.0) for number, value in read.items()]
    world.built |= {0, 63, *read}
    world.failed = dict.fromkeys(read, "probe: crashed")
    world.dead = frozenset(read)
    assert isinstance(world.search(), Steps | NoStep)


@pytest.mark.parametrize(("first", "second", "seed"), [(8, 10, 43), (2, 6, 48), (1, 3, 65)])
def test_a_commit_between_two_steps_that_fails_after_it_was_read_is_not_asked_for_again(
    first: int, second: int, seed: int
) -> None:
    World(16, {first: 2.0, second: 2.0}, 0.4, seed=seed, crashing=frozenset(range(1, 15))).search()


@pytest.mark.parametrize(
    ("steps", "seed"), [({64: 2.0, 192: 1.3}, 5), ({40: 1.6, 128: 1.2, 200: 1.2}, 14)], ids=["two", "three"]
)
def test_a_late_search_does_not_end_while_more_is_left_than_it_has_found(steps: Mapping[int, float], seed: int) -> None:
    answer = World(256, steps, 1.0, seed=seed).search()
    assert isinstance(answer, Steps)
    assert abs(answer.remainder) <= abs(answer.found[0].percent)


def test_a_clock_that_was_set_back_is_no_obstacle() -> None:
    world = World(64, {30: 5.0}, 1.0, seed=1)
    world.search()
    late = [Reading(r.number, r.value, r.at_s - (9000.0 if i > 12 else 0.0)) for i, r in enumerate(world.readings)]
    for count in range(8, len(late)):
        known = {r.number for r in late[:count]}
        prices = {n: 0.0 if n in known else BUILD_S for n in range(64)}
        next_action(Situation(64, late[:count], prices.__getitem__, PROBE_S))


@pytest.mark.parametrize("inside", [False, True])
def test_ends_that_look_alike_again_end_no_search_that_has_begun(inside: bool) -> None:
    random = np.random.default_rng(0)
    noise = random.normal(0.0, 1.0, (40, 2))
    noise -= noise.mean(axis=0)
    ends = [Reading(n, 100.0 + noise[i, n] + 0.7 * n, 80.0 * i + 40.0 * n) for i in range(40) for n in (0, 1)]
    readings = [Reading(63 * r.number, r.value, r.at_s) for r in ends]
    if inside:
        readings += [Reading(30, 100.0, readings[-1].at_s + 40.0)]
    percent, error = digest(readings).difference(0, 63)
    assert 2.5 < percent / error < 3.9
    answer = next_action(Situation(64, readings, lambda _: BUILD_S, PROBE_S, most_rounds=20))
    assert isinstance(answer, NoStep) is not inside


@pytest.mark.parametrize("off", [6.0, 10.0, 40.0])
def test_a_single_disturbed_reading_decides_nothing(off: float) -> None:
    """Whatever one reading of a commit says, the odds that it is beyond the step change by at most 99 : 1."""
    random = np.random.default_rng(4)
    ends = [(i % 2 * 63, 100.0 + 2.0 * (i % 2) + float(random.normal())) for i in range(24)]
    readings = [Reading(number, value, 40.0 * i) for i, (number, value) in enumerate([*ends, (40, 100.0 + off)])]
    situation = Situation(64, readings, lambda number: 400.0, PROBE_S)
    now = current(situation)
    assert now is not None
    assert 0.5 < held(now, 0, 40) <= 0.997
    action = next_action(situation)
    assert isinstance(action, Probe)
