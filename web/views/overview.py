"""One bisection: its question, how far it is, what was measured of which commit, and its answer."""

import time
from collections.abc import Iterable, Sequence

from cpubisect.base.metrics import CPU, INSTRUCTIONS
from cpubisect.records import queries
from cpubisect.records.queries import SampleRow
from cpubisect.records.registry import Registry
from cpubisect.records.rows import BisectionRow
from cpubisect.search.events import (
    Attached,
    Attaching,
    BuildStarted,
    Entry,
    Event,
    Joined,
    Latest,
    Next,
    Posterior,
    Price,
    Range,
    Redrawing,
    RegimeChosen,
    Stopped,
    Suspects,
)
from cpubisect.search.line import GRAPH, MAIN, OF_GOOD
from cpubisect.search.verdict import Verdict
from cpubisect.views.bisection import End
from cpubisect.views.measured import searched
from cpubisect.views.other_flags import other_flags
from cpubisect.views.totals import totals
from cpubisect.views.under_way import KINDS, under_way
from cpubisect.web.models import Coming, CommitLine, Overview, Said, Standing

AFTERWARDS = (Stopped, Attached, Attaching)
"""Events that don't mean that a bisection went on."""

LOOKED_AT, SHOWN_LINES = 40, 12
"""Events at the end of the journal, and lines made of them, on the page; the whole of it has a page of its own."""


def overview(registry: Registry, bisection: int, test: str | None = None) -> Overview:
    """A bisection as its page shows it, for one of its tests; raises UserError if there is none with that id."""
    store = registry.store
    row = store.bisection(bisection)
    question = row.question
    shown = test if test in question.tests else question.tests[0]
    state = registry.state(row.id, row.state)
    events = queries.latest_events(store, bisection, shown)
    verdict = row.verdict.tests.get(shown) if row.verdict else None
    told = said(store.last_events(bisection, LOOKED_AT))
    regime = events[RegimeChosen]
    return Overview(
        id=row.id,
        state=state,
        engine=row.engine,
        repository=question.repository.rpartition("/")[2],
        good=End(question.good, question.good_sha),
        bad=End(question.bad, question.bad_sha),
        test=shown,
        tests=list(question.tests),
        parameters=question.parameters[shown],
        given=question.given,
        find=question.find,
        metric=question.metric,
        counted=question.metric.counted,
        regime=regime.regime if regime else None,
        counter=row.counter,
        min_step=question.min_step,
        toolchain=question.toolchain,
        flags=question.flags,
        created=row.created,
        finished=row.finished,
        host=row.host,
        totals=totals(store, row),
        progress=_standing(state, events, told[-1] if told else None, _hosts(registry, bisection, state)),
        verdict=verdict,
        other_flags=other_flags(store, row).get(shown),
        commits=Lines(registry, row, shown, verdict, queries.samples(store, bisection, shown), events).all(),
        said=told[-SHOWN_LINES:],
    )


def said(entries: Iterable[Entry]) -> list[Said]:
    """Lines of the journal for a person; what need not be said is left out."""
    return [
        Said(id=entry.id, at=entry.at, kind=entry.event.kind, text=line, sha=getattr(entry.event, "sha", ""))
        for entry in entries
        if (line := entry.event.sentence)
    ]


def _hosts(registry: Registry, bisection: int, state: str) -> list[str]:
    """What each host does for a bisection that is running, and what waits; empty without a cluster."""
    if state != "running":
        return []
    return under_way(registry.store.events(bisection, kinds=KINDS)).lines(time.time())


def _standing(state: str, latest: Latest, spoken: Said | None, hosts: Sequence[str]) -> Standing:
    def line(kind: type[Event]) -> str:
        event = latest[kind]
        return event.sentence if event else ""

    now = spoken if state == "running" else None
    coming, stopped = latest[Next], latest[Stopped]
    size = _size(latest)
    stopped_at, begun = latest.entry(Stopped), latest.newest(without=AFTERWARDS)
    went_on = stopped_at and begun and stopped_at.id < begun.id
    return Standing(
        now=now.text if now else "",
        building=now is not None and now.kind in (BuildStarted.kind, Redrawing.kind),
        since=now.at if now else None,
        next=Coming(sha=coming.sha, why=coming.why) if coming else None,
        price=line(Price),
        posterior=line(Posterior),
        suspects=line(Suspects),
        classes=size.classes if size else None,
        expected_builds=size.expected_builds if size else None,
        stopped=stopped.why if stopped and not went_on and state == "interrupted" else "",
        hosts=list(hosts),
    )


