"""Reads from the store what is known along the commits of one bisection, cheaply enough for a page that is live."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from cpubisect import queries
from cpubisect.commit_axis import Axis, Interval, Mark, Point, Range
from cpubisect.display import describe
from cpubisect.lab import Purpose
from cpubisect.prior import MAIN
from cpubisect.queries import SampleRow
from cpubisect.question import Question
from cpubisect.readings import value
from cpubisect.session import Session
from cpubisect.stats import level
from cpubisect.verdict import of_test
from cpubisect.workloads.probe import CPU, INSTRUCTIONS

Json = dict[str, Any]
Places = Mapping[str, tuple[int, str]]

_ACTIONS = ("build-started", "build-finished", "build-reused", "probe-started", "probe-finished")
_THOUGHTS = ("regime", "next", "posterior", "step-found")


def axis(session: Session, bisection: int, test: str | None = None) -> Axis:
    """What is known of one test (default: the first of the question's) from good to bad.

    Raises UserError for an unknown id; a test that was not asked about has no points.
    """
    store = session.store
    row = store.bisection(bisection)
    question = Question.from_json(row.question)
    asked = test or question.tests[0]
    verdict = of_test(row.verdict, asked)
    last = {kind: data for kind, (_, _, data) in queries.latest_events(store, bisection, asked).items()}
    samples = [row for row in queries.samples(store, bisection, asked, (INSTRUCTIONS, CPU)) if not row.error]
    metric = verdict.get("metric") or last.get("regime", {}).get("metric") or _first_metric(samples)
    values = values_of(samples, metric)
    for sha, twin in queries.twins(store, bisection).items():
        values.setdefault(sha, values.get(twin, []))
    told = (data for _, _, _, data in store.events(bisection, kinds=("unobservable",)) if _is_about(data, asked))
    failed = {data["sha"]: data["why"] for data in told} | queries.failures(store, bisection)
    dead = {sha: why for sha, why in failed.items() if not values.get(sha)}
    places = queries.positions(store, bisection, MAIN, _shas(values, dead, last, verdict, question))
    size, runs = queries.shared_binaries(store, bisection, MAIN)
    points = sorted(
        (_point(*places[sha], sha, found) for sha, found in values.items() if sha in places and found),
        key=lambda point: point.position,
    )
    state = session.state(row.id, row.state)
    doing = _doing(last) if state == "running" else {}
    at = places.get(str(doing.get("sha")))
    return Axis(
        bisection=bisection,
        engine=row.engine,
        test=asked,
        state=state,
        metric=metric,
        size=size,
        good=question.good[:12] if question.good == question.good_sha else question.good,
        bad=question.bad[:12] if question.bad == question.bad_sha else question.bad,
        good_cost=_mean(values.get(question.good_sha, [])),
        bad_cost=_mean(values.get(question.bad_sha, [])),
        fork=size > 0 and question.good_sha not in places,
        points=tuple(points),
        classes=tuple(Range(first, end) for first, end in runs),
        unbuildable=_unbuildable(dead, places, runs, points),
        intervals=_intervals(verdict, last, places),
        culprits=_marks(verdict, places),
        doing=describe(doing["kind"], doing) if doing else "",
        doing_at=at[0] if at else None,
    )


def _is_about(data: Json, test: str) -> bool:
    return data.get("test") in (None, test)


def _first_metric(samples: Sequence[SampleRow]) -> str:
    """The metric before one was decided on: instructions where they are counted."""
    return INSTRUCTIONS if not samples or any(INSTRUCTIONS in row.values for row in samples) else CPU


def values_of(samples: Sequence[SampleRow], metric: str) -> dict[str, list[float]]:
    """One value per probe of each commit: those the search read, or where it read none, those that confirmed it."""
    purpose = Purpose.CLOCK if metric == CPU else Purpose.SEARCH
    searched: dict[str, list[float]] = {}
    confirmed: dict[str, list[float]] = {}
    for row in samples:
        found = row.values.get(metric)
        if found and Purpose.counts(row.purpose):
            (searched if row.purpose == purpose else confirmed).setdefault(row.sha, []).append(value(metric, found))
    return {**confirmed, **searched}


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _point(position: int, subject: str, sha: str, values: Sequence[float]) -> Point:
    found = level(values)
    return Point(position, sha, subject, found.mean, found.low, found.high, len(values))


def _shas(
    values: Mapping[str, object], dead: Mapping[str, str], last: Mapping[str, Json], verdict: Json, question: Question
) -> set[str]:
    """Every commit whose place on the line is asked for."""
    found = {question.good_sha, question.bad_sha, *values, *dead}
    for data in last.values():
        found |= {str(data[name]) for name in ("sha", "low", "high") if name in data}
        found |= {sha for low, high, _ in data.get("gaps", ()) for sha in (low, high)}
    for culprit in verdict.get("culprits", ()):
        found |= {culprit["sha"], *culprit["inside"]}
    for group in verdict.get("groups", ()):
        found |= {group["after"], group["until"]}
    return found


def _doing(last: Mapping[str, Json]) -> Json:
    """The build or probe that has begun and not ended; empty if there is none."""
    actions = [(kind, data) for kind, data in last.items() if kind in _ACTIONS]
    kind, data = actions[-1] if actions else ("", {})
    return {**data, "kind": kind} if kind.endswith("-started") else {}


def _unbuildable(
    dead: Mapping[str, str], places: Places, runs: Sequence[tuple[int, int]], points: Sequence[Point]
) -> tuple[Range, ...]:
    """Ranges that cannot be measured: with a commit goes its class, and what lies between two that fail alike."""
    ends = dict(runs)
    measured = {point.position for point in points}
    found: list[Range] = []
    for position, why in sorted((places[sha][0], why) for sha, why in dead.items() if sha in places):
        last = ends.get(position, position)
        before = found[-1] if found else None
        if before and before.why == why and not any(n in measured for n in range(before.last + 1, position)):
            found[-1] = Range(before.first, last, why)
        else:
            found.append(Range(position, last, why))
    return tuple(found)


def _intervals(verdict: Json, last: Mapping[str, Json], places: Places) -> tuple[Interval, ...]:
    """Where the step is: what a verdict could not tell apart; before that, what the search says last."""
    if verdict:
        pairs: Iterable[tuple[str, str, float | None]] = [
            (group["after"], group["until"], None) for group in verdict.get("groups", ())
        ]
    elif "posterior" in last:
        data = last["posterior"]
        pairs = data.get("gaps") or [(data["low"], data["high"], data["probability"])]
    else:
        thoughts = [data for kind, data in last.items() if kind in _THOUGHTS and "low" in data]
        pairs = [(data["low"], data["high"], None) for data in thoughts[-1:]]
    return tuple(
        Interval(places[low][0], places[high][0], probability)
        for low, high, probability in pairs
        if low in places and high in places
    )


def _marks(verdict: Json, places: Places) -> tuple[Mark, ...]:
    """The culprits that are on the line, or came in by a merge that is."""
    marks = []
    for culprit in verdict.get("culprits", ()):
        at = next((places[sha][0] for sha in (culprit["sha"], *culprit["inside"]) if sha in places), None)
        if at is not None:
            percent = culprit["steps"][verdict["metric"]]["percent"]
            marks.append(Mark(at, culprit["sha"], culprit["subject"], percent))
    return tuple(marks)
