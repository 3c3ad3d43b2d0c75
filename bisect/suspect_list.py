"""The candidates of a bisection in the order of suspicion, with the reasons and what was measured of each."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from cpubisect import queries
from cpubisect.axis import values_of
from cpubisect.ends import Regime
from cpubisect.errors import Missing
from cpubisect.prior import MAIN, strongest
from cpubisect.queries import BuildLine, SampleRow
from cpubisect.session import Session
from cpubisect.store import BisectionRow, Store
from cpubisect.verdict import of_test
from cpubisect.workloads.probe import INSTRUCTIONS

Json = dict[str, Any]


def gather(session: Session, bisection: int, inside: str = "", limit: int | None = None) -> Json:
    """The ranking of the path from good to bad, or of the one inside the merge whose sha begins with `inside`, or the
    first `limit` of it.

    `test` is the one whose profiles it is from. Each of `suspects` has its `rank`, `sha`, `subject`, prior `weight` (a
    ratio, all add up to 1), `because` (each reason's part of that, the greatest first), its `cost` in instructions per
    query (None if unmeasured) and `found`: what is known of it, empty if nothing is. Raises Missing if nothing is
    ranked, and says why.
    """
    store = session.store
    row = store.bisection(bisection)
    lengths = queries.lengths(store, bisection)
    path = _path_named(row, list(lengths), inside)
    ranked = store.suspects(bisection, path, limit)
    if not ranked:
        raise _nothing_ranked(session, row, path, lengths.get(path, 0) - 1)
    places = queries.positions(store, bisection, path, [found.sha for found in ranked])
    test = _ranked_test(session, row, path)
    measured = _Measured(store, row, test, path)
    return {
        "id": bisection,
        "state": session.state(row.id, row.state),
        "test": test,
        "inside": None if path == MAIN else path,
        "candidates": queries.ranked(store, bisection, path),
        "suspects": [
            {
                "rank": rank,
                "sha": found.sha,
                "subject": places[found.sha][1] if found.sha in places else "",
                "weight": found.weight,
                "because": {reason: found.because[reason] for reason in strongest(found.because)},
                "cost": measured.cost(found.sha),
                "found": measured.found(found.sha),
            }
            for rank, found in enumerate(ranked, start=1)
        ],
    }


def _ranked_test(session: Session, row: BisectionRow, path: str) -> str:
    """The test whose profiles the ranking of a path is from: of several, the last that was searched there."""
    told = [
        data.get("test")
        for _, _, _, data in session.store.events(row.id, kinds=("suspects",))
        if [MAIN, *data.get("inside", ())][-1] == path
    ]
    asked: list[str] = row.question.get("tests") or [row.question["test"]]
    return (told[-1] if told else None) or asked[0]


def _path_named(row: BisectionRow, names: Sequence[str], inside: str) -> str:
    if not inside:
        return MAIN
    merges = list(dict.fromkeys(name for name in names if name != MAIN))
    fitting = [merge for merge in merges if merge.startswith(inside.lower())]
    if len(fitting) != 1:
        entered = f"it entered {', '.join(merge[:12] for merge in merges)}" if merges else "it entered no merge"
        raise Missing(f"bisection {row.id} did not look inside one merge {inside!r}", entered)
    return fitting[0]


def _nothing_ranked(session: Session, row: BisectionRow, path: str, candidates: int) -> Missing:
    """Why there is no ranking."""
    number = row.id
    if row.regime == Regime.NOISY or row.counter == "none":
        return Missing(
            f"bisection {number} searches on CPU time, which has no profile by function to find suspects in",
            "a test that shows in instructions has one: --metric instructions",
        )
    if row.counter not in (None, "callgrind"):
        return Missing(
            f"bisection {number} counts by {row.counter}, which gives no profile by function to find suspects in",
            f"`bisect report {number}` shows what it found",
        )
    if row.verdict and row.regime is None and not session.store.events(number, kinds=("regime",)):
        return Missing(
            f"bisection {number} ended before it needed suspects ({row.verdict['kind']})",
            f"`bisect report {number}` says why",
        )
    if session.store.events(number, kinds=("suspects",)) and path == MAIN:
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


class _Measured:
    """What a bisection found out about single commits of a path."""

    def __init__(self, store: Store, row: BisectionRow, test: str, path: str) -> None:
        # The last class of a path is ranked by its first commit, and built at its last.
        self._ends = queries.last_class(store, row.id, path)
        self._builds: dict[str, BuildLine] = {build.sha: build for build in queries.build_lines(store, row.id)}
        samples = queries.samples(store, row.id, test)
        self._counted = values_of(samples, INSTRUCTIONS)
        for sha, measured in (*queries.twins(store, row.id).items(), *self._ends.items()):
            if counted := self._counted.get(measured):
                self._counted.setdefault(sha, counted)
        self._probes: dict[int, list[SampleRow]] = {}
        for probe in samples:
            self._probes.setdefault(probe.build, []).append(probe)
        verdict = of_test(row.verdict, test)
        self._culprits: Mapping[str, Json] = {culprit["sha"]: culprit for culprit in verdict.get("culprits", ())}
        self._groups: Sequence[Json] = verdict.get("groups", ())
        self._metric = str(verdict.get("metric") or INSTRUCTIONS)
        self._steps = {
            data["high"]: data
            for _, _, _, data in store.events(row.id, kinds=("step-found",))
            if data.get("test") in (None, test)
        }

    def cost(self, sha: str) -> float | None:
        """Mean instructions per query, over all that were counted with the question's own settings, of the commit or
        of the one that was measured for it."""
        counted = self._counted.get(sha)
        return fmean(counted) if counted else None

    def found(self, sha: str) -> str:
        """Culprit, step, or why it could not be observed."""
        if culprit := self._culprits.get(sha):
            return f"culprit, {culprit['steps'][self._metric]['percent']:+.2f} %"
        for group in self._groups:
            if sha in group["commits"]:
                return f"one of {len(group['commits'])} for {group['percent']:+.2f} %"
        if step := self._steps.get(sha) or self._steps.get(self._ends.get(sha, sha)):
            return f"step of {step['percent']:+.2f} % at or before it"
        build = self._builds.get(sha)
        if build is None:
            return ""
        if build.outcome != "built":
            return f"unobservable: {build.first_error or build.outcome}"
        probes = self._probes.get(build.id, [])
        if probes and all(probe.error for probe in probes):
            return f"unobservable: probe: {probes[-1].error}"
        return ""
