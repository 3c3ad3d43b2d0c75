"""One bisection: its question, how far it is, what was measured of which commit, and its answer."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cpubisect import queries
from cpubisect.axis import values_of
from cpubisect.display import describe
from cpubisect.lab import Purpose
from cpubisect.prior import MAIN
from cpubisect.queries import BuildLine, SampleRow
from cpubisect.question import Question
from cpubisect.session import Session
from cpubisect.stats import level
from cpubisect.store import BisectionRow
from cpubisect.verdict import of_test
from cpubisect.web.models import (
    CommitLine,
    End,
    Next,
    Overview,
    Progress,
    Reading,
    Said,
    Totals,
)
from cpubisect.workloads.probe import CPU, INSTRUCTIONS

Json = dict[str, Any]
Event = tuple[int, float, str, Json]
Latest = Mapping[str, tuple[int, float, Json]]

AFTERWARDS = ("stopped", "attached", "attaching")
"""Events that don't mean that a bisection went on."""

LOOKED_AT, SHOWN_LINES = 40, 12
"""Events at the end of the journal, and lines made of them, on the page; the whole of it has a page of its own."""


def overview(session: Session, bisection: int, test: str | None = None) -> Overview:
    """A bisection as its page shows it, for one of its tests; raises UserError if there is none with that id."""
    store = session.store
    row = store.bisection(bisection)
    question = Question.from_json(row.question)
    shown = test if test in question.tests else question.tests[0]
    state = session.state(row.id, row.state)
    builds = queries.build_lines(store, bisection)
    probes = queries.samples(store, bisection)
    events = queries.latest_events(store, bisection, shown)
    verdict = of_test(row.verdict, shown) or None
    lengths = queries.lengths(store, bisection)
    told = said(queries.tail(store, bisection, LOOKED_AT))
    commits = Lines(session, row, verdict, builds, [p for p in probes if p.test == shown], events).all()
    return Overview(
        id=row.id,
        state=state,
        engine=row.engine,
        repository=question.repository.rpartition("/")[2],
        good=End(name=question.good, sha=question.good_sha),
        bad=End(name=question.bad, sha=question.bad_sha),
        test=shown,
        tests=list(question.tests),
        parameters=dict(question.parameters[shown]),
        given=dict(question.given),
        find=question.find.value,
        metric=question.metric.value,
        regime=row.regime,
        counter=row.counter,
        min_step=question.min_step,
        toolchain=question.toolchain,
        created=row.created,
        finished=row.finished,
        host=row.host,
        totals=_totals(row, lengths, builds, probes, events),
        progress=_progress(state, events, told[-1] if told else None),
        verdict=verdict,
        commits=commits,
        said=told[-SHOWN_LINES:],
    )


def said(events: Iterable[Event]) -> list[Said]:
    """Lines of the journal for a person; what need not be said is left out."""
    return [
        Said(id=id_, at=at, kind=kind, text=line, sha=str(data.get("sha", "")))
        for id_, at, kind, data in events
        if (line := describe(kind, data))
    ]


def _progress(state: str, latest: Latest, spoken: Said | None) -> Progress:
    def line(kind: str) -> str:
        return describe(kind, latest[kind][2]) if kind in latest else ""

    now = spoken if state == "running" else None
    coming = latest["next"][2] if "next" in latest else None
    size = _size(latest)
    stopped = latest.get("stopped")
    begun = max((id_ for kind, (id_, _, _) in latest.items() if kind not in AFTERWARDS), default=0)
    return Progress(
        now=now.text if now else "",
        building=now is not None and now.kind == "build-started",
        since=now.at if now else None,
        next=Next(sha=coming["sha"], why=coming["why"]) if coming else None,
        price=line("price"),
        posterior=line("posterior"),
        suspects=line("suspects"),
        expected_builds=int(size["expected_builds"]) if size else None,
        stopped=str(stopped[2]["why"]) if stopped and stopped[0] > begun and state == "interrupted" else "",
    )


def _size(latest: Latest) -> Json | None:
    """What was last said of how many classes there are; of a path inside a merge it says nothing."""
    found = [latest[kind] for kind in ("range", "joined") if kind in latest and not latest[kind][2].get("inside")]
    return max(found, key=lambda event: event[0])[2] if found else None


