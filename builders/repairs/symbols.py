"""Which name a compiler's error is missing a declaration of, and where the standard library declares it."""

import re
from dataclasses import dataclass

from cpubisect.builders.repairs.diagnostics import Diagnostic

_NAME = r"[A-Za-z_]\w*(?:::\w+)*"
_UNDECLARED = tuple(
    re.compile(pattern.replace("NAME", rf"(?P<name>{_NAME})"))
    for pattern in (
        r"'NAME' (?:was not declared in this scope|has not been declared|undeclared\b|is not a type\b)",
        r"'NAME'(?: in namespace '(?:::)?(?P<scope>[\w:]+)')? does not name a (?:template )?type",
        r"'NAME' is not a (?:member of '(?P<scope>[\w:]+)'|class, namespace, or enumeration|class or namespace)",
        r"unknown (?:type|class) name 'NAME'",
        r"use of undeclared identifier 'NAME'",
        r"no (?:member|type|template) named 'NAME' in namespace '(?P<scope>[\w:]+)'",
        r"no (?:member|type|template) named 'NAME' in the global namespace",
        r"no (?:type|template) named 'NAME'(?:;|$)",
        r"implicit declaration of function 'NAME'",
        r"implicitly declaring library function 'NAME'",
        r"call to undeclared (?:library )?function 'NAME'",
    )
)
_INCOMPLETE = (
    re.compile(r"(?:incomplete|undefined) (?:type|template|definition of type) '(?P<type>[^']+)'"),
    re.compile(r"(?:aggregate|variable) '(?P<type>[^']+?)[\s&*]+\w+' has (?:initializer but )?incomplete type"),
)
_QUALIFIERS = re.compile(r"^(?:(?:const|volatile|struct|class|union|enum)\s+)*")
_OF_STD = re.compile(r"std\s*::\s*(?P<name>\w+)")
_CLASS_NAME = re.compile(r"expected class[- ]name")
_HINT = re.compile(r"#include (?P<header><[^<>\s]+>)|include the header (?P<bare><[^<>\s]+>)")


@dataclass(frozen=True)
class MissingName:
    """A name without declaration: its last component, the namespace it was looked for in (empty if unsaid), and
    whether a forward declaration is not enough."""

    name: str
    scope: str = ""
    needs_definition: bool = False


def missing_name(diagnostic: Diagnostic) -> MissingName | None:
    """The name an error is about, if it is one that an include could mend."""
    message = diagnostic.message
    for pattern in _UNDECLARED:
        if match := pattern.search(message):
            scope = match.groupdict().get("scope") or ""
            if match["name"] == "std" and (member := _OF_STD.match(diagnostic.code, diagnostic.column - 1)):
                return MissingName(member["name"], "std")
            return _split(f"{scope}::{match['name']}" if scope else match["name"])
    for pattern in _INCOMPLETE:
        if match := pattern.search(message):
            bare = _QUALIFIERS.sub("", match["type"]).partition("<")[0].strip(" *&")
            return _split(bare, needs_definition=True) if re.fullmatch(_NAME, bare) else None
    if _CLASS_NAME.search(message) and diagnostic.column:
        return _base_class(diagnostic.code, diagnostic.column)
    return None


def hinted_headers(diagnostic: Diagnostic) -> tuple[str, ...]:
    """Headers, with their brackets, that the compiler itself says are missing."""
    found = (_HINT.search(note) for note in diagnostic.notes)
    return tuple(dict.fromkeys(match["header"] or match["bare"] for match in found if match))


def _split(qualified: str, needs_definition: bool = False) -> MissingName:
    scope, _, name = qualified.rpartition("::")
    return MissingName(name, scope, needs_definition)


def _base_class(code: str, column: int) -> MissingName | None:
    """gcc points behind the base class, clang at it."""
    at = re.compile(_NAME).match(code, column - 1)
    before = re.findall(_NAME, code[: column - 1])
    name = at[0] if at else before[-1] if before else ""
    return _split(name, needs_definition=True) if name else None
