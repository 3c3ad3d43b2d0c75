"""What a bisection said, whichever search it used: the commits it named, and those that it could not tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from cpubisect.base.metrics import CPU
from cpubisect.search.verdict import Culprit, Group, Kind, Verdict


@dataclass(frozen=True)
class Named:
    """A culprit: its `number`, the step against its parent in `percent` with the 99 % interval from `low` to `high`,
    and the probability that was stated for it, if one was."""

    number: int
    percent: float
    low: float
    high: float
    probability: float | None

    @classmethod
    def of(cls, culprit: Culprit, metric: str) -> Self:
        """What the product says of one, by the metric that was searched on."""
        step = culprit.steps[metric]
        return cls(int(culprit.sha), step.percent, step.low, step.high, culprit.probability)


@dataclass(frozen=True)
class Result:
    """The `kind` of an answer, the culprits that are `named`, `groups` as pairs of the numbers after which and until
    which a step is, and for an answer that names nothing the smallest step, in percent, that would have been seen."""

    kind: str
    named: tuple[Named, ...] = ()
    groups: tuple[tuple[int, int], ...] = ()
    visible: float | None = None

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """What the product says. An answer that is neither a culprit nor a choice of commits names nothing."""
        if verdict.kind not in (Kind.CULPRIT, Kind.ONE_OF):
            return cls(verdict.kind.value, visible=verdict.smallest_visible.get(CPU))
        return cls.found(verdict.culprits, verdict.groups, verdict.kind.value, verdict.metric)

    @classmethod
    def found(
        cls, culprits: Sequence[Culprit], groups: Sequence[Group], kind: str | None = None, metric: str = CPU
    ) -> Self:
        """Culprits, and groups of commits that can't be told apart."""
        pairs = tuple((int(group.after), int(group.until)) for group in groups)
        named = tuple(Named.of(culprit, metric) for culprit in culprits)
        return cls(kind or (Kind.CULPRIT if culprits else Kind.ONE_OF).value, named, pairs)

    def unstated(self) -> Self:
        """The same without probabilities: those of a search that states none."""
        return replace(self, named=tuple(replace(one, probability=None) for one in self.named))
