"""What is read from journals of forecasts, and what was taken."""

import forecast

from cpubisect.search import events
from cpubisect.search.events import Entry, Event


def journal(*told: Event) -> list[Entry]:
    return [Entry(number, float(number), event) for number, event in enumerate(told, 1)]


def built(sha: str, seconds: float) -> events.BuildFinished:
    return events.BuildFinished(sha=sha, outcome="built", wall_seconds=seconds, cache_hits=8, cache_misses=2)


TOLD = journal(
    built("good", 300.0),
    events.Price(builds=2, seconds=100.0),
    events.Next(sha="a", seconds=40.0),
    built("a", 50.0),
    events.ProbeFinished(sha="a", seconds=10.0),
    events.Price(builds=1, seconds=30.0),
    events.Next(sha="b"),
    built("b", 20.0),
    events.ProbeFinished(sha="b", seconds=10.0),
    events.StepFound(low="a", high="b"),
    events.ProbeFinished(sha="b", seconds=10.0),
    events.Price(builds=3, seconds=90.0, inside=("b",)),
    events.Next(sha="c", seconds=10.0),
    built("c", 30.0),
)


def test_builds_beside_their_forecasts() -> None:
    found = forecast.forecast_builds(TOLD)
    assert [(one.said, one.taken, one.ratio, one.close) for one in found] == [
        (40.0, 50.0, 1.25, True),
        (None, 20.0, None, False),
        (10.0, 30.0, 3.0, False),
    ]


def test_a_search_that_was_interrupted_is_one() -> None:
    whole, inside = forecast.forecast_searches(TOLD)
    assert (whole.price.seconds, whole.seconds, whole.builds, whole.ended) == (100.0, 90.0, 2, True)
    assert (inside.price.inside, inside.seconds, inside.ended) == (("b",), 30.0, False)


def test_the_table_counts_those_that_were_right() -> None:
    builds = forecast.forecast_builds(TOLD)
    lines = forecast.table({"some": builds, "none told": [one for one in builds if one.said is None]})
    assert lines[2] == "| some | a (2 of 10 compiled) | 40 s | 50 s | 1.25 |"
    assert lines[3] == "| some | b (2 of 10 compiled) | not told | 20 s |  |"
    assert lines[6:] == ["", "Within a factor of 1.5:", "", "- some: 1 of 2"]
