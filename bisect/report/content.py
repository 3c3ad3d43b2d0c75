"""PURE: what a report says, section by section; the same in every form."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from cpubisect.base.metrics import CPU, INSTRUCTIONS, METRICS, digits
from cpubisect.base.sandbox.policy import Kind
from cpubisect.report.blocks import Block, Code, Column, Content, Facts, Paragraph, Section, Table, clean, facts
from cpubisect.report.finding import finding
from cpubisect.report.recipes import builds
from cpubisect.report.words import FLAGS, command, joined, reproduce, short, verdicts
from cpubisect.search.ends import ChangedVariable
from cpubisect.search.stats import Step
from cpubisect.search.verdict import Culprit, FunctionChange, Group, Side, Sides, Verdict, prefix
from cpubisect.views.bisection import Bisection, Built

TOP_FUNCTIONS = 15
MOST_FILES = 20
MOST_VARIABLES = 40
MOST_OF_GROUP = 20
FUNCTIONS_IN_SHORT = 3


def content_of(told: Bisection) -> Content:
    """The whole report. What could steer a terminal is shown as U+FFFD."""
    return Content(tuple(opening(told)), tuple(sections(told)))


def opening(told: Bisection) -> list[str]:
    """The answer in sentences."""
    return finding(clean(told))


def sections(told: Bisection) -> list[Section]:
    """Everything after the opening, the answer's details first."""
    own = [
        section
        for test, found in culprits(told)
        for section in about(found, told.metric.counted, prefix(test, told.tests))
    ]
    return by_step(told) + own + rest(told)


def culprits(told: Bisection) -> list[tuple[str, Culprit]]:
    """All culprits, each with its test."""
    return [(test, found) for test, verdict in verdicts(clean(told)) for found in verdict.culprits]


def by_step(told: Bisection) -> list[Section]:
    """All culprits of each test at one glance, the largest part first; none where one test has at most one."""
    found = [(test, verdict) for test, verdict in verdicts(clean(told))]
    several = len(told.tests) > 1
    if not several and sum(len(verdict.culprits) for _, verdict in found) < 2:
        return []
    rows = [row for test, verdict in found for row in _by_step(verdict, test if several else "")]
    titles = [Column("culprit", loose=True), Column("step", right=True), Column("share", right=True)]
    columns = (*([Column("test")] if several else []), *titles, Column("functions that changed most", loose=True))
    return [Section("In short", (Table(columns, tuple(rows)),))]


def _by_step(verdict: Verdict, test: str) -> Iterator[tuple[str, ...]]:
    """The rows of one test, which begin with its name if there are several."""
    named = (test,) if test else ()
    if not verdict.found:
        yield (*named, str(verdict.kind), "", "", "")
    for culprit, step in verdict.found:
        mark = " (good's branch)" if culprit.side is Side.GOOD else ""
        share = "" if culprit.share is None else f"{culprit.share * 100:.0f} %"
        grown = [one.function for one in culprit.functions if (one.after - one.before) * step.percent > 0]
        functions = ", ".join(grown[:FUNCTIONS_IN_SHORT])
        yield (*named, f"{culprit.release or culprit.sha[:12]}{mark}", f"{step.percent:+.2f} %", share, functions)


def rest(told: Bisection) -> list[Section]:
    """Everything but the culprits."""
    told = clean(told)
    found = [part for test, verdict in verdicts(told) for part in _answer(told, test, verdict)]
    if told.variables:
        found.append(Section("Server variables that differ from good to bad", (_variables(told.variables),)))
    found += builds(told)
    found += _commits(told)
    found.append(Section("Question", (_question(told),)))
    found.append(Section("Host", (Facts(tuple((name, str(value)) for name, value in told.host.items() if value)),)))
    found.append(Section("What it took", (_cost(told),)))
    found.append(Section("To reproduce", _reproduce(told)))
    return found


def _notes(told: Bisection, test: str, verdict: Verdict) -> tuple[str, ...]:
    """Those of the verdict, and what is known from other bisections."""
    others = told.other_flags.get(test)
    return (*verdict.notes, *([others.sentence] if others else ()))


def _answer(told: Bisection, test: str, verdict: Verdict) -> list[Section]:
    """What else is to be said of one test's verdict, its name before each title if there are others."""
    found, name = [], prefix(test, told.tests)
    for group in verdict.groups:
        where = " on good's own branch" if group.side is Side.GOOD else ""
        found.append(Section(f"{name}One of {len(group.commits)} commits{where}", tuple(_group(group))))
    if verdict.defaults:
        rows = tuple(
            (
                one.variable,
                one.good,
                one.bad,
                one.commit[:12],
                "" if one.pinned is None else f"{one.pinned:+.2f} %",
            )
            for one in verdict.defaults
        )
        columns = (
            Column("variable", loose=True),
            Column("good", loose=True),
            Column("bad", loose=True),
            Column("changed by"),
            Column("its step with its parent's value"),
        )
        found.append(Section(f"{name}Defaults that explain the step", (Table(columns, rows),)))
    if verdict.sides:
        found.append(Section(f"{name}Since the fork point {verdict.sides.fork[:12]}", (_sides(verdict.sides),)))
    if verdict.ends:
        found.append(Section(f"{name}Good against bad", (steps(verdict.ends),)))
    if notes := _notes(told, test, verdict):
        found.append(Section(f"{name}Notes", tuple(Paragraph(note) for note in notes)))
    return found


