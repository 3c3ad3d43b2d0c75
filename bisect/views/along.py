"""Reads from the store what is known along the commits of one bisection, cheaply enough for a page that is live."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from cpubisect.base.metrics import CPU
from cpubisect.draw.axis import Axis, Interval, Mark, Point, Range
from cpubisect.records import queries
from cpubisect.records.queries import SampleRow
from cpubisect.records.registry import Registry
from cpubisect.search.events import (
    BuildFinished,
    BuildReused,
    BuildStarted,
    Latest,
    Next,
    Posterior,
    ProbeFinished,
    ProbeStarted,
    Redrawing,
    Redrawn,
    RegimeChosen,
    StepFound,
    Unobservable,
)
from cpubisect.search.line import MAIN
from cpubisect.search.question import Question
from cpubisect.search.stats import level
from cpubisect.search.verdict import Verdict
from cpubisect.views.bisection import End
from cpubisect.views.measured import searched

Places = Mapping[str, tuple[int, str]]

_ACTIONS = (BuildStarted, BuildFinished, BuildReused, ProbeStarted, ProbeFinished, Redrawing, Redrawn)


def axis(registry: Registry, bisection: int, test: str | None = None) -> Axis:
    """What is known of one test (default: the first of the question's) from good to bad.

    Raises UserError for an unknown id; a test that was not asked about has no points.
    """
    store = registry.store
    row = store.bisection(bisection)
    question = row.question
    asked, counted = test or question.tests[0], question.metric.counted
    verdict = row.verdict.tests.get(asked) if row.verdict else None
    last = queries.latest_events(store, bisection, asked)
    samples = [row for row in queries.samples(store, bisection, asked, (counted, CPU)) if not row.error]
    metric = _metric(verdict, last, samples, counted)
    known = searched(store, bisection, asked, samples)
    values = known.by_commit(metric)
    told = (event for event in store.told(bisection, Unobservable) if event.is_about(asked))
    failed = {event.sha: event.why for event in told if event.variant == known.variant}
    failed |= queries.failures(store, bisection, known.variant)
    dead = {sha: why for sha, why in failed.items() if sha not in values}
    places = queries.positions(store, bisection, MAIN, _shas(values, dead, last, verdict, question))
    size, runs = queries.shared_binaries(store, bisection, MAIN)
    points = sorted(
        (_point(*places[sha], sha, found) for sha, found in values.items() if sha in places),
        key=lambda point: point.position,
    )
    state = registry.state(row.id, row.state)
    doing = _doing(last) if state == "running" else None
    at = places.get(doing.sha) if doing else None
    return Axis(
        bisection=bisection,
        engine=row.engine,
        test=asked,
        state=state,
        metric=metric,
        size=size,
        good=End(question.good, question.good_sha).called,
        bad=End(question.bad, question.bad_sha).called,
        good_cost=_mean(values.get(question.good_sha, [])),
        bad_cost=_mean(values.get(question.bad_sha, [])),
        fork=size > 0 and question.good_sha not in places,
        points=tuple(points),
        classes=tuple(Range(first, end) for first, end in runs),
        unbuildable=_unbuildable(dead, places, runs, points),
        intervals=_intervals(verdict, last, places, known.variant),
        culprits=_marks(verdict, places),
        doing=doing.sentence if doing else "",
        doing_at=at[0] if at else None,
    )


def _metric(verdict: Verdict | None, last: Latest, samples: Sequence[SampleRow], counted: str) -> str:
    """The metric that is searched on; before that was chosen, what is counted where it is."""
    if verdict and verdict.metric:
        return verdict.metric
    if regime := last[RegimeChosen]:
        return regime.metric
    return counted if not samples or any(counted in row.values for row in samples) else CPU


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _point(position: int, subject: str, sha: str, values: Sequence[float]) -> Point:
    found = level(values)
    return Point(position, sha, subject, found.mean, found.low, found.high, found.samples)


def _shas(
    values: Mapping[str, object], dead: Mapping[str, str], last: Latest, verdict: Verdict | None, question: Question
) -> set[str]:
    """Every commit whose place on the line is asked for."""
    found = {question.good_sha, question.bad_sha, *values, *dead}
    for event in last.events():
        found |= {str(sha) for name in ("sha", "low", "high") if (sha := getattr(event, name, None))}
    if posterior := last[Posterior]:
        found |= {sha for low, high, _ in posterior.gaps for sha in (low, high)}
    if verdict:
        found |= {sha for culprit in verdict.culprits for sha in (culprit.sha, *culprit.inside)}
        found |= {sha for group in verdict.groups for sha in (group.after, group.until)}
    return found


def _doing(last: Latest) -> BuildStarted | ProbeStarted | Redrawing | None:
    """The build, redraw or probe that has begun and not ended."""
    action = last.newest(*_ACTIONS)
    return action.event if action and isinstance(action.event, BuildStarted | ProbeStarted | Redrawing) else None


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


def _intervals(verdict: Verdict | None, last: Latest, places: Places, variant: str) -> tuple[Interval, ...]:
    """Where the step is: what a verdict could not tell apart; before that, what the search says last, by builds of one
    kind."""
    if verdict:
        pairs: Iterable[tuple[str, str, float | None]] = [(group.after, group.until, None) for group in verdict.groups]
    elif posterior := last[Posterior]:
        pairs = posterior.gaps or [(posterior.low, posterior.high, posterior.probability)]
    else:
        thoughts = [
            event for event in last.events() if isinstance(event, Next | StepFound) and event.variant == variant
        ]
        pairs = [(event.low, event.high, None) for event in thoughts[-1:] if event.low and event.high]
    return tuple(
        Interval(places[low][0], places[high][0], probability)
        for low, high, probability in pairs
        if low in places and high in places
    )


def _marks(verdict: Verdict | None, places: Places) -> tuple[Mark, ...]:
    """The culprits that are on the line, or came in by a merge that is."""
    marks = []
    for culprit, step in verdict.found if verdict else ():
        at = next((places[sha][0] for sha in (culprit.sha, *culprit.inside) if sha in places), None)
        if at is not None:
            marks.append(Mark(at, culprit.sha, culprit.subject, step.percent))
    return tuple(marks)
