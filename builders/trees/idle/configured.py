"""What becomes of idle sources in a tree that cmake has configured."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from cpubisect.builders.build import Recipe
from cpubisect.builders.trees.idle import scripts
from cpubisect.builders.trees.idle.ninja import together, unoptimised, without

_STAND_INS = f"{scripts.FOLDER}/stand-ins.o"


class Place(scripts.Tree, Protocol):
    """A tree being built, as far as it matters here."""

    @property
    def recipe(self) -> Recipe:
        """What it is built by."""

    def read(self, path: Path) -> str:
        """A file of the tree."""

    def note(self, text: str) -> None:
        """Write a line of our own into the log."""


def set_apart(place: Place, plan: Path, targets: Collection[str], compiler: Sequence[str]) -> None:
    """Have the sources that the recipe calls idle compiled without optimisation, as far as they get along several at a
    time, and those that it leaves out not at all, for whichever of the `targets` a build.ninja links; `compiler` is
    that of C++, with what stands before it. Raises what the place does."""
    directory, tree, recipe = plan.parent, str(place.tree), place.recipe
    before = place.read(plan)
    text = unoptimised(before, tree, targets, recipe.idle, scripts.FOLDER)
    if text != before:
        scripts.put_marks(place, directory)
    company = scripts.Company(place.tree, recipe.left_out)
    joining = scripts.joining(directory, compiler[-1])
    text, found = together(text, tree, targets, recipe.idle, company, [*joining, *compiler], scripts.FOLDER)
    scripts.put_joined(place, directory, found)
    standing_in = scripts.standing_in(directory, _STAND_INS, str(scripts.left_out(directory)), compiler[-1])
    text, sources = without(text, tree, targets, recipe.left_out, standing_in, _STAND_INS)
    if sources:
        scripts.put_left_out(place, directory, sources)
        place.note(f"{len(sources)} sources are not compiled: the matrix leaves them out")
    if text != before:
        place.write(plan, text)
