"""A bisection as data, as text for a terminal or a plain bug tracker, and as Markdown."""

import shlex
import textwrap
import time
from collections.abc import Mapping, Sequence
from typing import Any

from cpubisect.lab import Purpose
from cpubisect.question import Question
from cpubisect.session import Session
from cpubisect.store import BuildRow, ProbeRow
from cpubisect.verdict import finite
from cpubisect.workloads.probe import METRICS

Json = dict[str, Any]
WIDTH = 76
TOP_FUNCTIONS = 12


def gather(session: Session, bisection: int) -> Json:
    """Everything known of a bisection, finished or not, as plain data; raises UserError for an unknown id."""
    store = session.store
    row = store.bisection(bisection)
    question = row.question
    tests = Question.from_json(question).tests
    builds = store.builds(bisection)
    probes = store.probes(bisection)
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
    equal = {event["sha"]: event["twin"] for _, _, kind, event in store.events(bisection) if kind == "equal-code"}
    subjects = {sha: subject for _, _, sha, _, subject in candidates}
    data: Json = {
        "id": row.id,
        "state": session.state(row.id, row.state),
        "engine": row.engine,
        "repository": question["repository"],
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
        "regime": row.regime,
        "counter": row.counter,
        "created": row.created,
        "finished": row.finished,
        "host": row.host,
        "verdict": row.verdict,
        "totals": totals,
        "commits": [
            {**_commit(build, subjects.get(build.sha, ""), probes, tests), "equal_to": equal.get(build.sha)}
            for build, _ in builds
        ],
    }
    plain: Json = finite(data)
    return plain


def _of_search(purpose: str) -> bool:
    return purpose == Purpose.SEARCH or purpose.startswith(Purpose.CLOCK)


def _values(probes: Sequence[ProbeRow]) -> Json:
    values = {m: [v for probe in probes for v in probe.values.get(m, ())] for m in METRICS}
    return {metric: found for metric, found in values.items() if found}


def _commit(build: BuildRow, subject: str, probes: Sequence[ProbeRow], tests: Sequence[str]) -> Json:
    own = [probe for probe in probes if probe.build == build.id and _of_search(probe.purpose)]
    by_test = {test: _values([probe for probe in own if probe.test == test]) for test in tests}
    return {
        "sha": build.sha,
        "subject": subject,
        "outcome": build.outcome,
        "first_error": build.first_error or next((probe.error for probe in own if probe.error), ""),
        "toolchain": build.recipe["toolchain"]["name"],
        "repairs": build.repairs,
        "build_seconds": round(build.wall_seconds, 1),
        "build_cpu_seconds": round(build.cpu_seconds, 1),
        "cache_hits": build.cache_hits,
        "cache_misses": build.cache_misses,
        "log": build.log,
        "values": by_test if len(tests) > 1 else by_test[tests[0]],
    }


