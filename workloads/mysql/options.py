"""PURE: which options of a server its user may set by name, whatever the way they are written."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_FILE = Path(__file__).parent.parent / "config" / "server_options.yaml"
_PREFIXES = ("loose_", "skip_", "enable_", "disable_", "maximum_")
"""What a server takes before any option's name (mysys/my_getopt.cc, `special_opt_prefix`)."""

_NEAR = 3
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class KnownOptions:
    """Names of options with `_` for `-`: the `harmless` ones, `families` of such by what their names begin with, and by
    name what the `refused` are about."""

    harmless: frozenset[str]
    families: tuple[str, ...]
    refused: dict[str, str]

    def is_harmless(self, name: str) -> bool:
        """Whether this is one of the harmless names, in full."""
        return name in self.harmless or name.startswith(self.families)

    def meant(self, name: str) -> str | None:
        """The refused option that a server may take a name for: it takes what only one of its options begins with."""
        if name in self.refused:
            return name
        return next((full for full in self.refused if full.startswith(name)), None)


@cache
def known_options() -> KnownOptions:
    """Those of the file."""
    read = yaml.safe_load(_FILE.read_text())
    harmless = read["harmless"].split()
    return KnownOptions(
        harmless=frozenset(name for name in harmless if not name.endswith("*")),
        families=tuple(name.removesuffix("*") for name in harmless if name.endswith("*")),
        refused={name: topic for topic, names in read["refused"].items() for name in names.split()},
    )


def refusal(option: str) -> str:
    """Why a user may not set an option of that name; empty for a harmless one.

    Harmless is what is known to be: a name that a server could take for another, or that none is known to have, is not.
    """
    if found := _recognised(option):
        form, full = found
        if not full:
            return ""
        short = "" if form == full else f"can stand for {full}, which "
        return f"{short}is about {known_options().refused[full]}"
    near = difflib.get_close_matches(option.lower().replace("-", "_"), known_options().harmless, n=_NEAR)
    return "is no server variable known to be harmless" + (f" (did you mean {', '.join(near)}?)" if near else "")


def is_dangerous(option: str) -> bool:
    """Whether an option is known to be one that is refused; False where nothing is known of it."""
    found = _recognised(option)
    return bool(found and found[1])


def _recognised(option: str) -> tuple[str, str] | None:
    """The first name of an option that is known, and which refused one it is taken for, none if it is harmless; None if
    nothing is known of it."""
    known = known_options()
    for form in _forms(option):
        if known.is_harmless(form):
            return form, ""
        if full := known.meant(form.lower()):
            return form, full
    return None


def _forms(option: str) -> Iterator[str]:
    """The names that a server looks for: the whole, and then what is left of it without one prefix after another.

    What is not written as the names of the file are is none of them.
    """
    name = option.replace("-", "_")
    if not _NAME.fullmatch(name.lower()):
        return
    yield name
    while prefix := next((one for one in _PREFIXES if name.lower().startswith(one) and len(name) > len(one)), ""):
        name = name[len(prefix) :]
        yield name
