"""Idle sources where make has the plan: a makefile read after the tree's own, and what stands in for the archiver."""

import posixpath
import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION, Company, Joined, is_idle, marked, several
from cpubisect.builders.trees.plan import Compilation, archived, compilations

_PLAIN = re.compile(r"[\w./+-]+")


@dataclass(frozen=True)
class Idle:
    """The `objects` of idle sources, and all `archives` of the plan, as make calls them; `folder` has the marks, and
    `joined` are those sources that are compiled as one, each with the command that would have compiled the first of
    them."""

    objects: tuple[str, ...]
    archives: tuple[str, ...]
    folder: str
    joined: tuple[tuple[Joined, Compilation], ...] = ()

    def rules(self, target: str, program: Sequence[str] = ()) -> str:
        """A makefile that compiles the objects without optimisation, those that are joined by the words of `program`
        and their command, and links `target` with them last."""
        together = {name for one, _ in self.joined for name in one.objects}
        alone = [name for name in self.objects if name not in together]
        own = [one.object for one, _ in self.joined]
        # All are needed by order only: a makefile may link whatever else its target needs.
        last = (*marked([*alone, *own], self.folder), "-Wl,--start-group", *self.archives, "-Wl,--end-group")
        rules = [
            # With --as-needed, Debian's default, what only these objects need was left out before them.
            f"{target}: LDFLAGS := $(LDFLAGS) {' '.join(last)} $(LDFLAGS)\n",
        ]
        for name in marked((), self.folder):
            source = f"{posixpath.splitext(name)[0]}.s"
            rules.append(f"{target}: | {name}\n{name}: {source}\n\tas {source} -o {name}\n")
        if alone:
            rules.append(f"{' '.join(alone)}: CXXFLAGS += {WITHOUT_OPTIMISATION}\n")
        for one, first in self.joined:
            words = [word for word in first.flags if word not in ("", "-c", "-o")]
            tail = [WITHOUT_OPTIMISATION, "-MF", f"{one.object}.d", "-o", one.object, "-c", one.file]
            command = shlex.join([*program, *words, *tail]).replace("$", "$$")
            rules.append(f"{target}: | {one.object}\n{' '.join(one.objects)}: ;\n")
            rules.append(f"{one.object}: {one.file} {' '.join(one.sources)}\n\t{command}\n")
            rules.append(f"-include {one.object}.d\n")
        return "".join(rules)

    def archiver(self, program: str) -> str:
        """A script that does what the archiver does, less these objects."""
        return (
            "#!/bin/sh\n"
            "for word do\n"
            "  shift\n"
            f'  case \' {" ".join(self.objects)} \' in *" ${{word#./}} "*) ;; *) set -- "$@" "$word" ;; esac\n'
            "done\n"
            f'exec {shlex.quote(program)} "$@"\n'
        )


def idle_objects(plan: str, idle: Sequence[str], company: Company, folder: str) -> Idle | None:
    """What comes of those sources of a plan, as `make --dry-run` prints it, that match `idle`, globs of paths in the
    tree; None if nothing does. An object that is in no archive is none: its place among the others cannot be changed.
    Those with one set of flags that get along in `company` are joined, in files of `folder`.
    """
    archives = archived(plan)
    every = frozenset[str]().union(*archives.values())
    compiled = {one.object: one for one in compilations(plan) if _PLAIN.fullmatch(one.object)}
    found = {made: one for made, one in compiled.items() if made in every and is_idle(one.source, idle)}
    if not found:
        return None
    groups: defaultdict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for one in found.values():
        if _PLAIN.fullmatch(one.source) and company.takes(one.source):
            groups[one.flags].append((one.source, one.object))
    joined: list[tuple[Joined, Compilation]] = []
    for members in groups.values():
        joined += [(part, found[part.objects[0]]) for part in several(members, company, folder)]
    return Idle(tuple(found), tuple(archives), folder, tuple(joined))
