"""Sources joined into few chunks that include them, so that headers are read and instantiated once per chunk.

All of this is pure: it reads what `make --dry-run` prints and says what to compile instead.
"""

import posixpath
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from cpubisect.builders.repairs.diagnostics import Diagnostic, parse_diagnostics
from cpubisect.builders.trees.cuts import cuts
from cpubisect.builders.trees.plan import Compilation, archived, commands, tidy

FEWEST = 4
"""Sources of a chunk at least, on average: fewer share too little."""


@dataclass(frozen=True)
class Chunk:
    """Compilations that become one; its code goes into the object of the first, so there it stays in every line that
    names objects, and the objects of the others are empty."""

    number: int
    members: tuple[Compilation, ...]

    def without(self, sources: Collection[str]) -> "Chunk":
        """The chunk less some of its members; one member that would be left by itself goes too."""
        left = tuple(member for member in self.members if member.source not in sources)
        return Chunk(self.number, left if len(left) > 1 else ())

    @property
    def text(self) -> str:
        """The source of the chunk."""
        return "".join(f'#include "{member.source}"\n' for member in self.members)

    def rules(self, source: str, empty: str, options: Sequence[str] = ()) -> str:
        """Makefile rules for all objects of the chunk; `source` holds its text, `empty` (no suffix) an empty `.cc`;
        `options` are added to the command that compiles it."""
        lead, *others = self.members
        needs = " ".join(member.source for member in self.members)
        rules = [
            _rule(lead.object, f"{source} {needs}", (*lead.of(source, lead.object), *options)),
            # Its hits would make the build look as if the cache had helped.
            _rule(f"{empty}.o", f"{empty}.cc", ("env", "CCACHE_DISABLE=1", *lead.of(f"{empty}.cc", f"{empty}.o"))),
            *(_rule(other.object, f"{empty}.o {other.source}", ("cp", f"{empty}.o", other.object)) for other in others),
        ]
        return "\n".join(rules)


def library_objects(plan: str, target: str) -> frozenset[str]:
    """The objects that make up the target's library: those put into archives, or else those it is linked from."""
    if archives := archived(plan):
        return frozenset[str]().union(*archives.values())
    linked: set[str] = set()
    for argv in commands(plan):
        if "-c" not in argv and "-o" in argv[:-1] and tidy(argv[argv.index("-o") + 1]) == target:
            linked |= {tidy(word) for word in argv if word.endswith(".o")}
    return frozenset(linked)


def chunks(compiled: Iterable[Compilation], count: int) -> list[Chunk]:
    """Up to `count` chunks of neighbours with equal flags; sources that would be by themselves have none.

    A file that comes or goes in one commit leaves most chunks alone (`cuts`).
    """
    by_flags = sorted(compiled, key=lambda compilation: compilation.flags)
    groups = [list(group) for _, group in groupby(by_flags, key=lambda compilation: compilation.flags)]
    total = sum(len(group) for group in groups)
    parts = []
    for group in groups:
        wanted = min(round(count * len(group) / total), len(group) // FEWEST)
        places = cuts([member.source for member in group], max(1, wanted))
        parts += [group[start:end] for start, end in zip([0, *places], [*places, len(group)], strict=True)]
    joined = [part for part in parts if len(part) > 1]
    return [Chunk(number, tuple(part)) for number, part in enumerate(joined)]


def breakers(output: str, members: Collection[str], tree: Path) -> set[str]:
    """The members that compilers' errors are about: where one stands, or else what was being read or instantiated.

    Files are spelled as seen from `tree`, or with their full paths.
    """
    found = set()
    for diagnostic in parse_diagnostics(output):
        if diagnostic.is_error:
            found.update(_blamed(diagnostic, members, f"{tree}/"))
    return found


def _rule(target: str, needs: str, argv: Sequence[str]) -> str:
    directory = shlex.quote(posixpath.dirname(target) or ".")
    command = shlex.join(argv).replace("$", "$$")
    return f"{target}: {needs}\n\tmkdir -p {directory}\n\t{command}\n"


def _blamed(error: Diagnostic, members: Collection[str], root: str) -> list[str]:
    users = [place.file for place in reversed(error.required_at)]
    readers = [place.file for place in reversed(error.included_from)]
    names = (tidy(name.removeprefix(root)) for name in (error.file, *users, *readers))
    return [name for name in names if name in members][:1]