def _sides(sides: Sides) -> Table:
    """What each side made of the difference."""
    columns = (Column("side"), *(Column(title, right=True) for title in ("since the fork", "99 % interval", "share")))
    rows = (("good", sides.good, sides.good_share), ("bad", sides.bad, sides.bad_share))
    return Table(
        columns,
        tuple((name, f"{own.percent:+.2f} %", _interval(own), f"{share * 100:.0f} %") for name, own, share in rows),
    )


def about(culprit: Culprit, counted: str, name: str = "", most_functions: int = TOP_FUNCTIONS) -> list[Section]:
    """All there is to say of one culprit, with `name` before each title; profiles are of the metric `counted`."""
    sha = culprit.sha[:12]
    blocks: list[Block] = [Paragraph(culprit.subject), _identity(culprit)]
    if culprit.note:
        blocks.append(Paragraph(culprit.note))
    found = [Section(f"{name}Culprit {sha}", (*blocks, steps(culprit.steps)))]
    if culprit.functions:
        title = f"{name}Functions that changed with {sha}"
        found.append(Section(title, (functions(culprit.functions[:most_functions], counted),)))
    if culprit.variables:
        title = f"{name}Server variables that changed with {sha}"
        found.append(Section(title, (_variables(culprit.variables),)))
    if culprit.files:
        found.append(Section(f"{name}Files changed by {sha}", (_files(culprit),)))
    if culprit.message:
        found.append(Section(f"{name}Message of {sha}", (Code(culprit.message),)))
    return found


def steps(found: Mapping[str, Step]) -> Table:
    """The change in every metric that was measured."""
    columns = (Column("metric"), Column("step", right=True), Column("99 % interval", right=True))
    rows = [(metric, f"{step.percent:+.2f} %", _interval(step)) for metric in METRICS if (step := found.get(metric))]
    return Table(columns, tuple(rows))


def _interval(step: Step) -> str:
    low, high = (f"{end:+.2f}" if isfinite(end) else "-" for end in (step.low, step.high))
    return f"[{low}, {high}] %"


def functions(changes: Sequence[FunctionChange], counted: str) -> Table:
    """Self cost of functions in a metric, before and after, without changes that would be shown as none."""
    more = digits(counted) + (counted == INSTRUCTIONS)
    columns = (
        *(Column(title, right=True) for title in ("before", "after", "change")),
        Column(f"function ({counted}, self)", loose=True),
    )
    rows = [
        (
            f"{change.before:,.{more}f}",
            f"{change.after:,.{more}f}",
            f"{change.after - change.before:+,.{more}f}",
            change.function,
        )
        for change in changes
        if abs(change.after - change.before) >= 0.1**more
    ]
    return Table(columns, tuple(rows))


def _identity(culprit: Culprit) -> Facts:
    share, probability = culprit.share, culprit.probability
    return facts(
        [
            ("release", culprit.release),
            ("commit", culprit.sha),
            ("parent", " = ".join(filter(None, (culprit.parent, culprit.parent_release)))),
            ("side", "good's own branch, since the fork point" if culprit.side is Side.GOOD else ""),
            ("author", f"{culprit.author}, {culprit.date}"),
            *(("inside", f"merge {merge}") for merge in culprit.inside),
            ("share", "" if share is None else f"{share * 100:.0f} % of the whole difference between good and bad"),
            (
                "place",
                "" if probability is None else f"P = {probability:.3f} by all readings",
            ),
        ]
    )


def _files(culprit: Culprit) -> Table:
    columns = (Column("added", right=True), Column("removed", right=True), Column("file", loose=True))
    rows = [
        ("binary", "", file.path) if file.added is None else (f"+{file.added}", f"-{file.removed}", file.path)
        for file in culprit.files[:MOST_FILES]
    ]
    left = len(culprit.files) - len(rows) + culprit.more_files
    return Table(columns, tuple(rows), f"and {left} more files" if left else "")


def _variables(changed: Sequence[ChangedVariable]) -> Table:
    columns = (Column("variable", loose=True), Column("before", loose=True), Column("after", loose=True))
    rows = [(found.name, _value(found.before), _value(found.after)) for found in changed[:MOST_VARIABLES]]
    left = len(changed) - len(rows)
    return Table(columns, tuple(rows), f"and {left} more, all in the JSON form" if left else "")


