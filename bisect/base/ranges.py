"""Version ranges as written in the files that people edit: `5.18 - 6.29`, `7.0 -`, `- 5.1`, `8.0.13` or `*`."""

import re
from dataclasses import dataclass
from typing import Self

from cpubisect.base.version import Version

_DASH = re.compile(r"(?:^|\s+)-(?:\s+|$)")
_FORMS = "write `5.18 - 6.29`, `7.0 -`, `- 5.1`, `8.0.13` or `*`"


@dataclass(frozen=True)
class VersionRange:
    """All releases from `low` to `high`, both included; None leaves that side open.

    Each end is compared by just the digits it gives, so an end of 6.29 includes 6.29.5. Milestone suffixes do not
    count: 5.7.2-m12 is as good as 5.7.2.
    """

    low: Version | None
    high: Version | None

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a range, as a file's reader found it; raises ValueError for anything that is not one line of text with a
        range, or whose low end is above the high one."""
        if not isinstance(text, str):
            raise ValueError(f"a version range is one line of text: {_FORMS}")
        if text.strip() == "*":
            return cls(None, None)
        ends = [end.strip() for end in _DASH.split(text.strip())]
        if len(ends) == 1:
            ends *= 2
        if len(ends) != 2 or not any(ends):
            raise ValueError(f"{text!r} is not a version range: {_FORMS}")
        low, high = (_end(end) if end else None for end in ends)
        if low is not None and high is not None and _digits(low, len(high.parts)) > high.parts:
            raise ValueError(f"the range {text!r} is empty: its low end is above its high end")
        return cls(low, high)

    def holds(self, version: Version) -> bool:
        """True if the release lies in the range."""
        if self.low is not None and _digits(version, len(self.low.parts)) < self.low.parts:
            return False
        return self.high is None or _digits(version, len(self.high.parts)) <= self.high.parts

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "*"
        if self.low is not None and self.high is not None and self.low.parts == self.high.parts:
            return str(self.low)
        return f"{self.low or ''} - {self.high or ''}".strip()


def _end(text: str) -> Version:
    try:
        return Version.read(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a version: {_FORMS}") from None


def _digits(version: Version, count: int) -> tuple[int, ...]:
    return (version.parts + (0,) * count)[:count]
