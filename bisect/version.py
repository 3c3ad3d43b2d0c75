"""Release versions: parsed from names and version files, compared as numbers."""

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Self

_NAME = re.compile(r"(?:[a-z]+-)?v?(\d+(?:\.\d+)+)(?:-?([a-z][a-z0-9]*))?", re.IGNORECASE)


@total_ordering
@dataclass(frozen=True)
class Version:
    """A release number such as 5.6.51; `suffix` keeps a milestone (`m9`, `rc`, `dev`), which never orders."""

    parts: tuple[int, ...]
    suffix: str = ""

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read `5.6.51`, `v8.11.4`, `mysql-5.6.51` or `5.6.6-m9`; raises ValueError for anything else."""
        match = _NAME.fullmatch(name.strip())
        if match is None:
            raise ValueError(f"not a version: {name!r}")
        return cls(tuple(int(part) for part in match[1].split(".")), (match[2] or "").lower())

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