def _value(value: str | None) -> str:
    return "(none such)" if value is None else value or "(empty)"


def _group(group: Group) -> list[Block]:
    told = Paragraph(
        f"The step of {group.percent:+.2f} % is after {group.after[:12]} and there at {group.until[:12]}; {group.why}"
    )
    shown = group.commits[:MOST_OF_GROUP]
    left = len(group.commits) - len(shown)
    shas = Code("\n".join(shown))
    return [told, shas, Paragraph(f"and {left} more, all in the JSON form")] if left else [told, shas]


def _commits(told: Bisection) -> list[Section]:
    found = []
    for test in told.tests if told.commits else ():
        rows = tuple(_row(told, commit, test) for commit in told.commits)
        columns = (
            Column("commit"),
            *(Column(title, right=True) for title in (short(told.metric.counted), "cpu us/q", "build s")),
            Column("remarks", loose=True),
        )
        found.append(Section(f"{prefix(test, told.tests)}Commits measured", (Table(columns, rows),)))
    return found


def _row(told: Bisection, commit: Built, test: str) -> tuple[str, ...]:
    counted, values = told.metric.counted, commit.values[test]
    count, clock = values.get(counted), values.get(CPU)
    remarks = [f"{commit.recipe.variant or 'ordinary'} build"] if told.screen else []
    if commit.outcome != "built":
        remarks.append(f"{commit.outcome}: {commit.first_error}")
    elif commit.first_error:
        remarks.append(f"probe: {commit.first_error}")
    remarks += commit.notes.get(test, ())
    if commit.equal_to:
        remarks.append(f"code of {commit.equal_to[:12]}")
    if commit.repairs:
        remarks.append(f"{len(commit.repairs)} repair{'s' if len(commit.repairs) > 1 else ''}")
    return (
        commit.sha[:12],
        f"{sum(count) / len(count):,.{digits(counted)}f}" if count else "-",
        f"{min(clock):,.2f}" if clock else "-",
        f"{commit.build_seconds:,.1f}",
        ", ".join((*remarks, commit.subject)).strip(", "),
    )


def _question(told: Bisection) -> Facts:
    settings = {
        test: " ".join(f"{name}={value}" for name, value in sorted(own.items()))
        for test, own in told.parameters.items()
    }
    return facts(
        [
            ("engine", told.engine),
            ("test", joined(told.tests)),
            ("repository", told.origin or told.repository),
            *((end, f"{known.called} ({known.sha[:12]})") for end, known in (("good", told.good), ("bad", told.bad))),
            ("searched", f"{told.find}, metric {told.metric}, counter {_counter(told)}"),
            ("flags", FLAGS[told.flags]),
            *(("regime", prefix(test, told.tests) + regime) for test, regime in told.regime.items()),
            *(("settings", prefix(test, told.tests) + given) for test, given in settings.items()),
        ]
    )


def _counter(told: Bisection) -> str:
    return f"{told.counter} with {' and '.join(told.simulations)}" if told.simulations else str(told.counter)


def _cost(told: Bisection) -> Facts:
    totals = told.totals
    return Facts(
        (
            ("candidates", f"{totals.candidates}, and {totals.candidates_inside_merges} more inside merges"),
            (
                "builds",
                f"{totals.builds}, {totals.builds_made} made here, {totals.builds_failed} failed: "
                f"{totals.build_seconds:,.0f} s wall, {totals.build_cpu_seconds:,.0f} s CPU",
            ),
            ("compiles", f"{totals.cache_hits} from the cache, {totals.cache_misses} made"),
            ("sandbox", _sandbox(told)),
            ("probes", f"{totals.probes}: {totals.probe_seconds:,.0f} s wall"),
            ("elapsed", f"{totals.elapsed_seconds:,.0f} s"),
        )
    )


def _sandbox(told: Bisection) -> str:
    """In what commits were built: what a commit does while it is built is its author's choice."""
    confined = [commit.sandbox for commit in told.commits if commit.sandbox != Kind.NONE]
    if not confined:
        return "none: builds had all rights of who ran them"
    return f"{' and '.join(dict.fromkeys(confined))}, {len(confined)} of {len(told.commits)} commits built"


def _reproduce(told: Bisection) -> tuple[Block, ...]:
    return (
        Paragraph("The whole search again:"),
        Code(command(reproduce(told)), "sh"),
        Paragraph(
            "Only the builds that the answer rests on, from a clean clone: run reproduce.sh of the bundle, which has "
            f"all samples, profiles, recipes and logs too (bisect report {told.id} --format bundle --output .)."
        ),
    )
