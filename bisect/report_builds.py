"""PURE: how the builds that an answer rests on were made: compiler, flags, and what had to be repaired."""

from typing import Any

from cpubisect.report_blocks import Block, Column, Facts, Paragraph, Section, Table, facts
from cpubisect.report_words import verdicts

Json = dict[str, Any]


def rests_on(data: Json) -> list[str]:
    """The commits that the answer rests on: each culprit with its parent before it; without one, good and bad."""
    culprits = [culprit for verdict in verdicts(data).values() for culprit in verdict.get("culprits", ())]
    pairs = [sha for culprit in culprits for sha in (culprit["parent"], culprit["sha"])]
    return list(dict.fromkeys(pairs or [data["good"]["sha"], data["bad"]["sha"]]))


def builds(data: Json) -> list[Section]:
    """One section for each recipe among those builds; builds that differ in their commit only share one."""
    by_sha = {commit["sha"]: commit for commit in data["commits"]}
    shared: dict[tuple[Facts, Table | None], list[str]] = {}
    for sha in rests_on(data):
        if sha in by_sha:
            shared.setdefault((_recipe(by_sha[sha]), _repairs(by_sha[sha])), []).append(sha)
    return [_section(shas, *made) for made, shas in shared.items()]


def _section(shas: list[str], recipe: Facts, repairs: Table | None) -> Section:
    names = " and ".join(sha[:12] for sha in shas[:2]) + (f" and {len(shas) - 2} more" if len(shas) > 2 else "")
    blocks: list[Block] = [recipe]
    if repairs is None:
        blocks.append(Paragraph("Nothing in the source had to be changed to build this."))
    else:
        blocks.append(repairs)
    return Section(f"How {names} {'was' if len(shas) == 1 else 'were'} built", tuple(blocks))


def _recipe(commit: Json) -> Facts:
    recipe = commit["recipe"]
    environment = recipe.get("environment", {})
    return facts(
        [
            ("compiler", recipe["compiler"]),
            ("release", recipe["version"]),
            ("build", " ".join((recipe["system"], *recipe.get("options", ())))),
            ("standard", recipe.get("std", "")),
            ("cflags", " ".join(recipe.get("cflags", ()))),
            ("cxxflags", " ".join(recipe.get("cxxflags", ()))),
            ("environment", " ".join(f"{name}={value}" for name, value in environment.items())),
            ("includes", " ".join(recipe.get("forced_includes", ()))),
            ("patches", " ".join(recipe.get("patches", ()))),
            ("edits", "; ".join(recipe.get("edits", ()))),
        ]
    )


def _repairs(commit: Json) -> Table | None:
    rows = tuple((repair["kind"], repair["path"], repair["change"], repair["why"]) for repair in commit["repairs"])
    columns = (Column("repair"), Column("file", loose=True), Column("change", loose=True), Column("why", loose=True))
    return Table(columns, rows) if rows else None
