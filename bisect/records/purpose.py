"""What a probe was made for: a type here, a short text in the store."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

_MEASURING = re.compile(r"(search|clock)(?: (\S+)(?: against (\S+))?)?(?: link ([1-9][0-9]{0,8}))?")
_LINKS = range(10**9)
_SHOWN = 12
"""Digits of a commit that tell its rounds from those of others."""


class _Kind(StrEnum):
    SEARCH = "search"
    CLOCK = "clock"
    WITH = "with"
    ASK = "ask"
    UNKNOWN = ""


@dataclass(frozen=True)
class Purpose:
    """Why a probe is made; `str` gives its form in the store, `of` reads that.

    `SEARCH` is to count instructions and CPU time, `CLOCK` only CPU time, both for the search; `count` and `clock` are
    the same of one commit in rounds of its own, perhaps `against` a parent; `trial` is to see what other settings do,
    `ask` only what variables a server has with them.
    `text` is those settings or, if this program does not know the purpose, all that the store says. `link` is 0 for
    the build as it was linked, else the number of a redraw of it: the same objects linked again in another order.
    """

    kind: _Kind
    sha: str = ""
    against: str = ""
    text: str = ""
    link: int = 0

    SEARCH: ClassVar["Purpose"]
    CLOCK: ClassVar["Purpose"]

    @classmethod
    def clock(cls, sha: str, against: str = "") -> "Purpose":
        """CPU time of one commit beside others: rounds of their own, so that all are probed anew, interleaved."""
        return cls(_Kind.CLOCK, sha[:_SHOWN], against[:_SHOWN])

    @classmethod
    def count(cls, sha: str, against: str) -> "Purpose":
        """Instructions of one commit against a parent, and of that: counts that had no part in the search."""
        return cls(_Kind.SEARCH, sha[:_SHOWN], against[:_SHOWN])

    @classmethod
    def trial(cls, settings: Mapping[str, str]) -> "Purpose":
        """What the test measures with other settings than the question's."""
        return cls(_Kind.WITH, text=",".join(f"{name}={value}" for name, value in sorted(settings.items())))

    @classmethod
    def ask(cls, settings: Mapping[str, str]) -> "Purpose":
        """The variables that a server has with other settings than the question's, or with those if there are none."""
        return replace(cls.trial(settings), kind=_Kind.ASK)

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(stored: str) -> "Purpose":
        """The inverse of `str`; any text has one, and gives itself back."""
        if known := _MEASURING.fullmatch(stored):
            return Purpose(_Kind(known[1]), known[2] or "", known[3] or "", link=int(known[4] or 0))
        word, space, settings = stored.partition(" ")
        if (word == _Kind.WITH and space) or (word == _Kind.ASK and bool(settings) == bool(space)):
            return Purpose(_Kind(word), text=settings)
        return Purpose(_Kind.UNKNOWN, text=stored)

    def linked(self, link: int) -> "Purpose":
        """The same of the build's redraw with that number, 0 being the build as it was linked; raises ValueError for a
        purpose that is neither to search nor to clock, and for a number that is none."""
        if self.kind not in (_Kind.SEARCH, _Kind.CLOCK) or link not in _LINKS:
            raise ValueError(f"there is no link {link} for {str(self)!r}")
        return replace(self, link=link)

    def __str__(self) -> str:
        if self.kind is _Kind.UNKNOWN:
            return self.text
        if self.kind is _Kind.WITH or self.text:
            return f"{self.kind} {self.text}"
        parts = (self.kind, self.sha, self.against and f"against {self.against}", self.link and f"link {self.link}")
        return " ".join(part for part in parts if part)

    @property
    def counts(self) -> bool:
        """Whether what a probe says counts for its commit, wherever costs are shown or compared: it was made with the
        question's own settings, of the build as it was linked. A redraw has another layout, and by another linker: its
        readings are compared with those of redraws only."""
        return self.kind in (_Kind.SEARCH, _Kind.CLOCK) and not self.link

    @property
    def only_counts(self) -> bool:
        """Whether nothing but instructions is asked for."""
        return self.kind is _Kind.SEARCH and bool(self.sha)

    @property
    def clocks(self) -> bool:
        """Whether CPU time is asked for: what other settings do is told by instructions."""
        return self.kind is not _Kind.WITH and not self.only_counts

    @property
    def only_asks(self) -> bool:
        """Whether nothing is measured."""
        return self.kind is _Kind.ASK

    @property
    def only_clock(self) -> bool:
        """Whether nothing but CPU time is asked for."""
        return self.kind is _Kind.CLOCK


Purpose.SEARCH = Purpose(_Kind.SEARCH)
Purpose.CLOCK = Purpose(_Kind.CLOCK)

AS_ASKED = (_Kind.SEARCH.value, _Kind.CLOCK.value)
"""With one of these begins, in the store, what a probe with the question's own settings was made for."""
