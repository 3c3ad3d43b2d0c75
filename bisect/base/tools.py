"""What a host must have for something to work: programs and headers, with the packages that bring them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A program: `needed_for` says what can't be done without it; `vital` if that is measuring or building at all."""

    program: str
    package: str
    needed_for: str
    vital: bool = True


@dataclass(frozen=True)
class Header:
    """A header that a build includes, and the package that brings it."""

    path: str
    package: str
    needed_for: str
