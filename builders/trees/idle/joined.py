"""Compiles several sources as one; a build starts it, it is never imported by us.

argv is `compiler command…`, a command that compiles a file of nothing but includes of those sources, with `-MF`, `-o`
and the file after `-c` as its last words. Where sources do not get along in one file, because of names that both give
to something of their own, say, the others are compiled so, once more, and those that the compiler complains of each
alone by its own name, so that what is told of a source is about it alone. The objects of all are put together into one.
"""

import os
import posixpath
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

ERROR = re.compile(rb"^(\S+?):\d+:\d+: (?:fatal )?error: ", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


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

    def part(self, number: int, sources: list[str]) -> "Unit":
        """The same for some of its sources."""
        stem = f"{self.source.removesuffix('.cc')}-{number}"
        own = f"{stem}.cc"
        if len(sources) == 1:
            own = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), sources[0]))
        else:
            Path(own).write_text(text_of(sources), encoding="utf-8")
        return replace(self, needs=f"{stem}.cc.o.d", made=f"{stem}.cc.o", source=own)


def text_of(sources: list[str]) -> str:
    """The file of several sources."""
    return "".join(f'#include "{source}"\n' for source in sources)


def units_of(unit: Unit, sources: list[str], *, again: bool = True) -> list[Unit]:
    """What a unit came to be compiled as, itself if all went well; ends the process if one source alone fails. Some of
    the sources are tried as one `again`: more attempts would take longer than all of them alone."""
    ended = unit.run()
    if ended.returncode == 0 or len(sources) == 1 or ended.returncode < 0:
        os.write(1, ended.stdout)
        if ended.returncode:
            sys.exit(ended.returncode if ended.returncode > 0 else 128 - ended.returncode)
        return [unit]
    blamed = {os.path.realpath(name.decode(errors="replace")) for name in ERROR.findall(ended.stdout)}
    folder = posixpath.dirname(unit.source)
    others = [one for one in sources if os.path.realpath(posixpath.join(folder, one)) not in blamed]
    if not again or len(others) < 2 or others == sources:
        others = []
    parts = [others] * bool(others) + [[one] for one in sources if one not in others]
    made = (units_of(unit.part(number, own), own, again=False) for number, own in enumerate(parts))
    return [one for units in made for one in units]


def main() -> None:
    compiler, *words, _, needs, _, made, _, source = sys.argv[1:]
    unit = Unit(tuple(words), needs, made, source)
    units = units_of(unit, INCLUDE.findall(Path(source).read_text(encoding="utf-8")))
    if units == [unit]:
        return
    subprocess.run([compiler, "-r", "-nostdlib", "-o", made, *(one.made for one in units)], check=True)
    told = (Path(one.needs).read_text(encoding="utf-8", errors="surrogateescape") for one in units)
    text = " \\\n ".join(each.partition(": ")[2].rstrip() for each in told)
    for one in units:
        Path(one.needs).unlink()
    Path(needs).write_text(f"{made}: {text}\n", encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    main()
