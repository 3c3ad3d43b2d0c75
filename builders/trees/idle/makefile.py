"""Idle sources where make has the plan: a makefile read after the tree's own, and what stands in for the archiver."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION, is_idle
from cpubisect.builders.trees.plan import archived, compilations

_PLAIN = re.compile(r"[\w./+-]+")


@dataclass(frozen=True)
class Idle:
    """The `objects` of idle sources, and all `archives` of the plan, as make calls them."""

    objects: tuple[str, ...]
    archives: tuple[str, ...]

    def rules(self, target: str) -> str:
        """A makefile that compiles the objects without optimisation, and links `target` with them last."""
        last = (*self.objects, "-Wl,--start-group", *self.archives, "-Wl,--end-group")
        return "".join(
            (
                f"{' '.join(self.objects)}: CXXFLAGS += {WITHOUT_OPTIMISATION}\n",
                # With --as-needed, Debian's default, what only these objects need was left out before them.
                f"{target}: LDFLAGS := $(LDFLAGS) {' '.join(last)} $(LDFLAGS)\n",
            )
        )

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


def idle_objects(plan: str, idle: Sequence[str]) -> Idle | None:
    """What comes of those sources of a plan, as `make --dry-run` prints it, that match `idle`, globs of paths in the
    tree; None if nothing does. An object that is in no archive is none: its place among the others cannot be changed.
    """
    archives = archived(plan)
    every = frozenset[str]().union(*archives.values())
    compiled = {one.object: one.source for one in compilations(plan) if _PLAIN.fullmatch(one.object)}
    objects = tuple(made for made, source in compiled.items() if made in every and is_idle(source, idle))
    return Idle(objects, tuple(archives)) if objects else None
