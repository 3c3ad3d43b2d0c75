"""Compiles several sources as one; a build starts it, it is never imported by us.

argv is `compiler command…`, a command that compiles a file of nothing but includes of those sources, each with the
macros that end with it, with `-MF`, `-o` and the file after `-c` as its last words. Where sources do not get along in
one file, because of names that both give to something of their own, say, the others are compiled so, once more, and
those that the compiler complains of each alone by its own name, so that what is told of a source is about it alone. The
objects of all are put together into one.
"""

import os
import posixpath
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ERROR = re.compile(rb"^(\S+?):\d+:\d+: (?:fatal )?error: ", re.MULTILINE)
PART = re.compile(r'^#include "([^"]+)"\n(?:#undef \w+\n)*', re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """A command that makes the object `made` of `source`, with the dependency file `needs`; `words` is what is before
    these three."""

    words: tuple[str, ...]
    needs: str
    made: str
    source: str

    def run(self) -> subprocess.CompletedProcess[bytes]:
        """Compile."""
        argv = [*self.words, "-MF", self.needs, "-o", self.made, "-c", self.source]
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def part(self, number: int, sources: dict[str, str]) -> "Unit":
        """The same for some of its sources."""
        stem = f"{self.source.removesuffix('.cc')}-{number}"
        own = f"{stem}.cc"
        if len(sources) == 1:
            own = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), *sources))
        else:
            Path(own).write_text("".join(sources.values()), encoding="utf-8")
        return replace(self, needs=f"{stem}.cc.o.d", made=f"{stem}.cc.o", source=own)


def units_of(unit: Unit, sources: dict[str, str], *, again: bool = True) -> tuple[list[Unit], int]:
    """What a unit with these sources, each with its lines, came to be compiled as, itself if all went well; and the
    first status that was not 0 of a source alone. Some of the sources are tried as one `again`: more attempts would
    take longer than all of them alone."""
    ended = unit.run()
    if ended.returncode == 0 or len(sources) == 1 or ended.returncode < 0:
        os.write(1, ended.stdout)
        return [unit], ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
    blamed = {os.path.realpath(name.decode(errors="replace")) for name in ERROR.findall(ended.stdout)}
    folder = posixpath.dirname(unit.source)
    others = [one for one in sources if os.path.realpath(posixpath.join(folder, one)) not in blamed]
    if not again or len(others) < 2 or len(others) == len(sources):
        others = []
    parts = [others] * bool(others) + [[one] for one in sources if one not in others]
    made, status = [], 0
    for number, names in enumerate(parts):
        own = {name: sources[name] for name in names}
        units, failed = units_of(unit.part(number, own), own, again=False)
        made += units
        status = status or failed
    return made, status


def main() -> None:
    compiler, *words, _, needs, _, made, _, source = sys.argv[1:]
    unit = Unit(tuple(words), needs, made, source)
    text = Path(source).read_text(encoding="utf-8")
    units, status = units_of(unit, {part[1]: part[0] for part in PART.finditer(text)})
    if status or units == [unit]:
        sys.exit(status)
    subprocess.run([compiler, "-r", "-nostdlib", "-o", made, *(one.made for one in units)], check=True)
    told = (Path(one.needs).read_text(encoding="utf-8", errors="surrogateescape") for one in units)
    text = " \\\n ".join(each.partition(": ")[2].rstrip() for each in told)
    for one in units:
        Path(one.needs).unlink()
    Path(needs).write_text(f"{made}: {text}\n", encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    main()
