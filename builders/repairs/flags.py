"""PURE: the compiler flag that an error itself names, by which the compiler accepts what it complains of.

None changes what accepted code means. `-fpermissive` and `-Wno-error=NAME` make a warning of an error, and what
narrowing does is the same with and without its diagnostic.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cpubisect.builders.repairs.diagnostics import Diagnostic

_PERMISSIVE = re.compile(r"\[-fpermissive\]$|\(if you use '-fpermissive', G\+\+ will accept your code")
_NAMED = re.compile(r"\[(?:-Werror[=,])?(?:-W)?(?P<name>[\w+=#-]+)\]$")

# By default these are errors that gcc and clang silence, each by its own name.
_SILENCED = frozenset({"narrowing", "c++11-narrowing"})


@dataclass(frozen=True)
class Acceptance:
    """A `flag` that lets C (`c`) or C++ sources pass, and `why`: the error in the compiler's words."""

    flag: str
    c: bool
    why: str


def accepting_flag(error: Diagnostic) -> str:
    """The flag that makes the compiler accept what an error is about; empty if it names none."""
    if any(_PERMISSIVE.search(text.rstrip()) for text in (error.message, *error.notes)):
        return "-fpermissive"
    if error.message.rstrip().endswith("[-Werror]"):
        return "-Wno-error"
    named = _NAMED.search(error.message.rstrip())
    if named is None or "[-W" not in named[0]:
        return ""
    name = named["name"]
    by_default = "-Werror" not in named[0]
    return f"-Wno-{name}" if by_default and name in _SILENCED else f"-Wno-error={name}"


def acceptances(errors: Iterable[Diagnostic]) -> list[Acceptance]:
    """The flags that errors name, each once per language, in the order of the errors."""
    found: dict[tuple[str, bool], Acceptance] = {}
    for error in errors:
        if flag := accepting_flag(error):
            compiled = error.included_from[-1].file if error.included_from else error.file
            of_c = compiled.endswith(".c")
            found.setdefault((flag, of_c), Acceptance(flag, of_c, f"the compiler names it: {error.message}"))
    return list(found.values())
