"""PURE: which candidates changed the value of a server's variable: those that touch its definition, and those whose
messages say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cpubisect.search.claims import Candidates, Claim, Parts, by_rarity, divide, strongest_of_each

PARTS = Parts(named=6.0, same_file=0.3, said=3.0, unclaimed=0.7)
"""Of 41 defaults that changed between two trees of MySQL 5.6 the commit that did it was the first by its diff, which
names the definition (`benchmarks/evidence.py`). What a definition says is not always what a server does, though:
`performance_schema` was ON by its definition and OFF in the server until its tables were sized, by a commit that only
the message tells. How often that is, is a judgement: the parts for messages and for none are for it."""

SAID_DEFAULT = "default"
"""A message that has this word too speaks of a variable's value, not of what it is for."""


@dataclass(frozen=True)
class Setting:
    """A variable whose changed value makes a part of the step (`share`, a ratio): the identifiers of its definition,
    and the files that has been in."""

    name: str
    share: float
    words: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


def claims(candidates: Candidates, setting: Setting) -> list[Claim]:
    """What part of a variable's change each candidate likely made, as a ratio, by each reason; what is left is
    anybody's."""
    return divide(PARTS, *kinds(candidates, setting))


def kinds(candidates: Candidates, setting: Setting) -> tuple[list[Claim], list[Claim], list[Claim]]:
    """The claims by what the diffs name, by the files they touch, and by what the messages say."""
    return (
        by_rarity(f"variable {setting.name}:", setting.words, candidates.by_word),
        by_rarity("file", setting.files, candidates.by_file),
        _said(setting.name, candidates.by_message),
    )


def _said(name: str, touchers: Mapping[str, Sequence[int]]) -> list[Claim]:
    """Those whose messages have all words of a name, the louder with SAID_DEFAULT."""
    naming = set.intersection(*(set(touchers.get(part, ())) for part in name.lower().split("_") if part))
    louder = naming & set(touchers.get(SAID_DEFAULT, ()))
    return strongest_of_each(
        Claim(number, f"message: {name}{told}", len(numbers) ** -2.0)
        for told, numbers in ((f" {SAID_DEFAULT}", louder), ("", naming))
        for number in sorted(numbers)
    )
