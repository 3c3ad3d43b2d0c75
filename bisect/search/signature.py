"""PURE: the signature of a step: the functions that grew, and by how much, so that one commit can be asked for it.

A commit on a branch differs in total from both ends by all else that its branch lacks; of the functions that make the
step it has either the cost before or the cost after it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from cpubisect.search.costs import Cost, by_bare_name, named_changes, net_of_shifts

HAS = 0.5
"""A commit has the step if it shows this part of it: what else differs counts as much for either side."""

TELLING = 0.05
"""A function that grew by less than this part of the one that grew most tells nothing of the step."""


@dataclass(frozen=True)
class Signature:
    """What functions, by bare name, cost `before` a step, and what they grew by, all in the wanted direction."""

    before: Mapping[str, float]
    growth: Mapping[str, float]

    @classmethod
    def of(cls, before: Cost, after: Cost, direction: int) -> Self | None:
        """That of what two costs differ by, cost that only moved netted out; None where no functions are known or none
        grew."""
        if not before.functions or not after.functions:
            return None
        changes = net_of_shifts(named_changes(before, after))
        grown = {name: change for name, change in changes.items() if change * direction > 0}
        most = max(map(abs, grown.values()), default=0.0)
        growth = {name: change for name, change in grown.items() if abs(change) >= TELLING * most}
        return cls(by_bare_name(before.functions), growth) if growth else None

    def share(self, cost: Cost) -> float:
        """How much of the step a cost shows, as a ratio: what its functions have grown by, projected on what they grow
        by in the step."""
        functions = by_bare_name(cost.functions)
        shown = sum(
            (functions.get(name, 0.0) - self.before.get(name, 0.0)) * grown for name, grown in self.growth.items()
        )
        return shown / sum(grown * grown for grown in self.growth.values())