def as_text(data: Json) -> str:
    """Plain text, at most 76 columns wide."""
    lines = [*_wrapped(_headline(data)), ""]
    for title, rows in _sections(data):
        lines += [title, *(f"  {row}".rstrip() for row in rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def as_markdown(data: Json) -> str:
    """Markdown for a tracker that shows it: tables as code blocks keep their columns."""
    lines = [f"**{_headline(data)}**", ""]
    for title, rows in _sections(data):
        lines += [f"### {title}", "", "```", *rows, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _headline(data: Json) -> str:
    verdict = data["verdict"]
    if verdict is None or data["state"] != "finished":
        return f"bisection {data['id']} is {data['state']}: no answer yet"
    if "tests" in verdict:
        return "; ".join(f"{test}: {own['kind']}" for test, own in verdict["tests"].items())
    return f"{verdict['kind']}: {verdict['summary']}"


def verdicts(data: Json) -> dict[str, Json]:
    """The verdicts there are, each by what stands before it: the test's name and a colon if there are several."""
    verdict = data["verdict"] or {}
    return {f"{test}: ": found for test, found in verdict["tests"].items()} if "tests" in verdict else {"": verdict}


def _sections(data: Json) -> list[tuple[str, list[str]]]:
    sections = [("Question", _question(data))]
    for name, verdict in verdicts(data).items():
        sections += [(f"{name}{title}", rows) for title, rows in _answer(verdict, told=bool(name))]
    if data["commits"]:
        for test in data.get("tests", [""]):
            commits = [{**c, "values": c["values"][test]} for c in data["commits"]] if test else data["commits"]
            sections.append((f"{test}: Commits measured" if test else "Commits measured", _commits(commits)))
    sections.append(("Cost", _cost(data["totals"])))
    sections.append(("To reproduce", _continued(reproduce(data))))
    return sections


def _answer(verdict: Json, *, told: bool) -> list[tuple[str, list[str]]]:
    """What is to be said of one test's verdict; `told` if that includes the verdict itself."""
    sections = [("Answer", _wrapped(f"{verdict['kind']}: {verdict['summary']}", WIDTH - 2))] if told else []
    if verdict.get("ends"):
        sections.append(("Good against bad", _steps(verdict["ends"])))
    for culprit in verdict.get("culprits", ()):
        sections.append((f"Culprit {culprit['sha'][:12]}", _culprit(culprit)))
    for group in verdict.get("groups", ()):
        sections.append((f"One of {len(group['commits'])} commits", _group(group)))
    if verdict.get("notes"):
        sections.append(("Notes", [line for note in verdict["notes"] for line in _wrapped(note, WIDTH - 2)]))
    return sections


def _question(data: Json) -> list[str]:
    host = data["host"]
    rows = [
        f"engine     {data['engine']}, test {data['test']}",
        f"good       {data['good']['name']} ({data['good']['sha'][:12]})",
        f"bad        {data['bad']['name']} ({data['bad']['sha'][:12]})",
        f"searched   {data['find']}, metric {data['metric']}, counter {data['counter']}",
        f"           regime {data['regime'] or '-'}",
    ]
    given = {"": data["parameters"]}
    if "tests" in data:
        given = {f"{test}: ": own for test, own in data["parameters"].items()}
    texts = [("settings", test + " ".join(f"{k}={v}" for k, v in sorted(own.items()))) for test, own in given.items()]
    texts.append(("host", ", ".join(f"{k} {v}" for k, v in host.items() if v)))
    for key, text in texts:
        rows += [f"{'' if n else key:<11}{line}" for n, line in enumerate(_wrapped(text, WIDTH - 13))]
    return rows


def _steps(steps: Mapping[str, Json]) -> list[str]:
    rows = [f"{'metric':<24}{'step':>10}   {'99 % interval':>22}"]
    for metric in METRICS:
        if metric in steps:
            found = steps[metric]
            interval = f"[{_signed(found['low'])}, {_signed(found['high'])}]"
            rows.append(f"{metric:<24}{_signed(found['percent']):>8} %   {interval:>20} %")
    return rows


def _culprit(culprit: Json) -> list[str]:
    rows = [
        *_wrapped(culprit["subject"], WIDTH - 2),
        f"commit  {culprit['sha']}",
        f"parent  {culprit['parent']}",
        f"author  {culprit['author']}, {culprit['date']}",
    ]
    rows += [f"inside  merge {merge}" for merge in culprit["inside"]]
    if culprit["share"] is not None:
        rows.append(f"share   {culprit['share'] * 100:.0f} % of the whole difference between good and bad")
    if culprit.get("probability") is not None:
        rows.append(f"place   P = {culprit['probability']:.3f} by the search, before it was confirmed")
    if culprit["note"]:
        rows += _wrapped(culprit["note"], WIDTH - 2)
    rows += ["", *_steps(culprit["steps"])]
    if culprit["functions"]:
        rows += ["", f"{'before':>12}{'after':>12}{'change':>12}  function (instructions/query, self)"]
        for change in culprit["functions"][:TOP_FUNCTIONS]:
            before, after = change["before"], change["after"]
            name = _clipped(change["function"], WIDTH - 40)
            rows.append(f"{before:>12,.1f}{after:>12,.1f}{after - before:>+12,.1f}  {name}")
    return rows


def _group(group: Json) -> list[str]:
    rows = _wrapped(
        f"the step of {group['percent']:+.2f} % is after {group['after'][:12]} and there at "
        f"{group['until'][:12]}; {group['why']}",
        WIDTH - 2,
    )
    shown = group["commits"][:20]
    rows += shown
    if len(group["commits"]) > len(shown):
        rows.append(f"… and {len(group['commits']) - len(shown)} more (--format json lists them all)")
    return rows


def _commits(commits: Sequence[Json]) -> list[str]:
    rows = [f"{'commit':<13}{'instr/query':>13}{'cpu us/q':>10}{'build s':>9}  remarks"]
    for commit in commits:
        values = commit["values"]
        count = values.get(METRICS[0])
        clock = values.get(METRICS[1])
        remarks = []
        if commit["outcome"] != "built":
            remarks.append(f"{commit['outcome']}: {commit['first_error']}")
        elif commit["first_error"]:
            remarks.append(f"probe: {commit['first_error']}")
        if commit["equal_to"]:
            remarks.append(f"code of {commit['equal_to'][:12]}")
        if commit["repairs"]:
            remarks.append(f"{len(commit['repairs'])} repairs")
        rows.append(
            f"{commit['sha'][:12]:<13}"
            f"{f'{sum(count) / len(count):,.0f}' if count else '-':>13}"
            f"{f'{min(clock):,.2f}' if clock else '-':>10}"
            f"{commit['build_seconds']:>9,.1f}  {_clipped(', '.join(remarks), 26)}"
        )
    return rows


def _cost(totals: Json) -> list[str]:
    return [
        f"{totals['candidates']} candidates, {totals['candidates_inside_merges']} more inside merges",
        f"{totals['builds']} builds, {totals['builds_made']} made here, {totals['builds_failed']} failed:",
        f"{totals['build_seconds']:,.0f} s wall, {totals['build_cpu_seconds']:,.0f} s CPU;",
        f"compiles: {totals['cache_hits']} from the cache, {totals['cache_misses']} made",
        f"{totals['probes']} probes: {totals['probe_seconds']:,.0f} s wall; elapsed {totals['elapsed_seconds']:,.0f} s",
    ]


def reproduce(data: Json) -> list[str]:
    """The words of the command that asks the same question again."""
    words = ["bisect", "start", data["good"]["sha"], data["bad"]["sha"]]
    words += [word for test in data.get("tests", [data["test"]]) for word in ("--test", test)]
    words += ["--repo", data["repository"], "--engine", data["engine"]]
    if data["find"] != "regression":
        words += ["--find", data["find"]]
    if data["metric"] != "auto":
        words += ["--metric", data["metric"]]
    for option, name in (("--min-step", "min_step"), ("--toolchain", "toolchain")):
        if data[name] is not None:
            words += [option, str(data[name])]
    for key, value in sorted(data["given"].items()):
        words += ["--set", f"{key}={value}"]
    return words


def _continued(words: Sequence[str]) -> list[str]:
    """A command over several lines, broken between its words only."""
    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 6:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _wrapped(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
