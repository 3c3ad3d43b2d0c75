"""By whose flags commits are compiled."""

from enum import StrEnum


class Flags(StrEnum):
    """`pinned`: one set for all commits, so that a step is one of the code; `release`: each tree's own release build,
    as it is run by its users, with the instruction set pinned and what it takes to compile at all."""

    PINNED = "pinned"
    RELEASE = "release"

    @property
    def other(self) -> "Flags":
        """The one that this is not."""
        return Flags.RELEASE if self is Flags.PINNED else Flags.PINNED
