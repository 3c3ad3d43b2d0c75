"""PURE: what is asked of a bisection on a cluster that lost processes, beside one on one host that lost none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from soaking.crowd.plan import LOST, Part
from soaking.judgement import Answer, Kept, Record

_SHOWN = 12
"""Digits by which a purpose names a commit."""


@dataclass(frozen=True)
class CrowdRecord(Record):
    """What became of one case: of the builds that builders ended well, `made_twice` are those that another one had
    made, since it could not be told, and `may_be_lost` is what was at most on its way when something was killed."""

    made_twice: int = 0
    may_be_lost: int = 0

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return super().good and self.made_twice <= self.may_be_lost


def may_be_lost(kills: Mapping[str, int]) -> int:
    """So many builds may have been made in vain, by what was killed how often."""
    return sum(LOST[Part(part)] * number for part, number in kills.items())


def made_twice(made: Sequence[Mapping[str, int]]) -> int:
    """Builds of commits that were made before, of those that each builder has made."""
    total: dict[str, int] = {}
    for own in made:
        for sha, number in own.items():
            total[sha] = total.get(sha, 0) + number
    return sum(number - 1 for number in total.values())


def numbered(kept: Kept, shas: Sequence[str]) -> Kept:
    """What a store holds with the commits by their numbers in the history, so that it can be compared with that of
    another history of the same shape."""

    def named(text: str) -> str:
        for number, sha in enumerate(shas):
            text = text.replace(sha, f"c{number}").replace(sha[:_SHOWN], f"c{number}")
        return text

    return replace(
        kept,
        answer=Answer(kept.answer.kind, tuple(named(sha) for sha in kept.answer.culprits)),
        **{
            part: {named(key): number for key, number in getattr(kept, part).items()}
            for part in ("built", "told", "damaged", "probes")
        },
    )
