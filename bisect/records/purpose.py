"""What a probe was made for: a type here, a short text in the store."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

_CLOCK = re.compile(r"clock(?: (\S+)(?: against (\S+))?)?")
_SHOWN = 12
"""Digits of a commit that tell its rounds from those of others."""


class _Kind(StrEnum):
    SEARCH = "search"
    CLOCK = "clock"
    WITH = "with"
    UNKNOWN = ""


@dataclass(frozen=True)
class Purpose:
    """Why a probe is made; `str` gives its form in the store, `of` reads that.

    `SEARCH` is to count instructions and CPU time, `CLOCK` only CPU time, both for the search; `clock` is CPU time of
    one commit in rounds of its own, perhaps `against` a parent; `trial` is to see what other settings do. `text` is
    those settings or, if this program does not know the purpose, all that the store says.
    """

    kind: _Kind
    sha: str = ""
    against: str = ""
    text: str = ""

    SEARCH: ClassVar["Purpose"]
    CLOCK: ClassVar["Purpose"]

    @classmethod
    def clock(cls, sha: str, against: str = "") -> "Purpose":
        """CPU time of one commit beside others: rounds of their own, so that all are probed anew, interleaved."""
        return cls(_Kind.CLOCK, sha[:_SHOWN], against[:_SHOWN])

    @classmethod
    def trial(cls, settings: Mapping[str, str]) -> "Purpose":
        """What the test measures with other settings than the question's."""
        return cls(_Kind.WITH, text=",".join(f"{name}={value}" for name, value in sorted(settings.items())))

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(stored: str) -> "Purpose":
        """The inverse of `str`; any text has one, and gives itself back."""
        if stored == _Kind.SEARCH:
            return Purpose.SEARCH
        if clock := _CLOCK.fullmatch(stored):
            return Purpose(_Kind.CLOCK, clock[1] or "", clock[2] or "")
        kind, space, settings = stored.partition(" ")
        known = kind == _Kind.WITH and space
        return Purpose(_Kind.WITH, text=settings) if known else Purpose(_Kind.UNKNOWN, text=stored)

    def __str__(self) -> str:
        if self.kind in (_Kind.WITH, _Kind.UNKNOWN):
            return f"{self.kind} {self.text}" if self.kind else self.text
        return self.kind + (f" {self.sha}" if self.sha else "") + (f" against {self.against}" if self.against else "")

    @property
    def counts(self) -> bool:
        """Whether a probe was made with the question's own settings: what it says counts for its commit."""
        return self.kind in (_Kind.SEARCH, _Kind.CLOCK)

    @property
    def only_clock(self) -> bool:
        """Whether nothing but CPU time is asked for."""
        return self.kind is _Kind.CLOCK


Purpose.SEARCH = Purpose(_Kind.SEARCH)
Purpose.CLOCK = Purpose(_Kind.CLOCK)

COUNTING = (_Kind.SEARCH.value, _Kind.CLOCK.value)
"""With one of these begins, in the store, what a probe that counts for its commit was made for."""
