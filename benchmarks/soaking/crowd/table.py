"""PURE: what was done to clusters, as Markdown."""

from collections.abc import Sequence

from soaking.crowd.judgement import CrowdRecord
from soaking.crowd.plan import Part
from soaking.judgement import totals
from soaking.table import amiss, row

FOUND = (
    *("seconds", "refusals", "builds", "made twice", "may be lost", "again", "probes", "again", "orphans", "left over"),
    "verdict",
)


def lines(records: Sequence[CrowdRecord]) -> list[str]:
    """A row for each case, one of sums, and a line for whatever is wrong."""
    header = ("case", "history", *Part, *FOUND)
    wrong = [f"- Case {own.number}: {text}" for own in records for text in _amiss(own)]
    table = [row(header), "|--:|---|" + "--:|" * (len(header) - 3) + "---|", *map(_line, records), _sum(records)]
    return [*table, *([""] if wrong else []), *wrong]


def _line(record: CrowdRecord) -> str:
    killed = (str(record.kills.get(part, "")) for part in Part)
    same = "same" if record.same else "**not the same**"
    return row([str(record.number), record.test, *killed, *map(str, _figures(record)), same])


def _figures(record: CrowdRecord) -> tuple[int, ...]:
    return (
        *(round(record.seconds), len(record.refused), record.builds, record.made_twice, record.may_be_lost),
        *(record.builds_repeated, record.probes, record.probes_repeated),
        *(len(record.orphans), len(record.leftovers)),
    )


def _sum(records: Sequence[CrowdRecord]) -> str:
    killed = totals(records)
    figures = (str(sum(column)) for column in zip(*map(_figures, records), strict=True))
    same = f"{sum(own.same for own in records)} of {len(records)}"
    return row(["all", f"{sum(killed.values())} kills", *(str(killed.get(part, 0)) for part in Part), *figures, same])


def _amiss(record: CrowdRecord) -> list[str]:
    twice = f"{record.made_twice} builds were made twice, where {record.may_be_lost} can have been lost"
    return [*amiss(record), *([twice] if record.made_twice > record.may_be_lost else [])]