def _size(latest: Latest) -> Range | Joined | None:
    """What was last said of how many classes there are; of a path inside a merge it says nothing."""
    joined = latest[Joined]
    last = latest.newest(Range, Joined) if joined and not joined.inside else latest.entry(Range)
    return last.event if last and isinstance(last.event, Range | Joined) else None


class Lines:
    """The commits that a bisection built or tried, in the order of the history, each path after the other."""

    def __init__(
        self,
        registry: Registry,
        row: BisectionRow,
        test: str,
        verdict: Verdict | None,
        probes: Sequence[SampleRow],
        latest: Latest,
    ) -> None:
        store, found, regime = registry.store, latest[Range], latest[RegimeChosen]
        self._question = row.question
        self._metric = (verdict and verdict.metric) or (regime.metric if regime else row.question.metric.counted)
        self._culprits = {culprit.sha for culprit in verdict.culprits} if verdict else set()
        self._measured = searched(store, row.id, test, probes)
        self._builds = self._measured.builds(queries.build_lines(store, row.id))
        self._places = queries.places(store, row.id, list(self._builds))
        self._fork = found.fork if found else None

    def all(self) -> list[CommitLine]:
        """Off any path first, then main and good's side, then what merges brought, and what of the whole graphs is on
        none of these."""
        graphs, lines_of_ends = (GRAPH, OF_GOOD[GRAPH]), (MAIN, OF_GOOD[MAIN])
        paths = sorted(
            {path for path, _ in self._places},
            key=lambda path: (path != MAIN, path not in lines_of_ends, path in graphs, path),
        )
        listed = {sha for path, sha in self._places if path not in graphs}
        elsewhere = self._builds.keys() - {sha for _, sha in self._places}
        lines = [self._line("", sha, None, "", None, None) for sha in self._builds if sha in elsewhere]
        for path in paths:
            before: CommitLine | None = None
            at = 0
            here = sorted(
                (place, sha)
                for (name, sha), place in self._places.items()
                if name == path and not (path in graphs and sha in listed)
            )
            for (position, subject), sha in here:
                line = self._line(path, sha, position, subject, before, at)
                lines.append(line)
                at = position
                before = line if self._value(line) is not None else before
        return lines

    def _value(self, line: CommitLine) -> float | None:
        found = line.cpu_us if self._metric == CPU else line.counted
        return found.mean if found else None

    def _line(
        self, path: str, sha: str, position: int | None, subject: str, before: CommitLine | None, at: int | None
    ) -> CommitLine:
        build = self._builds[sha]
        probes = self._measured.probes(sha)
        failed = [probe.error for probe in probes if probe.error]
        line = CommitLine(
            path=path,
            position=position,
            skipped=max(0, (position or 0) - (at or 0) - 1) if at is not None else 0,
            sha=sha,
            subject=subject,
            role=self._role(sha),
            outcome=build.outcome,
            error=build.first_error or (failed[0] if failed and len(failed) == len(probes) else ""),
            equal_to=self._measured.stand_ins.get(sha),
            counted=self._measured.level(sha, self._question.metric.counted),
            instructions=self._measured.level(sha, INSTRUCTIONS),
            cpu_us=self._measured.level(sha, CPU),
            step_percent=None,
            build=build.id,
            made=build.made,
            build_seconds=build.wall_seconds,
            build_cpu_seconds=build.cpu_seconds,
            cache_hits=build.cache_hits,
            cache_misses=build.cache_misses,
            toolchain=" ".join(filter(None, (build.toolchain, build.variant))),
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
