"""The journal's events as plain data and in sentences."""

from dataclasses import fields, replace

import pytest

from cpubisect.base.metrics import CPU, INSTRUCTIONS
from cpubisect.search import events
from cpubisect.search.events import KINDS, Entry, Event, Latest, read

SHA = "0123456789ab" + "0" * 28

FILLED = (
    events.Notice(text="said"),
    events.Range(candidates=9, classes=4, fork=SHA, expected_builds=3),
    events.BuildFinished(sha=SHA, outcome="built", wall_seconds=12.0, cache_hits=3, cache_misses=1, repairs=2),
    events.Redrawn(sha=SHA, links=8, wall_seconds=14.2, cache_hits=9, cache_misses=1),
    events.ProbeFinished(sha=SHA, seconds=2.0, values={INSTRUCTIONS: [1000.0], CPU: [3.0, 2.0]}),
    events.Suspects(top=(events.Suspected(SHA, 0.5, ("type Block", "executed")),), inside=(SHA,)),
    events.Next(sha=SHA, number=3, of=9, why="it tells most", low="a", high="b", test="insert"),
    events.Posterior(low=SHA, high=SHA, candidates=2, probability=0.9, gaps=(("a", "b", 0.25),)),
    events.Attached(marker="m", where="a folder", folder="/tmp/x"),
)


@pytest.mark.parametrize("event", FILLED, ids=lambda event: event.kind)
def test_an_event_survives_the_store(event: Event) -> None:
    plain = event.to_json()
    stored = {name: _listed(value) for name, value in plain.items()}
    back = read(event.kind, stored)
    assert back.to_json() == plain
    assert back.sentence == event.sentence
    assert ("test" in plain) == bool(event.test)


def _listed(value: object) -> object:
    """As JSON gives it back: tuples are lists there."""
    if isinstance(value, dict):
        return {name: _listed(inner) for name, inner in value.items()}
    return [_listed(inner) for inner in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_an_event_lacks_or_has_too_much_does_no_harm(kind: str) -> None:
    event = read(kind, {"of another": "program"})
    assert event.kind == kind
    assert isinstance(event.sentence, str)
    assert {field.name for field in fields(event)} == set(event.to_json()) | {"test", "variant"}


def test_an_unknown_kind_is_no_error_and_says_nothing() -> None:
    assert read("of-tomorrow", {"sha": SHA}).sentence == ""


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (FILLED[1], "9 candidates in 4 classes, fork point 0123456789ab; about 3 builds are likely"),
        (FILLED[2], "0123456789ab built in 12 s (3 of 4 compiles from the cache, 2 repairs)"),
        (replace(FILLED[2], repairs=1), "0123456789ab built in 12 s (3 of 4 compiles from the cache, 1 repair)"),
        (FILLED[3], "0123456789ab linked 8 times in other orders in 14 s"),
        (events.Redrawn(sha=SHA, links=1, wall_seconds=2), "0123456789ab linked once in other orders in 2.0 s"),
        (events.Redrawn(sha=SHA, first_error="no lld"), "0123456789ab cannot be linked in other orders: no lld"),
        (events.Redrawing(sha=SHA, links=8, test="insert"), "linking 0123456789ab in 8 other orders"),
        (FILLED[4], "0123456789ab probed in 2.0 s: 1,000 instructions/query, 2.00 cpu us/query"),
        (FILLED[5], "suspects by what grew: 0123456789ab 50% (type Block, executed)"),
        (FILLED[6], "insert: next: 0123456789ab (3 of 9): it tells most"),
        (
            events.Next(sha=SHA, number=3, of=9, why="it tells most", seconds=27.4),
            "next: 0123456789ab (3 of 9, likely built in 27 s): it tells most",
        ),
        (events.BuildStarted(sha=SHA, toolchain="gcc-12", test="insert"), "building 0123456789ab with gcc-12"),
        (
            events.BuildFinished(sha=SHA, outcome="failed", first_error="x.h: no"),
            "0123456789ab does not build (failed): x.h: no",
        ),
        (
            events.ProbeFinished(sha=SHA, seconds=2.0, values={INSTRUCTIONS: [900.0, 1100.0]}, note="not steady"),
            "0123456789ab probed in 2.0 s: 1,000 instructions/query (not steady)",
        ),
        (events.ProbeFinished(sha=SHA, error="crash"), "0123456789ab cannot be probed: crash"),
        (
            events.Price(builds=3, most_builds=8, seconds=21.0),
            "this search is likely to take about 3 builds (at most 8 for one step) and 21 s",
        ),
        (events.Progress(text="compiling"), ""),
    ],
)
def test_the_sentence_of_an_event(event: Event, said: str) -> None:
    assert event.sentence == said


def test_the_latest_of_each_kind() -> None:
    told = [events.Range(classes=4), events.Next(sha="a"), events.Joined(classes=3), events.Next(sha="b")]
    latest = Latest([Entry(number, 0.0, event) for number, event in enumerate(told)])
    assert latest[events.Next] == events.Next(sha="b")
    assert latest[events.Posterior] is None
    newest = latest.newest(events.Range, events.Joined)
    assert newest is not None
    assert newest.event == events.Joined(classes=3)
    without = latest.newest(without=(events.Next,))
    assert without == newest
    assert latest.events() == [told[0], told[2], told[3]]


KEEPS = "the server keeps its own value"


def refused(count: int, why: str = KEEPS, first: int = 0) -> dict[str, str]:
    return {f"v{number:02}": why for number in range(first, first + count)}


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({}, ""),
        (refused(1), f", and v00 could not be given: {KEEPS}"),
        (refused(2), f", and 2 could not be given, {KEEPS}: v00 and v01"),
        (refused(4), f", and 4 could not be given, {KEEPS}: v00, v01, v02 and v03"),
        (refused(40), f", and 40 could not be given, {KEEPS}: v00, v01, v02 and 37 more"),
        (
            refused(1, "no such variable") | refused(5, first=1),
            f", and 5 could not be given, {KEEPS}: v01, v02, v03 and 2 more; v00 could not be given: no such variable",
        ),
        (
            {"a": "A", "b": "B", "c": "C", "d": "D"},
            ", and a could not be given: A; b could not be given: B; c could not be given: C; d could not be given: D",
        ),
        (
            {"a": "A", "b": "B", "c": "C", "d": "D", **refused(5, "E") | refused(2, "F", first=5)},
            ", and 5 could not be given, E: v00, v01, v02 and 2 more; 2 could not be given, F: v05 and v06; "
            "a could not be given: A; 3 could not be given, for other reasons: b, c and d",
        ),
    ],
)
def test_variables_that_could_not_be_given_are_told_by_reason_and_only_a_few_by_name(
    left: dict[str, str], said: str
) -> None:
    event = events.DefaultsRestored(given={"a": "1", "b": "2"}, refused=left)
    assert event.sentence == f"bad's server was given good's values of 2 changed variables: it is not them{said}"
    assert event.to_json()["refused"] == left
