"""A bisection as data, and in every form in which it leaves this program."""

import io
import json
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from cpubisect import queries
from cpubisect.lab import Purpose
from cpubisect.queries import SampleRow
from cpubisect.question import Question
from cpubisect.report_markdown import as_markdown
from cpubisect.report_text import as_text
from cpubisect.report_words import name_of
from cpubisect.repositories import public_origin
from cpubisect.session import Session
from cpubisect.store import BisectionRow, BuildRow
from cpubisect.variables import changed_variables
from cpubisect.verdict import finite
from cpubisect.workloads.probe import METRICS

Json = dict[str, Any]

RECIPE_PARTS = ("system", "std", "cflags", "cxxflags", "options", "environment", "forced_includes", "patches")
"""Fields of a recipe that decide the binary and are told as they are."""


class Form(StrEnum):
    """What a report can be; `bundle` is a tar.gz of all the others with what is needed to measure again."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    SVG = "svg"
    PNG = "png"
    BUNDLE = "bundle"

    @property
    def binary(self) -> bool:
        """Whether a terminal cannot show it."""
        return self in (Form.PNG, Form.BUNDLE)

    @property
    def media_type(self) -> str:
        """What its bytes are, for a browser or a tracker."""
        return MEDIA_TYPES[self]


MEDIA_TYPES = {
    Form.TEXT: "text/plain; charset=utf-8",
    Form.MARKDOWN: "text/markdown; charset=utf-8",
    Form.HTML: "text/html; charset=utf-8",
    Form.JSON: "application/json",
    Form.SVG: "image/svg+xml",
    Form.PNG: "image/png",
    Form.BUNDLE: "application/gzip",
}

ENDINGS = {Form.TEXT: "txt", Form.MARKDOWN: "md", Form.BUNDLE: "tar.gz"}
"""How the names of files end, where not in the form itself."""


def render(session: Session, bisection: int, form: Form) -> bytes:
    """The report in one form, finished or not; raises UserError for an unknown id."""
    # What draws takes a second to import; whoever asks for text does not wait for it.
    match form:
        case Form.BUNDLE:
            from cpubisect.bundle import write

            file = io.BytesIO()
            write(session, bisection, file)
            return file.getvalue()
        case Form.SVG | Form.PNG:
            from cpubisect.report_charts import picture_of

            return picture_of(session, bisection, png=form is Form.PNG)
        case Form.HTML:
            from cpubisect.report_page import as_html

            return as_html(session, bisection, gather(session, bisection)).encode(errors="replace")
        case Form.JSON:
            return (json.dumps(gather(session, bisection), indent=2) + "\n").encode()
        case Form.MARKDOWN:
            return as_markdown(gather(session, bisection)).encode(errors="replace")
        case Form.TEXT:
            return as_text(gather(session, bisection)).encode(errors="replace")


def file_name(session: Session, bisection: int, form: Form) -> str:
    """What a report's file is called where its name is left to us; raises UserError for an unknown id."""
    row = session.store.bisection(bisection)
    return f"{name_of(row.id, row.verdict)}.{ENDINGS.get(form, form.value)}"


def gather(session: Session, bisection: int) -> Json:
    """Everything known of a bisection, finished or not, as plain data; raises UserError for an unknown id."""
    store = session.store
    row = store.bisection(bisection)
    question = row.question
    tests = Question.from_json(question).tests
    builds = store.builds(bisection)
    samples = queries.samples(store, bisection)
    probe_count, probe_seconds = store.probe_count(bisection)
    candidates = store.candidates(bisection)
    totals = {
        "candidates": max(0, len({sha for path, _, sha, _, _ in candidates if path == "main"}) - 1),
        "candidates_inside_merges": len({(path, sha) for path, n, sha, _, _ in candidates if path != "main" and n}),
        "builds": len(builds),
        "builds_made": sum(made for _, made in builds),
        "builds_failed": sum(build.outcome != "built" for build, _ in builds),
        "probes": probe_count,
        "build_seconds": round(sum(build.wall_seconds for build, _ in builds), 1),
        "build_cpu_seconds": round(sum(build.cpu_seconds for build, _ in builds), 1),
        "cache_hits": sum(build.cache_hits for build, _ in builds),
        "cache_misses": sum(build.cache_misses for build, _ in builds),
        "probe_seconds": round(probe_seconds, 1),
        "elapsed_seconds": round((row.finished or time.time()) - row.created, 1),
    }
    equal = queries.twins(store, bisection)
    subjects = {sha: subject for _, _, sha, _, subject in candidates}
    ends = [
        store.variables(bisection, question[end], tests[0], (Purpose.SEARCH, Purpose.CLOCK))
        for end in ("good_sha", "bad_sha")
    ]
    data: Json = {
        "id": row.id,
        "state": session.state(row.id, row.state),
        **asked(row),
        "regime": row.regime,
        "counter": row.counter,
        "created": row.created,
        "finished": row.finished,
        "host": row.host,
        "verdict": row.verdict,
        "variables": [
            {"name": found.name, "before": found.before, "after": found.after} for found in changed_variables(*ends)
        ],
        "totals": totals,
        "commits": [
            {**_commit(build, subjects.get(build.sha, ""), samples, tests), "equal_to": equal.get(build.sha)}
            for build, _ in builds
        ],
    }
    plain: Json = finite(data)
    return plain


def asked(row: BisectionRow) -> Json:
    """What a bisection asks, as plain data."""
    question = row.question
    tests = Question.from_json(question).tests
    return {
        "engine": row.engine,
        "repository": question["repository"],
        "origin": public_origin(Path(question["repository"])),
        "good": {"name": question["good"], "sha": question["good_sha"]},
        "bad": {"name": question["bad"], "sha": question["bad_sha"]},
        "test": question["test"],
        **({"tests": list(tests)} if len(tests) > 1 else {}),
        "parameters": question["parameters"],
        "given": question["given"],
        "find": question["find"],
        "min_step": question["min_step"],
        "toolchain": question["toolchain"],
        "metric": question["metric"],
        "counter_asked": question.get("counter"),
    }


def _values(probes: Sequence[SampleRow]) -> Json:
    values = {m: [v for probe in probes for v in probe.values.get(m, ())] for m in METRICS}
    return {metric: found for metric, found in values.items() if found}


def _commit(build: BuildRow, subject: str, probes: Sequence[SampleRow], tests: Sequence[str]) -> Json:
    own = [probe for probe in probes if probe.sha == build.sha and Purpose.counts(probe.purpose)]
    by_test = {test: _values([probe for probe in own if probe.test == test]) for test in tests}
    return {
        "sha": build.sha,
        "subject": subject,
        "outcome": build.outcome,
        "first_error": build.first_error or next((probe.error for probe in own if probe.error), ""),
        "toolchain": build.recipe["toolchain"]["name"],
        "recipe": _recipe(build.recipe),
        "repairs": build.repairs,
        "build_seconds": round(build.wall_seconds, 1),
        "build_cpu_seconds": round(build.cpu_seconds, 1),
        "cache_hits": build.cache_hits,
        "cache_misses": build.cache_misses,
        "log": build.log,
        "values": by_test if len(tests) > 1 else by_test[tests[0]],
    }


def _recipe(recipe: Mapping[str, Any]) -> Json:
    told = {part: recipe[part] for part in RECIPE_PARTS if recipe.get(part)}
    edits = [f"{edit['file']}: {edit['why']}" for edit in recipe.get("edits", ())]
    return {"compiler": recipe["toolchain"]["release"], "version": recipe["version"], **told, "edits": edits}
