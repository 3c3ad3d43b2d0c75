"""A linker that lays a program out anew: lld, told to put the sections of all objects into another order.

Code and data are shuffled, section by section: what a compiler puts into one section (a source's functions, as long as
it is not told to give each its own) stays together, and so does what a linker by itself groups (cold, hot, start-up).
The lists of initialisers keep their order, on which a program may depend. Nothing within a section changes.

Compilers of both families look for their linker in COMPILER_PATH first, so that a build links by another one without a
flag of its own: all that it compiled before stays as it is.
"""

import hashlib
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from cpubisect.base.process import run

PROGRAM, PACKAGE = "ld.lld", "lld"

LINKERS = "linkers"
"""The directory beside a tree in which its linkers are; its builds can read it."""

_SHUFFLED = (".text*", ".rodata*", ".data*", ".bss*")
_NAMES = ("ld", "ld.bfd", "ld.gold", "ld.lld")
_RELEASE = re.compile(r"\bLLD (\d+)\.")

_OLDEST = 13
"""The release from which on lld shuffles the sections of a name; before, it shuffled initialisers with all others."""


@dataclass(frozen=True)
class Linker:
    """One that links in an order of its own: `environment` makes compilers use it, `build_id` is what it stamps into
    all that it links."""

    environment: dict[str, str]
    build_id: bytes

    def made(self, program: bytes) -> bool:
        """Whether a program, given its content, was linked by it."""
        return self.build_id in program


def why_no_redraws(path: str | None = None) -> str:
    """Why programs cannot be linked in other orders by what is on a search path (default: PATH), in one line with what
    to do about it; empty if they can."""
    program = shutil.which(PROGRAM, path=path)
    if program is None:
        return f"{PACKAGE} is not installed: apt-get install {PACKAGE}"
    answer = run([program, "--version"], timeout_s=60.0).first_line
    release = _RELEASE.search(answer)
    if release is None or int(release[1]) < _OLDEST:
        return f"{program} is {answer!r}: {PACKAGE} {_OLDEST} or later is needed"
    return ""


def shuffling_linker(directory: Path, seed: int, path: str | None = None) -> Linker:
    """A linker whose order follows from a seed, 1 or greater; `directory` is made for it, and is only its.

    Where `why_no_redraws` says nothing it is there, else FileNotFoundError is raised.
    """
    program = shutil.which(PROGRAM, path=path)
    if program is None:
        raise FileNotFoundError(PROGRAM)
    directory.mkdir(parents=True)
    build_id = hashlib.sha256(b"in order %d" % seed).digest()
    shuffling = [f"--shuffle-sections={name}={seed}" for name in _SHUFFLED]
    options = ["-z", "keep-text-section-prefix", *shuffling, f"--build-id=0x{build_id.hex()}"]
    # Of several build ids the last counts: compilers ask for one of their own.
    script = f'#!/bin/sh\nexec {shlex.quote(program)} "$@" {shlex.join(options)}\n'
    for name in _NAMES:
        (directory / name).write_text(script)
        (directory / name).chmod(0o755)
    return Linker({"COMPILER_PATH": str(directory)}, build_id)
