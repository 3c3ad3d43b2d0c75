"""PURE: how long repairs of a tree may take, relative to what building it takes, and what is said when they failed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cpubisect.builders.build import Repair

VAIN_SHARE = 0.25
"""The part of the limit that may pass in a row without anything mended. An include that does not help is known as soon
as its file is compiled, which takes seconds; a quarter of two builds is a hundred such files of MySQL."""

LEAST_BUILD_S = 60.0
"""A build counts as at least so long: the limit is for repairs that cost more than a look at them."""

_MOST_TOLD = 3


@dataclass(frozen=True)
class Budget:
    """What repairs of one tree may take and have taken; times in seconds of wall clock, looked at between two runs.

    `builds` is the limit as a multiple of `build_s`, what one build of the tree takes: within it lie all runs after the
    first failure, which compile the rest of the tree as well. `in_vain_s` is what has passed since something was
    mended.
    """

    builds: float
    build_s: float
    spent_s: float = 0.0
    in_vain_s: float = 0.0

    def after(self, seconds: float, *, mended: bool) -> "Budget":
        """The same after another run; `mended` if it showed that the last repairs helped."""
        in_vain = 0.0 if mended else self.in_vain_s + seconds
        return replace(self, spent_s=self.spent_s + seconds, in_vain_s=in_vain)

    def ended(self) -> str:
        """Why there is no time for further repairs; empty if there is."""
        limit = self.builds * max(self.build_s, LEAST_BUILD_S)
        if self.spent_s >= limit:
            return f"repairs took {self.spent_s:.0f} s, and may take {limit:.0f} s ({self.builds:g} builds)"
        if self.in_vain_s > limit * VAIN_SHARE:
            return f"{self.in_vain_s:.0f} s passed without anything mended, and {limit * VAIN_SHARE:.0f} s may"
        return ""


def whole_build_s(spent_s: float, done: int, expected: int) -> float:
    """What a build takes that has made `done` of `expected` compilations so far; what it took if they are unknown."""
    return spent_s * max(expected / done, 1.0) if done and expected else spent_s


def told(first_error: str, tried: Sequence[Repair], then: str) -> str:
    """What a failed build says: its first error as it was without repairs, which of them were tried, and what stopped
    the build `then` if it is something else."""
    if not tried:
        return first_error
    names = list(dict.fromkeys(f"{one.change} in {one.path}" if one.path else one.change for one in tried))
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    ending = f"; then {then}" if then else ""
    return f"{first_error} (repairs tried: {', '.join(names[:_MOST_TOLD])}{more}{ending})"
