"""db_bench for screening: the library's sources compiled in a few chunks, at about half of the CPU time.

The sources are those of the ordinary build, with its link line, but a compiler that sees more of them at once, and
optimises them less, inlines otherwise: costs differ a little from the ordinary build, so only steps between screening
builds mean something.
"""

from collections.abc import Sequence
from pathlib import Path

from cpubisect.base.sandbox import inside
from cpubisect.builders.build import Outcome
from cpubisect.builders.repairs.diagnostics import classify
from cpubisect.builders.rocksdb import TARGET, MakeDbBench
from cpubisect.builders.trees.idle import is_idle
from cpubisect.builders.trees.plan import compilations
from cpubisect.builders.trees.progress import compile_lines
from cpubisect.builders.trees.shop import Builder, CommandFailed, Shop
from cpubisect.builders.unity import Chunk, breakers, chunks, library_objects

CHUNKS = 8
"""How many there are: eight of RocksDB's need about 2 GB of memory each."""

OPTIMISATION = "-O1"
"""What a chunk is compiled by for a first look; see docs/screening.md for what that costs and shows."""

_PREFIX = "screening-"
_PLAN = f"{_PREFIX}plan"
_ALONE = f"{_PREFIX}alone"
_RULES = f"{_PREFIX}rules.mk"


class ScreenDbBench(MakeDbBench):
    """Makes the objects of the library in chunks, then lets make go on: it finds them up to date, compiles the rest,
    and archives and links as always. What it works with lies in the tree, its names begin with `screening-`.
    `options` are added to the commands that compile chunks."""

    def __init__(self, *options: str) -> None:
        self._options = options

    def configure(self, shop: Shop) -> None:
        """Learn from make what it would do; sources it generates have to wait for it, and idle ones are its own."""
        plan = self.prepare(shop)
        shop.write(shop.tree / _PLAN, plan)
        alone = (made.source for made in compilations(plan) if _is_make_s(shop, made.source))
        shop.write(shop.tree / _ALONE, "".join(f"{source}\n" for source in alone))
        parts = _chunks(shop)
        joined = sum(len(part.members) for part in parts)
        shop.compiles.expected = compile_lines(plan) - joined + 2 * len(parts)

    def compile(self, shop: Shop) -> None:
        """Compile the chunks, and whatever breaks its chunk by itself; then all the rest."""
        command = ["make", "-f", _RULES, "--keep-going", "--output-sync=target", f"-j{shop.settings.jobs}"]
        while parts := _chunks(shop):
            _write(shop, parts, self._options)
            try:
                shop.run(command)
                break
            except CommandFailed as failure:
                breaking = sorted(_breaking(shop.tree, parts, failure))
                shop.note(f"these break their chunks and are compiled by themselves: {' '.join(breaking)}")
                alone = shop.read(shop.tree / _ALONE)
                shop.write(shop.tree / _ALONE, alone + "".join(f"{source}\n" for source in breaking))
        super().compile(shop)

    def compiled(self, shop: Shop) -> tuple[str, ...]:
        """As ever: the dependency file of a chunk names all that it includes."""
        return tuple(name for name in super().compiled(shop) if not name.startswith(_PREFIX))


def _is_make_s(shop: Shop, source: str) -> bool:
    """Whether make generates a source, or compiles it without optimisation."""
    return not (shop.tree / source).exists() or is_idle(source, shop.recipe.idle)


def _chunks(shop: Shop) -> list[Chunk]:
    """The chunks as they are now; their cuts stay, whatever was taken out."""
    plan = shop.read(shop.tree / _PLAN)
    alone = shop.read(shop.tree / _ALONE).splitlines()
    library = library_objects(plan, TARGET)
    whole = chunks((compilation for compilation in compilations(plan) if compilation.object in library), CHUNKS)
    return [left for part in whole if (left := part.without(alone)).members]


def _breaking(tree: Path, parts: Sequence[Chunk], failure: CommandFailed) -> set[str]:
    """Which sources to take out: those complained of; if none is, all of the chunks that failed, which lose their
    objects. Raises the failure if nothing can be learnt from it."""
    finished = failure.finished
    ending = classify(finished.output, returncode=finished.returncode, timed_out=finished.timed_out)
    failed = [part for part in parts if not (tree / part.members[0].object).exists()]
    if ending is not Outcome.FAILED or not failed:
        raise failure
    members = [member for part in failed for member in part.members]
    for member in members:
        # Make would take an empty object for what the source is compiled to. Where it lies, the makefile says.
        if inside.is_file(tree / member.object, tree):
            inside.inside(tree / member.object, tree).unlink()
    sources = {member.source for member in members}
    return breakers(finished.output, sources, tree) or sources


def _write(shop: Shop, parts: Sequence[Chunk], options: Sequence[str]) -> None:
    """The chunks' sources and the makefile; a file that would not change keeps its time."""
    rules = [f"all: {' '.join(member.object for part in parts for member in part.members)}\n"]
    for part in parts:
        source, empty = f"{_PREFIX}{part.number}.cc", f"{_PREFIX}{part.number}-empty"
        _update(shop, shop.tree / source, part.text)
        _update(shop, shop.tree / f"{empty}.cc", "")
        rules.append(part.rules(source, empty, options))
    shop.write(shop.tree / _RULES, "\n".join(rules))


def _update(shop: Shop, path: Path, text: str) -> None:
    if not shop.has(path) or shop.read(path) != text:
        shop.write(path, text)


SCREENING_BUILDER: Builder = ScreenDbBench(OPTIMISATION)

BUILDER: Builder = ScreenDbBench()
"""For a matrix that gives it to an engine as its only builder: it is compiled by that one's flags."""
