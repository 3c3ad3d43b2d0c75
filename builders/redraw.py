"""A build's layout drawn anew: the same objects linked again, several times, in other orders.

Where a linker puts code decides which branches and cache lines share a place in the CPU, and so what a query costs in
CPU time, by percents, without a change of the code. A difference between two commits that is there only in some
orders is one of layout.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cpubisect.base.process import Finished
from cpubisect.base.sandbox import inside
from cpubisect.builders.build import BuildSettings, Outcome, Recipe
from cpubisect.builders.carry import Job, collect
from cpubisect.builders.trees.linker import LINKERS, shuffling_linker
from cpubisect.builders.trees.shop import Builder, CommandFailed, Shop
from cpubisect.builders.trees.source import SourceTree


@dataclass(frozen=True)
class Redrawn:
    """What came of drawing a build's layout anew.

    `outputs` maps the number of each link to a directory like that of a build (none unless `outcome` is `BUILT`);
    `link_seconds` are how long each took, `wall_seconds` is all of it; else as in `BuildResult`. `code` is of the same
    objects linked as ever: if it is that of an earlier build, they are that build's.
    """

    outcome: Outcome
    outputs: Mapping[int, Path]
    log: Path
    cpu_seconds: float
    wall_seconds: float
    link_seconds: tuple[float, ...]
    first_error: str
    cache_hits: int
    cache_misses: int
    code: str


def draw_again(
    recipe: Recipe,
    builder: Builder,
    repository: Path,
    work: Path,
    settings: BuildSettings,
    links: Sequence[int],
    progress: Callable[[str], None] | None = None,
    *,
    log: Path,
) -> Redrawn:
    """Carry a recipe out once more, which the compiler cache makes cheap, and link the program once for each number of
    `links`, 1 or greater; an order follows from the commit and the number.

    Arguments, what is left in `work`, and what is raised are as with `carry_out`; `linker.why_no_redraws` says
    beforehand whether there is a linker for it.
    """
    job = _Drawing(recipe, builder, settings, work, log, progress or (lambda text: None), links=links)
    job.carry_out(repository)
    if job.outcome is not Outcome.BUILT:
        for output in job.outputs.values():
            shutil.rmtree(output, ignore_errors=True)
        job.outputs = {}
    result = job.result()
    return Redrawn(
        outcome=result.outcome,
        outputs=job.outputs,
        log=result.log,
        cpu_seconds=result.cpu_seconds,
        wall_seconds=result.wall_seconds,
        link_seconds=tuple(job.link_seconds),
        first_error=result.first_error,
        cache_hits=result.cache_hits,
        cache_misses=result.cache_misses,
        code=result.code,
    )


def seed(commit: str, link: int) -> int:
    """What the order of one link follows from: another one for each commit, so that two commits' links with one number
    have no more in common than any others."""
    return 1 + int(hashlib.sha256(f"{commit} {link}".encode()).hexdigest()[:7], 16)


@dataclass
class _Drawing(Job):
    """A build whose outcome are redraws."""

    links: Sequence[int] = ()
    outputs: dict[int, Path] = field(default_factory=dict)
    link_seconds: list[float] = field(default_factory=list)

    def finish(self, tree: SourceTree, shop: Shop) -> None:
        """Link and collect once for each order; raises CommandFailed."""
        super().finish(tree, shop)
        if self.output:
            shutil.rmtree(self.output)
        environment = shop.environment
        for count, link in enumerate(self.links, 1):
            self.progress(f"linking {count}/{len(self.links)}")
            linker = shuffling_linker(tree.place / LINKERS / str(link), seed(self.recipe.commit, link))
            shop.environment = {**environment, **linker.environment}
            inside.inside(self.builder.linked(shop), tree.path).unlink()
            started = time.monotonic()
            self.builder.compile(shop)
            self.link_seconds.append(time.monotonic() - started)
            if not linker.made(inside.read_bytes(self.builder.linked(shop), tree.path)):
                message = "link: error: the build links by another linker than the one it is given"
                raise CommandFailed(Finished(("link",), 1, 0.0, 0.0, 0, False, message))
            self.outputs[link] = collect(self.builder, shop, self.work)
