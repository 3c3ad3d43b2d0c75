"""The candidates of a bisection in the order of suspicion, with the reasons and what was measured of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from cpubisect.base.errors import Missing
from cpubisect.base.metrics import Counter
from cpubisect.base.plain import Plain
from cpubisect.records import queries
from cpubisect.records.queries import SampleRow
from cpubisect.records.registry import Registry
from cpubisect.records.rows import BisectionRow
from cpubisect.records.store import Store
from cpubisect.search import events
from cpubisect.search.ends import Regime
from cpubisect.search.line import GRAPH, MAIN, OF_GOOD
from cpubisect.search.suspects import strongest
from cpubisect.views.measured import searched


@dataclass(frozen=True)
class Suspect(Plain):
    """A candidate's place in the order of suspicion: its prior `weight`, a ratio (all add up to 1), of which each
    reason has the part in `because`, the greatest first; its `cost` in what is counted, None if unmeasured; and what
    was `found` of it, empty if nothing was."""

    rank: int
    sha: str
    subject: str
    weight: float
    because: Mapping[str, float]
    cost: float | None
    found: str


@dataclass(frozen=True)
class Ranking(Plain):
    """The first `suspects` among the `candidates` between good and bad, with those that merges brought where these were
    chased, or of what the merge `inside` brought. `test` is the one whose profiles the order is from, `counted` the
    metric that they are of."""

    id: int
    state: str
    test: str
    counted: str
    inside: str | None
    candidates: int
    suspects: tuple[Suspect, ...]


def ranking(registry: Registry, bisection: int, inside: str = "", limit: int | None = None) -> Ranking:
    """The ranking of all between good and bad, or of what is inside the merge whose sha begins with `inside`, or the
    first `limit` of it. Raises Missing if nothing is ranked, and says why."""
    store = registry.store
    row = store.bisection(bisection)
    lengths = queries.lengths(store, [bisection]).get(bisection, {})
    path = _path_named(row, list(lengths), inside)
    if path == MAIN and queries.ranked(store, bisection, GRAPH):
        path = GRAPH
    ranked = store.suspects(bisection, path, limit)
    if not ranked:
        raise _nothing_ranked(registry, row, path, lengths.get(path, 0) - 1)
    places = queries.positions(store, bisection, path, [found.sha for found in ranked])
    test = _ranked_test(registry, row, path)
    known = _Known(store, row, test, path)
    return Ranking(
        id=bisection,
        state=registry.state(row.id, row.state),
        test=test,
        counted=row.question.metric.counted,
        inside=None if path in (MAIN, GRAPH) else path,
        candidates=queries.ranked(store, bisection, path),
        suspects=tuple(
            Suspect(
                rank=rank,
                sha=found.sha,
                subject=places[found.sha][1] if found.sha in places else "",
                weight=found.weight,
                because={reason: found.because[reason] for reason in strongest(found.because)},
                cost=known.cost(found.sha),
                found=known.found(found.sha),
            )
            for rank, found in enumerate(ranked, start=1)
        ),
    )


def _ranked_test(registry: Registry, row: BisectionRow, path: str) -> str:
    """The test whose profiles the ranking of a path is from: of several, the last that was searched there."""
    of = MAIN if path == GRAPH else path
    told = [event.test for event in registry.store.told(row.id, events.Suspects) if [MAIN, *event.inside][-1] == of]
    return (told[-1] if told else None) or row.question.tests[0]


def _path_named(row: BisectionRow, names: Sequence[str], inside: str) -> str:
    if not inside:
        return MAIN
    merges = list(dict.fromkeys(name for name in names if name not in (MAIN, GRAPH, *OF_GOOD.values())))
    fitting = [merge for merge in merges if merge.startswith(inside.lower())]
    if len(fitting) != 1:
        entered = f"it entered {', '.join(merge[:12] for merge in merges)}" if merges else "it entered no merge"
        raise Missing(f"bisection {row.id} did not look inside one merge {inside!r}", entered)
    return fitting[0]


def _nothing_ranked(registry: Registry, row: BisectionRow, path: str, candidates: int) -> Missing:
    """Why there is no ranking."""
    number = row.id
    chosen = registry.store.told(number, events.RegimeChosen)
    if row.counter == Counter.NONE or (chosen and all(event.regime == Regime.NOISY for event in chosen)):
        return Missing(
            f"bisection {number} searches on CPU time, which has no profile by function to find suspects in",
            "a test that shows in instructions has one: --metric instructions",
        )
    if row.counter is not None and not Counter(row.counter).tells_functions:
        return Missing(
            f"bisection {number} counts by {row.counter}, which gives no profile by function to find suspects in",
            f"`bisect report {number}` shows what it found",
        )
    if row.verdict and not chosen:
        return Missing(
            f"bisection {number} ended before it needed suspects ({row.verdict.kind})",
            f"`bisect report {number}` says why",
        )
    if registry.store.told(number, events.Suspects) and path == MAIN:
        return Missing(
            f"bisection {number} is older than the record of suspects", f"`bisect log {number}` shows the first five"
        )
    if row.verdict:
        return Missing(
            f"bisection {number} ranked nothing there: {candidates} candidates need no order, or a changed setting "
            "explained the difference",
            f"`bisect report {number}` shows what it found",
        )
    return Missing(
        f"bisection {number} has not got that far: good and bad are compared first",
        f"`bisect status {number}` shows how far it is",
    )


class _Known:
    """What a bisection found out about single commits of a path."""

    def __init__(self, store: Store, row: BisectionRow, test: str, path: str) -> None:
        # The last class of a path is ranked by its first commit, and built at its last.
        self._ends = queries.last_class(store, row.id, path)
        samples = queries.samples(store, row.id, test)
        self._measured = searched(store, row.id, test, samples, self._ends)
        self._builds = self._measured.builds(queries.build_lines(store, row.id))
        self._counted = row.question.metric.counted
        self._probes: dict[int, list[SampleRow]] = {}
        for probe in samples:
            self._probes.setdefault(probe.build, []).append(probe)
        verdict = row.verdict.tests.get(test) if row.verdict else None
        self._culprits = {culprit.sha: step for culprit, step in verdict.found} if verdict else {}
        self._groups = verdict.groups if verdict else ()
        steps = (event for event in store.told(row.id, events.StepFound) if event.is_about(test))
        self._steps = {event.high: event for event in steps if event.variant == self._measured.variant}

    def cost(self, sha: str) -> float | None:
        """The mean count per query, over all that were made with the question's own settings, of the commit or of the
        one that was measured for it."""
        counted = self._measured.values(sha, self._counted)
        return fmean(counted) if counted else None

    def found(self, sha: str) -> str:
        """Culprit, step, or why it could not be observed."""
        if own := self._culprits.get(sha):
            return f"culprit, {own.percent:+.2f} %"
        for group in self._groups:
            if sha in group.commits:
                return f"one of {len(group.commits)} for {group.percent:+.2f} %"
        if step := self._steps.get(sha) or self._steps.get(self._ends.get(sha, sha)):
            return f"step of {step.percent:+.2f} % at or before it"
        build = self._builds.get(sha)
        if build is None or build.variant != self._measured.variant:
            return ""
        if build.outcome != "built":
            return f"unobservable: {build.first_error or build.outcome}"
        probes = self._probes.get(build.id, [])
        if probes and all(probe.error for probe in probes):
            return f"unobservable: probe: {probes[-1].error}"
        return ""
