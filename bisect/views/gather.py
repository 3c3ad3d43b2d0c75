"""Reads from the store everything that is told of a bisection."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cpubisect.base.metrics import METRICS
from cpubisect.history.mirrors import public_origin
from cpubisect.records import queries
from cpubisect.records.queries import SampleRow
from cpubisect.records.registry import Registry
from cpubisect.records.rows import BisectionRow, BuildRow
from cpubisect.search.ends import changed_variables
from cpubisect.search.events import RegimeChosen
from cpubisect.views.bisection import Asked, Bisection, Built, End, Recipe
from cpubisect.views.measured import Measured, measured, variables
from cpubisect.views.other_flags import other_flags
from cpubisect.views.totals import totals


def gather(registry: Registry, bisection: int) -> Bisection:
    """Everything known of a bisection, finished or not; raises Missing for an unknown id."""
    store = registry.store
    row = store.bisection(bisection)
    known = asked(registry, row)
    samples = queries.samples(store, bisection)
    builds = store.builds(bisection)
    kinds = {build.variant for build, _ in builds}
    twins = {kind: queries.twins(store, bisection, kind) for kind in kinds}
    by_kind = {kind: _by_test(samples, kind, known.tests, twins[kind]) for kind in kinds}
    subjects = {sha: subject for _, _, sha, _, subject in store.candidates(bisection)}
    chosen = store.told(bisection, RegimeChosen)
    return Bisection(
        **vars(known),
        regime={test: event.regime for test in known.tests for event in chosen if event.is_about(test)},
        counter=row.counter,
        created=row.created,
        finished=row.finished,
        host=row.host,
        verdict=row.verdict,
        variables=changed_variables(*variables(store, bisection, row.question)),
        totals=totals(store, row),
        commits=tuple(
            _built(
                build, made, subjects.get(build.sha, ""), by_kind[build.variant], twins[build.variant].get(build.sha)
            )
            for build, made in builds
        ),
        other_flags=other_flags(store, row),
    )


def _by_test(
    samples: Sequence[SampleRow], kind: str, tests: Sequence[str], twins: Mapping[str, str]
) -> dict[str, Measured]:
    """What the probes of builds of one kind say in each test."""
    own = [probe for probe in samples if probe.variant == kind]
    return {test: measured([probe for probe in own if probe.test == test], twins, kind) for test in tests}


def asked(registry: Registry, row: BisectionRow) -> Asked:
    """A bisection and what it asks."""
    question = row.question
    return Asked(
        id=row.id,
        state=registry.state(row.id, row.state),
        engine=row.engine,
        repository=question.repository,
        origin=public_origin(Path(question.repository)),
        good=End(question.good, question.good_sha),
        bad=End(question.bad, question.bad_sha),
        tests=question.tests,
        parameters=question.parameters,
        given=question.given,
        find=question.find,
        min_step=question.min_step,
        toolchain=question.toolchain,
        metric=question.metric,
        counter_asked=question.counter,
        simulations=question.simulations,
        flags=question.flags,
        first=question.first,
        both_sides=question.both_sides,
        screen=question.screen,
        unsafe_settings=question.unsafe_settings,
    )


def _built(build: BuildRow, made: bool, subject: str, by_test: Mapping[str, Measured], equal_to: str | None) -> Built:
    own = {test: known.own.get(build.sha, ()) for test, known in by_test.items()}
    failed = next((probe.error for probes in own.values() for probe in probes if probe.error), "")
    return Built(
        sha=build.sha,
        subject=subject,
        outcome=build.outcome,
        first_error=build.first_error or failed,
        toolchain=build.recipe["toolchain"]["name"],
        recipe=_recipe(build.recipe),
        repairs=build.repairs,
        made=made,
        build_seconds=round(build.wall_seconds, 1),
        build_cpu_seconds=round(build.cpu_seconds, 1),
        cache_hits=build.cache_hits,
        cache_misses=build.cache_misses,
        sandbox=build.sandbox,
        log=build.log,
        values={test: _values(probes) for test, probes in own.items()},
        equal_to=equal_to,
        notes={test: notes for test, probes in own.items() if (notes := _notes(probes))},
    )


def _values(probes: Sequence[SampleRow]) -> dict[str, tuple[float, ...]]:
    values = {m: tuple(v for probe in probes for v in probe.values.get(m, ())) for m in METRICS}
    return {metric: found for metric, found in values.items() if found}


def _notes(probes: Sequence[SampleRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(probe.note for probe in probes if probe.note))


def _recipe(recipe: Mapping[str, Any]) -> Recipe:
    edits = [f"{edit['file']}: {edit['why']}" for edit in recipe.get("edits", ())]
    libraries = [_library(one) for one in recipe.get("libraries", ())]
    return Recipe.from_json(
        {**recipe, "compiler": recipe["toolchain"]["release"], "edits": edits, "libraries": libraries}
    )


def _library(library: Mapping[str, str]) -> str:
    """Where a library was taken from."""
    if library["carried"]:
        return f"{library['name']} of the tree, {library['carried']}"
    return (
        f"{library['name']} of the host, {library['host']}"
        if library["host"]
        else (f"{library['name']}, SHA-256 {library['sha256']}")
    )
