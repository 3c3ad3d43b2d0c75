"""Release versions: parsed from names and version files, compared as numbers."""

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Self

_DOTTED = re.compile(r"(?:[a-z]+-)*v?(\d+(?:\.\d+)+)(?:-?([a-z][a-z0-9]*)|-(\d+))?", re.IGNORECASE)
# One number alone is no version, and with any other word behind it may be a branch: REL_17_STABLE.
_MILESTONE = r"(?:alpha|beta|rc)\d+"
_UNDERSCORED = re.compile(rf"(?:[a-z]+_?)?(?:(\d+(?:_\d+)+)(?:_({_MILESTONE}))?|(\d+)_({_MILESTONE}))", re.IGNORECASE)


@total_ordering
@dataclass(frozen=True)
class Version:
    """A release number such as 5.6.51; `suffix` keeps a milestone (`m9`, `rc`, `dev`) or the number of a fork's own
    release (`27` of 8.0.35-27), neither of which orders."""

    parts: tuple[int, ...]
    suffix: str = ""

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read `5.6.51`, `v8.11.4`, `mysql-5.6.51`, `5.6.6-m9`, `Percona-Server-8.0.35-27`, or with underscores
        `REL_17_2`, `REL9_6_24`, `REL_17_BETA1`; raises ValueError for anything else."""
        match = _DOTTED.fullmatch(name.strip()) or _UNDERSCORED.fullmatch(name.strip())
        if match is None:
            raise ValueError(f"not a version: {name!r}")
        numbers, *suffixes = filter(None, match.groups())
        return cls(tuple(map(int, re.split("[._]", numbers))), "".join(suffixes).lower())

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a version from where nothing else can stand: as `parse`, and a single number such as `17`; raises
        ValueError for anything else."""
        return cls((int(text),)) if text.strip().isdecimal() else cls.parse(text)

    def __str__(self) -> str:
        return ".".join(map(str, self.parts)) + (f"-{self.suffix}" if self.suffix else "")

    def __lt__(self, other: "Version") -> bool:
        width = max(len(self.parts), len(other.parts))
        return self._padded(width) < other._padded(width)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        width = max(len(self.parts), len(other.parts))
        return self._padded(width) == other._padded(width)

    def __hash__(self) -> int:
        trimmed = self.parts
        while trimmed and trimmed[-1] == 0:
            trimmed = trimmed[:-1]
        return hash(trimmed)

    def _padded(self, width: int) -> tuple[int, ...]:
        return self.parts + (0,) * (width - len(self.parts))
