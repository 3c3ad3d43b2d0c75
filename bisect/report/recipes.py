"""PURE: how the builds that an answer rests on were made: compiler, flags, and what had to be repaired."""

from cpubisect.report.blocks import Block, Column, Facts, Paragraph, Section, Table, facts
from cpubisect.report.words import verdicts
from cpubisect.views.bisection import Bisection, Built


def rests_on(told: Bisection) -> list[str]:
    """The commits that the answer rests on: each culprit with its parent before it; without one, good and bad."""
    culprits = [culprit for _, verdict in verdicts(told) for culprit in verdict.culprits]
    pairs = [sha for culprit in culprits for sha in (culprit.parent, culprit.sha)]
    return list(dict.fromkeys(pairs or [told.good.sha, told.bad.sha]))


def builds(told: Bisection) -> list[Section]:
    """One section for each recipe among those builds; builds that differ in their commit only share one."""
    by_sha = {commit.sha: commit for commit in told.commits}
    shared: dict[tuple[str, Facts, Table | None], list[str]] = {}
    for sha in rests_on(told):
        if commit := by_sha.get(sha):
            failed = "" if commit.outcome == "built" else f"{commit.outcome}: {commit.first_error}"
            shared.setdefault((failed, _recipe(commit), _repairs(commit)), []).append(sha)
    return [_section(shas, *made) for made, shas in shared.items()]


def _section(shas: list[str], failed: str, recipe: Facts, repairs: Table | None) -> Section:
    names = " and ".join(sha[:12] for sha in shas[:2]) + (f" and {len(shas) - 2} more" if len(shas) > 2 else "")
    blocks: list[Block] = [recipe]
    if repairs is not None:
        blocks.append(repairs)
    elif not failed:
        blocks.append(Paragraph("Nothing in the source had to be changed to build this."))
    if failed:
        return Section(f"How {names} did not build", (Paragraph(failed), *blocks))
    return Section(f"How {names} {'was' if len(shas) == 1 else 'were'} built", tuple(blocks))


def _recipe(commit: Built) -> Facts:
    recipe = commit.recipe
    return facts(
        [
            ("compiler", recipe.compiler),
            ("kind", recipe.variant),
            ("release", recipe.version),
            ("build", " ".join((recipe.system, *recipe.options))),
            ("standard", recipe.std),
            ("cflags", " ".join(recipe.cflags)),
            ("cxxflags", " ".join(recipe.cxxflags)),
            ("environment", " ".join(f"{name}={value}" for name, value in recipe.environment.items())),
            ("includes", " ".join(recipe.forced_includes)),
            ("libraries", "; ".join(recipe.libraries)),
            ("patches", " ".join(recipe.patches)),
            ("edits", "; ".join(recipe.edits)),
        ]
    )


def _repairs(commit: Built) -> Table | None:
    rows = tuple((repair.kind, repair.path, repair.change, repair.why) for repair in commit.repairs)
    columns = (Column("repair"), Column("file", loose=True), Column("change", loose=True), Column("why", loose=True))
    return Table(columns, rows) if rows else None
