"""PURE: what is asked of a bisection that was disturbed, beside one that was not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cpubisect.base.plain import Plain
from cpubisect.records.purpose import Purpose
from cpubisect.run.ends import END_REPEATS
from cpubisect.run.rise import CLOCK_ROUNDS
from cpubisect.search.evidence import MOST_COUNTS


@dataclass(frozen=True)
class Answer(Plain):
    """What a bisection says: the `kind` of its verdict, and its culprits in order. Groups are left out: with probes as
    small as these, counts of a test with a second thread make and hide the least of them."""

    kind: str = ""
    culprits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kept(Plain):
    """What a store holds of a bisection: builds that ended well by recipe and by commit, how often the journal says
    so by commit, artifacts that were found damaged by commit, and probes that ended well by `probe_key`."""

    answer: Answer
    recipes: Mapping[str, int] = field(default_factory=dict)
    built: Mapping[str, int] = field(default_factory=dict)
    told: Mapping[str, int] = field(default_factory=dict)
    damaged: Mapping[str, int] = field(default_factory=dict)
    probes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Record(Plain):
    """What became of one case: how it was disturbed, and what was not as it should be. `refused` are the lines with
    which a command ended by itself, `wrong` whatever else must not be."""

    number: int
    seed: int
    test: str
    way: str
    fault: str
    kills: Mapping[str, int]
    faults: int
    seconds: float
    builds: int = 0
    probes: int = 0
    builds_repeated: int = 0
    probes_repeated: int = 0
    orphans: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    answer: Answer = Answer()
    same: bool = False
    wrong: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def killed(self) -> int:
        """How many processes were."""
        return sum(self.kills.values())

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        amiss = self.builds_repeated or self.probes_repeated or self.orphans or self.leftovers or self.wrong
        return bool(self.skipped) or (self.same and not amiss)


def probe_key(recipe: str, sha: str, purpose: str) -> str:
    """By what probes are counted: a commit that is built by one recipe, and for what it is probed."""
    return f"{recipe} {sha} {purpose}"


def builds_repeated(kept: Kept) -> int:
    """Builds that had ended well and were made again, but where what was kept of one was found damaged."""
    rows = sum(number - 1 for number in kept.recipes.values())
    again = sum(max(0, told - kept.built.get(sha, 0) - kept.damaged.get(sha, 0)) for sha, told in kept.told.items())
    return rows + again


def probes_repeated(kept: Kept, undisturbed: Kept) -> int:
    """Probes that ended well beyond what is ever made for their purpose."""
    before = {key.partition(" ")[2]: number for key, number in undisturbed.probes.items()}
    repeats = _repeats(kept)
    return sum(max(0, made - _most(key.partition(" ")[2], before, repeats)) for key, made in kept.probes.items())


def _repeats(kept: Kept) -> int:
    """How often a search probes each commit: as often as both ends, where noise made it plan more than their first."""
    made = (number for key, number in kept.probes.items() if Purpose.of(key.split(" ", 2)[2]) == Purpose.SEARCH)
    _, second, *_ = (*sorted(made, reverse=True), 0, 0)
    return second if second > END_REPEATS else 1


def _most(key: str, before: Mapping[str, int], repeats: int) -> int:
    """How many probes of a commit a search makes for a purpose; of those that go on until they agree, the most."""
    purpose = Purpose.of(key.partition(" ")[2])
    planned = max(CLOCK_ROUNDS) if purpose.only_clock else MOST_COUNTS if purpose.only_counts else repeats
    return max(planned, before.get(key, 0))


def refusal(status: int, said: str) -> str:
    """What is wrong with how a command ended by itself; nothing if that was a verdict, or one line with exit code 2."""
    lines = [line for line in said.splitlines() if line.strip()]
    if "Traceback (most recent call last)" in said:
        return f"a traceback: {lines[-1]}"
    if status == 0:
        return ""
    if status != 2:
        return f"exit code {status}: {lines[-1] if lines else 'nothing said'}"
    return "" if lines and lines[-1].startswith("bisect: ") else "exit code 2 without a line that says why"


def totals(records: Sequence[Record]) -> Mapping[str, int]:
    """By kind of process how many were killed in all cases."""
    found: dict[str, int] = {}
    for record in records:
        for kind, number in record.kills.items():
            found[kind] = found.get(kind, 0) + number
    return found
