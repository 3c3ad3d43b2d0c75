import pytest

from cpubisect.search import events
from cpubisect.search.events import Entry, Event, HostThere
from cpubisect.views.under_way import under_way

A, B = "a" * 40, "b" * 40
ROLL = events.Hosts(there=(HostThere("b1", "build", 2), HostThere("p1", "probe")), idle=True)
BUILD_A, PROBE_A = f"the build of {A[:12]}", f"the probe of {A[:12]}"


@pytest.mark.parametrize(
    ("happened", "lines"),
    [
        ([events.BuildStarted(sha=A)], []),
        (
            [ROLL],
            ["b1 (build, 2 at once): nothing for this bisection", "p1 (probe): nothing for this bisection"],
        ),
        (
            [ROLL, events.BuildStarted(sha=A), events.BuildStarted(sha=B), events.Placed(what=BUILD_A, host="b1")],
            [
                f"b1 (build, 2 at once): {BUILD_A} (97 s)",
                "p1 (probe): nothing for this bisection",
                f"waits for a host: the build of {B[:12]} (98 s)",
            ],
        ),
        (
            [ROLL, events.BuildStarted(sha=A), events.Placed(what=BUILD_A, host="b1"), events.BuildFinished(sha=A)],
            ["b1 (build, 2 at once): nothing for this bisection", "p1 (probe): nothing for this bisection"],
        ),
        (
            [ROLL, events.BuildStarted(sha=A), events.BuildWithdrawn(sha=A)],
            ["b1 (build, 2 at once): nothing for this bisection", "p1 (probe): nothing for this bisection"],
        ),
        (
            [
                ROLL,
                events.Placed(what=PROBE_A, host="p1"),
                events.Waiting(what=PROBE_A, why="p1, which is to probe, is not there", lost="p1"),
                events.Hosts(there=ROLL.there[:1]),
            ],
            [
                "b1 (build, 2 at once): nothing for this bisection",
                f"waits for a host: {PROBE_A} (p1, which is to probe, is not there)",
            ],
        ),
        (
            [ROLL, events.Placed(what=BUILD_A, host="b1"), events.Hosts(there=ROLL.there[1:])],
            ["p1 (probe): nothing for this bisection", f"b1 (gone): lost with {BUILD_A} (99 s)"],
        ),
        # What a run that was killed had begun is not under way in the next one.
        (
            [ROLL, events.BuildStarted(sha=A), events.Placed(what=BUILD_A, host="b1"), ROLL],
            ["b1 (build, 2 at once): nothing for this bisection", "p1 (probe): nothing for this bisection"],
        ),
    ],
)
def test_what_hosts_do_is_told_line_by_line(happened: list[Event], lines: list[str]) -> None:
    entries = [Entry(number, float(number), event) for number, event in enumerate(happened)]
    assert under_way(entries).lines(100.0) == lines


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (events.Hosts(there=ROLL.there), ""),
        (events.Hosts(there=ROLL.there, lost=("b2",)), "b2 is lost: 2 builds and 1 probes at once are left"),
        (events.Placed(what=BUILD_A, host="b1"), f"{BUILD_A} is done by b1"),
        (events.Placed(what=PROBE_A, host="p1", quiet=True), ""),
        (events.Placed(what=BUILD_A, host="b1", lost="b2"), f"b2 was lost with {BUILD_A}, which is now done by b1"),
        (
            events.Waiting(what=PROBE_A, why="no host is there to probe", lost="p1"),
            f"p1 is lost; {PROBE_A} waits for a host that can do it: no host is there to probe",
        ),
        (events.BuildWithdrawn(sha=A, why="it is late"), f"{A[:12]} is built no further: it is late"),
        (events.BuildAhead(sha=A, why="it is early"), f"{A[:12]} is built ahead: it is early"),
    ],
)
def test_each_event_has_its_sentence_and_comes_back_from_plain_data(event: Event, sentence: str) -> None:
    assert event.sentence == sentence
    assert events.read(event.kind, event.to_json()).sentence == sentence
