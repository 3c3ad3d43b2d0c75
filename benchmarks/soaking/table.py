"""PURE: what was done, as Markdown."""

from collections.abc import Sequence

from soaking.judgement import Record, totals
from soaking.plan import Kind

COLUMNS = ("case", "test", "run by", "fault", "times", *(str(kind) for kind in Kind))
FOUND = ("refusals", "builds", "again", "probes", "again", "orphans", "left over", "verdict")


def lines(records: Sequence[Record]) -> list[str]:
    """A row for each case, one of sums, and a line for whatever is wrong or was left out."""
    done = [record for record in records if not record.skipped]
    header = [*COLUMNS, *FOUND]
    table = [row(header), "|---|---|---|---|" + "--:|" * (len(header) - 5) + "---|", *map(_line, done), _sum(done)]
    wrong = [f"- Case {own.number}: {text}" for own in done for text in amiss(own)]
    skipped = [f"- Case {own.number} was left out: {own.skipped}." for own in records if own.skipped]
    return [*table, *([""] if wrong or skipped else []), *wrong, *skipped]


def _line(record: Record) -> str:
    kills = (str(record.kills.get(kind, "")) for kind in Kind)
    found = (
        *(len(record.refused), record.builds, record.builds_repeated, record.probes, record.probes_repeated),
        *(len(record.orphans), len(record.leftovers)),
    )
    about = (record.number, record.test, record.way, record.fault, record.faults or "")
    return row([*map(str, about), *kills, *map(str, found), "same" if record.same else "**not the same**"])


def _sum(records: Sequence[Record]) -> str:
    kills = totals(records)
    found = (
        sum(len(own.refused) for own in records),
        sum(own.builds for own in records),
        sum(own.builds_repeated for own in records),
        sum(own.probes for own in records),
        sum(own.probes_repeated for own in records),
        sum(len(own.orphans) for own in records),
        sum(len(own.leftovers) for own in records),
    )
    same = f"{sum(own.same for own in records)} of {len(records)}"
    about = (f"all: {sum(kills.values())} kills", "", "", "", sum(own.faults for own in records))
    return row([*map(str, about), *(str(kills.get(kind, 0)) for kind in Kind), *map(str, found), same])


def amiss(record: Record) -> list[str]:
    """What is not as it should be, in words."""
    return [
        *record.wrong,
        *([] if record.same else [f"its answer is {record.answer.kind or 'none'}"]),
        *(f"orphan: {text}" for text in record.orphans),
        *(f"left over: {text}" for text in record.leftovers),
    ]


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
