"""PURE: what a comparison says, section by section; the same in every form."""

from collections.abc import Sequence

from cpubisect.base.flags import Flags
from cpubisect.base.metrics import CONTEXT_SWITCHES, CPU, INSTRUCTIONS, QPS
from cpubisect.base.sandbox.policy import Kind
from cpubisect.report.blocks import Block, Column, Content, Facts, Paragraph, Section, Table, clean, facts
from cpubisect.search.comparing.relative import MORE_IS_BETTER, Cell, Group, MetricTable, Spread
from cpubisect.search.ends import ChangedVariable
from cpubisect.views.comparison import OtherSettings, SideBySide, Version

MOST_VARIABLES = 40

TITLES = {
    QPS: "Relative QPS",
    INSTRUCTIONS: "Relative instructions/query",
    CPU: "Relative CPU/query",
    CONTEXT_SWITCHES: "Relative context switches/query",
}

LEGEND = (
    "Below 1.00 is worse in every table: QPS is the version's over the base's, and what a query costs is the base's "
    "over the version's. In brackets the 99 % interval. Marked is what is below 0.95 (yellow, -) or above 1.05 "
    "(blue, +), unless the interval holds 1."
)


def content_of(told: SideBySide) -> Content:
    """The whole report. What could steer a terminal is shown as U+FFFD."""
    told = clean(told)
    return Content(tuple(opening(told)), tuple(sections(told)))


def opening(told: SideBySide) -> list[str]:
    """The answer in sentences."""
    names = [version.name for version in told.versions]
    first = f"{told.engine}: {', '.join(names[1:])} against {names[0]}, {_tests(told)}."
    lines = [first]
    if told.state != "finished":
        lines.append(f"It is {told.state}: {told.probes} of {told.planned} probes are made so far.")
    for version in told.versions:
        if version.problem:
            lines.append(f"{version.name} could not be built: {version.problem}")
    if told.base is not None and told.base != names[0]:
        lines.append(f"{names[0]} cannot be the base; {told.base} is, the first version that was built.")
    return lines + _counts(told)


def _tests(told: SideBySide) -> str:
    tests = len({row.test for row in told.rows})
    counted = "1 test" if tests == 1 else f"{tests} tests"
    clients = ", ".join(map(str, told.clients))
    return f"{counted}, {clients} {'client' if told.clients == (1,) else 'clients'}"


def _counts(told: SideBySide) -> list[str]:
    """Of each version, how many tests are surely better and worse, metric by metric."""
    lines = []
    for number, version in enumerate(told.versions):
        said = []
        for table in told.tables:
            found = [spread for group in table.groups if (spread := group.spreads[number])]
            if found:
                worse, better = sum(one.worse for one in found), sum(one.better for one in found)
                tests = sum(one.tests for one in found)
                said.append(f"{table.metric} {worse} surely worse, {better} surely better, of {tests}")
        if said and version.name != told.base:
            lines.append(f"{version.name}: {'; '.join(said)}.")
    return lines


def sections(told: SideBySide) -> list[Section]:
    """Everything after the opening, the tables first."""
    return [metric_section(table, told) for table in told.tables] + details(told)


def details(told: SideBySide) -> list[Section]:
    """What the tables alone would hide, and how it was measured."""
    found = []
    if told.cannot_run:
        rows = tuple((one.row, one.version, one.why) for one in told.cannot_run)
        columns = (Column("test"), Column("version"), Column("why", loose=True))
        found.append(Section("Tests that a version cannot run", (Table(columns, rows),)))
    if told.remarks:
        rows = tuple((one.row, one.version, one.said) for one in told.remarks)
        columns = (Column("test"), Column("version"), Column("what was seen", loose=True))
        found.append(Section("To be known of the samples", (Table(columns, rows),)))
    if told.settings:
        title = f"Server variables that differ from {told.base}"
        found.append(Section(title, tuple(_settings(one, told.base or "") for one in told.settings)))
    found.append(Section("Versions", _versions(told)))
    found.append(Section("How it was measured", (_measured(told),)))
    found.append(Section("Host", (Facts(tuple((name, str(value)) for name, value in told.host.items() if value)),)))
    return found


