"""PURE: what a report says, section by section; the same in every form."""

from collections.abc import Mapping, Sequence
from typing import Any

from cpubisect.report_blocks import Block, Code, Column, Facts, Paragraph, Section, Table, clean, facts
from cpubisect.report_builds import builds
from cpubisect.report_finding import finding
from cpubisect.report_words import called, command, reproduce, verdicts
from cpubisect.workloads.probe import METRICS

Json = dict[str, Any]

TOP_FUNCTIONS = 15
MOST_FILES = 20
MOST_VARIABLES = 40
MOST_OF_GROUP = 20
LEAST_SHOWN = 0.1
"""Instructions per query: a smaller change of a function would be shown as none."""


def opening(data: Json) -> list[str]:
    """The answer in sentences."""
    return finding(clean(data))


def sections(data: Json) -> list[Section]:
    """Everything after the opening, the answer's details first."""
    data = clean(data)
    return [section for name, culprit in culprits(data) for section in about(culprit, name)] + rest(data)


def culprits(data: Json) -> list[tuple[str, Json]]:
    """All culprits, each with what stands before its titles."""
    return [(name, found) for name, verdict in verdicts(data).items() for found in verdict.get("culprits", ())]


def rest(data: Json) -> list[Section]:
    """Everything but the culprits."""
    data = clean(data)
    found = [section for name, verdict in verdicts(data).items() for section in _answer(name, verdict)]
    if data.get("variables"):
        found.append(Section("Server variables that differ from good to bad", (_variables(data["variables"]),)))
    found += builds(data)
    found += _commits(data)
    found.append(Section("Question", (_question(data),)))
    found.append(Section("Host", (Facts(tuple((str(k), str(v)) for k, v in data["host"].items() if v)),)))
    found.append(Section("What it took", (_cost(data["totals"]),)))
    found.append(Section("To reproduce", _reproduce(data)))
    return found


def _answer(name: str, verdict: Json) -> list[Section]:
    """What else is to be said of one test's verdict, its `name` before each title."""
    found = []
    for group in verdict.get("groups", ()):
        found.append(Section(f"{name}One of {len(group['commits'])} commits", tuple(_group(group))))
    if verdict.get("defaults"):
        rows = tuple((one["variable"], one["good"], one["bad"]) for one in verdict["defaults"])
        columns = (Column("variable", loose=True), Column("good", loose=True), Column("bad", loose=True))
        found.append(Section(f"{name}Defaults that explain the step", (Table(columns, rows),)))
    if verdict.get("ends"):
        found.append(Section(f"{name}Good against bad", (steps(verdict["ends"]),)))
    if verdict.get("notes"):
        found.append(Section(f"{name}Notes", tuple(Paragraph(note) for note in verdict["notes"])))
    return found


def about(culprit: Json, name: str = "", most_functions: int = TOP_FUNCTIONS) -> list[Section]:
    """All there is to say of one culprit, with `name` before each title."""
    short = culprit["sha"][:12]
    blocks: list[Block] = [Paragraph(culprit["subject"]), _identity(culprit)]
    if culprit["note"]:
        blocks.append(Paragraph(culprit["note"]))
    found = [Section(f"{name}Culprit {short}", (*blocks, steps(culprit["steps"])))]
    if culprit["functions"]:
        title = f"{name}Functions that changed with {short}"
        found.append(Section(title, (functions(culprit["functions"][:most_functions]),)))
    if culprit.get("variables"):
        title = f"{name}Server variables that changed with {short}"
        found.append(Section(title, (_variables(culprit["variables"]),)))
    if culprit.get("files"):
        found.append(Section(f"{name}Files changed by {short}", (_files(culprit),)))
    if culprit.get("message"):
        found.append(Section(f"{name}Message of {short}", (Code(culprit["message"]),)))
    return found


def steps(found: Mapping[str, Json]) -> Table:
    """The change in every metric that was measured."""
    columns = (Column("metric"), Column("step", right=True), Column("99 % interval", right=True))
    rows = [
        (
            metric,
            f"{_signed(found[metric]['percent'])} %",
            f"[{_signed(found[metric]['low'])}, {_signed(found[metric]['high'])}] %",
        )
        for metric in METRICS
        if metric in found
    ]
    return Table(columns, tuple(rows))


def functions(changes: Sequence[Json]) -> Table:
    """Self cost of functions, before and after."""
    columns = (
        *(Column(title, right=True) for title in ("before", "after", "change")),
        Column("function (instructions/query, self)", loose=True),
    )
    rows = [
        (
            f"{change['before']:,.1f}",
            f"{change['after']:,.1f}",
            f"{change['after'] - change['before']:+,.1f}",
            change["function"],
        )
        for change in changes
        if abs(change["after"] - change["before"]) >= LEAST_SHOWN
    ]
    return Table(columns, tuple(rows))