def _totals(
    row: BisectionRow,
    lengths: Mapping[str, int],
    builds: Sequence[BuildLine],
    probes: Sequence[SampleRow],
    latest: Latest,
) -> Totals:
    size = _size(latest)
    return Totals(
        candidates=max(0, lengths.get(MAIN, 1) - 1),
        classes=int(size["classes"]) if size else None,
        candidates_inside_merges=sum(max(0, size - 1) for path, size in lengths.items() if path != MAIN),
        builds=len(builds),
        builds_made=sum(build.made for build in builds),
        builds_failed=sum(build.outcome != "built" for build in builds),
        build_seconds=sum(build.wall_seconds for build in builds if build.made),
        build_cpu_seconds=sum(build.cpu_seconds for build in builds if build.made),
        probes=len(probes),
        probe_seconds=sum(probe.seconds for probe in probes),
        elapsed_seconds=(row.finished or time.time()) - row.created,
    )


class Lines:
    """The commits that a bisection built or tried, in the order of the history, each path after the other."""

    def __init__(
        self,
        session: Session,
        row: BisectionRow,
        verdict: Json | None,
        builds: Sequence[BuildLine],
        probes: Sequence[SampleRow],
        latest: Latest,
    ) -> None:
        self._question = Question.from_json(row.question)
        decided = latest["regime"][2]["metric"] if "regime" in latest else INSTRUCTIONS
        self._metric = str((verdict or {}).get("metric") or decided)
        self._culprits = {culprit["sha"] for culprit in (verdict or {}).get("culprits", ())}
        self._builds = {build.sha: build for build in builds}
        self._probes: dict[str, list[SampleRow]] = {}
        for probe in probes:
            if Purpose.counts(probe.purpose):
                self._probes.setdefault(probe.sha, []).append(probe)
        good = [probe for probe in probes if not probe.error]
        self._values = {metric: values_of(good, metric) for metric in (INSTRUCTIONS, CPU)}
        self._places = queries.places(session.store, row.id, list(self._builds))
        self._fork = latest["range"][2].get("fork") if "range" in latest else None
        self._twins = queries.twins(session.store, row.id)

    def all(self) -> list[CommitLine]:
        """Off any path first (the fork point), then main, then what merges brought."""
        paths = sorted({path for path, _ in self._places}, key=lambda path: (path != MAIN, path))
        elsewhere = self._builds.keys() - {sha for _, sha in self._places}
        lines = [self._line("", sha, None, "", None, None) for sha in self._builds if sha in elsewhere]
        for path in paths:
            before: CommitLine | None = None
            at = 0
            here = sorted((place, sha) for (name, sha), place in self._places.items() if name == path)
            for (position, subject), sha in here:
                line = self._line(path, sha, position, subject, before, at)
                lines.append(line)
                at = position
                before = line if self._value(line) is not None else before
        return lines

    def _value(self, line: CommitLine) -> float | None:
        reading = line.instructions if self._metric == INSTRUCTIONS else line.cpu_us
        return reading.mean if reading else None

    def _line(
        self, path: str, sha: str, position: int | None, subject: str, before: CommitLine | None, at: int | None
    ) -> CommitLine:
        build = self._builds[sha]
        probed = self._twins.get(sha, sha)
        probes = self._probes.get(probed, [])
        failed = [probe.error for probe in probes if probe.error]
        counts, clocks = (self._values[metric].get(probed, []) for metric in (INSTRUCTIONS, CPU))
        line = CommitLine(
            path=path,
            position=position,
            skipped=max(0, (position or 0) - (at or 0) - 1) if at is not None else 0,
            sha=sha,
            subject=subject,
            role=self._role(sha),
            outcome=build.outcome,
            error=build.first_error or (failed[0] if failed and len(failed) == len(probes) else ""),
            equal_to=self._twins.get(sha),
            instructions=reading(counts),
            cpu_us=reading(clocks),
            step_percent=None,
            build=build.id,
            made=build.made,
            build_seconds=build.wall_seconds,
            build_cpu_seconds=build.cpu_seconds,
            cache_hits=build.cache_hits,
            cache_misses=build.cache_misses,
            toolchain=build.toolchain,
            repairs=build.repairs,
            probes=len(probes),
        )
        now, earlier = self._value(line), self._value(before) if before else None
        if now is None or not earlier:
            return line
        return line.model_copy(update={"step_percent": (now / earlier - 1) * 100})

    def _role(self, sha: str) -> str:
        if sha in self._culprits:
            return "culprit"
        ends = {self._question.good_sha: "good", self._question.bad_sha: "bad", self._fork or "": "fork point"}
        return ends.get(sha, "")


def reading(samples: Sequence[float]) -> Reading | None:
    """Mean and 99 % interval of samples, one per probe; None without any."""
    if not samples:
        return None
    found = level(samples)
    return Reading(mean=found.mean, low=found.low, high=found.high, samples=len(samples))