def metric_section(table: MetricTable, told: SideBySide) -> Section:
    """The relative values in one metric, group by group."""
    over = "version / base" if table.metric in MORE_IS_BETTER else "base / version"
    blocks: list[Block] = [Paragraph(LEGEND)] if table == told.tables[0] else []
    names = [version.name for version in told.versions]
    blocks += [_group(group, names) for group in table.groups]
    return Section(f"{TITLES.get(table.metric, table.metric)} ({over})", tuple(blocks))


def _group(group: Group, names: Sequence[str]) -> Table:
    columns = (Column(group.name), *(Column(name, right=True) for name in names))
    rows = [(line.label, *(shown(cell) for cell in line.cells)) for line in group.lines]
    tones = [("", *(cell.tone.value for cell in line.cells)) for line in group.lines]
    if len(group.lines) > 1:
        for name in ("least", "median", "largest"):
            own = [_of(spread, name) for spread in group.spreads]
            rows.append((_SUMMARY[name], *("-" if value is None else f"{value:.2f}" for value in own)))
            tones.append(("",) * len(columns))
    return Table(columns, tuple(rows), tones=tuple(tones))


_SUMMARY = {"least": "minimum", "median": "median", "largest": "maximum"}


def _of(spread: Spread | None, name: str) -> float | None:
    return None if spread is None else getattr(spread, name)


def shown(cell: Cell) -> str:
    """A relative value with its interval; the base's is 1.00, and `-` is what has not been measured."""
    if cell.relative is None:
        return "-"
    if cell.low is None or cell.high is None:
        return f"{cell.relative:.2f} [-, -]"
    if cell.low == cell.high == 1:
        return f"{cell.relative:.2f}"
    return f"{cell.relative:.2f} [{cell.low:.2f}, {cell.high:.2f}]"


def _settings(one: OtherSettings, base: str) -> Table:
    columns = (Column("variable", loose=True), Column(base, loose=True), Column(one.version, loose=True))
    rows = [(found.name, _value(found.before), _value(found.after)) for found in _telling(one.variables)]
    left = len(one.variables) - len(rows)
    return Table(columns, tuple(rows), f"and {left} more, all in the JSON form" if left else "")


def _telling(variables: Sequence[ChangedVariable]) -> list[ChangedVariable]:
    """Those that both servers have first: another value says more than a variable that is new."""
    return sorted(variables, key=lambda one: one.before is None or one.after is None)[:MOST_VARIABLES]


def _value(value: str | None) -> str:
    return "(none such)" if value is None else value or "(empty)"


def _versions(told: SideBySide) -> tuple[Block, ...]:
    columns = (
        Column("version"),
        Column("commit"),
        Column("built with"),
        Column("build s", right=True),
        Column("remarks", loose=True),
    )
    blocks: list[Block] = [Table(columns, tuple(_version(version) for version in told.versions))]
    unconfined = [version.name for version in told.versions if version.sandbox == Kind.NONE]
    if unconfined:
        blocks.append(Paragraph(f"Built in no sandbox, with all rights of who ran it: {', '.join(unconfined)}."))
    compilers = {version.toolchain for version in told.versions if version.toolchain}
    if len(compilers) > 1:
        blocks.append(Paragraph("The versions were built by different compilers, which is a part of the differences."))
    if any(version.problem for version in told.versions):
        blocks.append(Paragraph("A new comparison tries again to build what could not be built."))
    return tuple(blocks)


def _version(version: Version) -> tuple[str, ...]:
    remarks = [f"{version.outcome}: {version.problem}"] if version.problem else []
    remarks += [f"{version.repairs} repair{'s' if version.repairs > 1 else ''}"] if version.repairs else []
    seconds = f"{version.build_seconds:,.1f}"
    return version.name, version.sha[:12], version.toolchain or "-", seconds, ", ".join(remarks)


def _measured(told: SideBySide) -> Facts:
    return facts(
        [
            ("comparison", f"{told.id}, {told.state}"),
            ("repository", told.origin or told.repository),
            ("probes", f"{told.probes} of {told.planned}, in {told.rounds} rounds over all versions"),
            ("took", f"{told.probe_seconds:,.0f} s of probes"),
            ("counter", told.counter or ""),
            ("flags", "of each release build" if told.flags is Flags.RELEASE else "one set for all versions"),
            ("settings", " ".join(f"{name}={value}" for name, value in sorted(told.given.items()))),
        ]
    )