def _identity(culprit: Json) -> Facts:
    share, probability = culprit["share"], culprit.get("probability")
    return facts(
        [
            ("commit", culprit["sha"]),
            ("parent", culprit["parent"]),
            ("author", f"{culprit['author']}, {culprit['date']}"),
            *(("inside", f"merge {merge}") for merge in culprit["inside"]),
            ("share", "" if share is None else f"{share * 100:.0f} % of the whole difference between good and bad"),
            (
                "place",
                "" if probability is None else f"P = {probability:.3f} by the search, before it was confirmed",
            ),
        ]
    )


def _files(culprit: Json) -> Table:
    columns = (Column("added", right=True), Column("removed", right=True), Column("file", loose=True))
    listed = culprit["files"]
    rows = [
        ("binary", "", file["path"])
        if file["added"] is None
        else (f"+{file['added']}", f"-{file['removed']}", file["path"])
        for file in listed[:MOST_FILES]
    ]
    left = len(listed) - len(rows) + culprit.get("more_files", 0)
    return Table(columns, tuple(rows), f"and {left} more files" if left else "")


def _variables(changed: Sequence[Json]) -> Table:
    columns = (Column("variable", loose=True), Column("before", loose=True), Column("after", loose=True))
    rows = [(found["name"], _value(found["before"]), _value(found["after"])) for found in changed[:MOST_VARIABLES]]
    left = len(changed) - len(rows)
    return Table(columns, tuple(rows), f"and {left} more, all in the JSON form" if left else "")


def _value(value: str | None) -> str:
    return "(none such)" if value is None else value or "(empty)"


def _group(group: Json) -> list[Block]:
    told = Paragraph(
        f"The step of {group['percent']:+.2f} % is after {group['after'][:12]} and there at "
        f"{group['until'][:12]}; {group['why']}"
    )
    shown = group["commits"][:MOST_OF_GROUP]
    left = len(group["commits"]) - len(shown)
    listed = Code("\n".join(shown))
    return [told, listed, Paragraph(f"and {left} more, all in the JSON form")] if left else [told, listed]


def _commits(data: Json) -> list[Section]:
    found = []
    for test in data.get("tests", [""]) if data["commits"] else ():
        rows = tuple(_row(commit, commit["values"][test] if test else commit["values"]) for commit in data["commits"])
        columns = (
            Column("commit"),
            *(Column(title, right=True) for title in ("instr/query", "cpu us/q", "build s")),
            Column("remarks", loose=True),
        )
        found.append(Section(f"{test}: Commits measured" if test else "Commits measured", (Table(columns, rows),)))
    return found


def _row(commit: Json, values: Json) -> tuple[str, ...]:
    count, clock = values.get(METRICS[0]), values.get(METRICS[1])
    remarks = []
    if commit["outcome"] != "built":
        remarks.append(f"{commit['outcome']}: {commit['first_error']}")
    elif commit["first_error"]:
        remarks.append(f"probe: {commit['first_error']}")
    if commit["equal_to"]:
        remarks.append(f"code of {commit['equal_to'][:12]}")
    if commit["repairs"]:
        remarks.append(f"{len(commit['repairs'])} repairs")
    return (
        commit["sha"][:12],
        f"{sum(count) / len(count):,.0f}" if count else "-",
        f"{min(clock):,.2f}" if clock else "-",
        f"{commit['build_seconds']:,.1f}",
        ", ".join((*remarks, commit["subject"])).strip(", "),
    )


def _question(data: Json) -> Facts:
    given = {"": data["parameters"]}
    if "tests" in data:
        given = {f"{test}: ": own for test, own in data["parameters"].items()}
    return facts(
        [
            ("engine", data["engine"]),
            ("test", data["test"]),
            ("repository", data.get("origin") or data["repository"]),
            *((end, f"{called(data[end])} ({data[end]['sha'][:12]})") for end in ("good", "bad")),
            ("searched", f"{data['find']}, metric {data['metric']}, counter {data['counter']}"),
            ("regime", data["regime"] or ""),
            *(
                ("settings", test + " ".join(f"{name}={value}" for name, value in sorted(own.items())))
                for test, own in given.items()
            ),
        ]
    )


def _cost(totals: Json) -> Facts:
    return Facts(
        (
            (
                "candidates",
                f"{totals['candidates']}, and {totals['candidates_inside_merges']} more inside merges",
            ),
            (
                "builds",
                f"{totals['builds']}, {totals['builds_made']} made here, {totals['builds_failed']} failed: "
                f"{totals['build_seconds']:,.0f} s wall, {totals['build_cpu_seconds']:,.0f} s CPU",
            ),
            ("compiles", f"{totals['cache_hits']} from the cache, {totals['cache_misses']} made"),
            ("probes", f"{totals['probes']}: {totals['probe_seconds']:,.0f} s wall"),
            ("elapsed", f"{totals['elapsed_seconds']:,.0f} s"),
        )
    )


def _reproduce(data: Json) -> tuple[Block, ...]:
    return (
        Paragraph("The whole search again:"),
        Code(command(reproduce(data)), "sh"),
        Paragraph(
            "Only the builds that the answer rests on, from a clean clone: run reproduce.sh of the bundle, which has "
            f"all samples, profiles, recipes and logs too (bisect report {data['id']} --format bundle --output .)."
        ),
    )


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
