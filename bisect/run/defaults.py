"""Is it the code or a default? The bad end is probed again with the good end's values of changed variables."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Protocol

from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import counted, instructions
from cpubisect.records.rows import ProbeRow
from cpubisect.run.measuring import Unobservable
from cpubisect.search.ends import changed_defaults
from cpubisect.search.stats import Step, step
from cpubisect.search.verdict import ChangedDefault, Culprit

EXPLAINS = 0.8
"""A default explains the step if restoring it removes this part of it."""

MOST_EXPLAINED = 0.95
"""However much goes with a variable, other commits can have changed it by other means."""

DEFAULTS, PINNED, SERVERS_OWN = "defaults", "pinned", "server"
"""The setting that says whose defaults a server has, and its two values."""

_SWITCHES = re.compile(r"\w+=\w+(,\w+=\w+)*")
_WHOLE = re.compile(r"(-?[0-9]+)\.0+")
_ON_OFF = {"ON": "1", "OFF": "0", "YES": "1", "NO": "0", "TRUE": "1", "FALSE": "0"}

Start = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Starts a server with some values of variables and says which it then has; raises Unobservable if it refuses."""


class Prober(Protocol):
    """The part of the lab that is needed here."""

    def probes(self, sha: str, purpose: Purpose, count: int) -> Sequence[ProbeRow]:
        """As `Lab.probes`."""

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        """As `Lab.probe_with`."""

    def ask(self, sha: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        """As `Lab.ask`."""

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        """As `Lab.setting_of`."""


@dataclass(frozen=True)
class Restored:
    """What came of giving bad the values that good's server has: `explaining` are the changed defaults that make the
    step in `metric`, and `explained` is the part of it that goes with them, as a ratio below 1; `given` by variable is
    what bad's server was given for its value, and `refused` why it could not be."""

    explaining: tuple[ChangedDefault, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    metric: str = INSTRUCTIONS
    explained: float = 0.0

    @property
    def tried(self) -> bool:
        """Whether there was any."""
        return bool(self.given or self.refused)

    @property
    def shares(self) -> dict[str, float]:
        """What part of the step which variable makes, as a ratio: those that explain it what restoring them takes away,
        and those that could not be given a value half of what that leaves."""
        explaining = {one.variable: self.explained / len(self.explaining) for one in self.explaining}
        doubtful = (1 - self.explained) / 2 / max(1, len(self.refused))
        return {**explaining, **dict.fromkeys(self.refused, doubtful)} if explaining else {}

    @property
    def values(self) -> dict[str, tuple[str, str]]:
        """Good's and bad's values of the variables that explain the step."""
        return {one.variable: (one.good, one.bad) for one in self.explaining}


NOTHING_RESTORED = Restored()


def explain_by_defaults(lab: Prober, good: str, bad: str, metric: str = INSTRUCTIONS) -> Restored:
    """The changed defaults that explain the step in a metric that is counted; none if the code does.

    All changed variables that bad's server takes good's values of are restored at once; if that removes the step, half
    of them are dropped as long as the rest still does. Unpinned variables only: what the probe sets itself is equal on
    both sides. Those that no user might set, of files and the like, are left alone.
    """
    good_rows, bad_rows = (lab.probes(sha, Purpose.SEARCH, 1) for sha in (good, bad))
    differing = changed_defaults(good_rows[0].variables, bad_rows[0].variables)
    changed = {
        name: values for name, values in sorted(differing.items()) if values[0] and lab.setting_of(name, lenient=True)
    }
    if not changed:
        return NOTHING_RESTORED
    base, whole = counted(good_rows, metric)[0], counted(bad_rows, metric)[0]

    def start(values: Mapping[str, str]) -> Mapping[str, str]:
        return lab.ask(bad, _settings(lab, values))

    given, refused = acceptable({name: forms(*values) for name, values in changed.items()}, start)

    def explained(names: list[str]) -> float:
        try:
            trial = lab.probe_with(bad, _settings(lab, {name: given[name] for name in names}))
        except Unobservable:
            return 0.0
        return (whole - counted([trial], metric)[0]) / (whole - base)

    names = sorted(given)
    if not names or explained(names) < EXPLAINS:
        return Restored((), given, refused, metric)
    for half in _halvings(names):
        kept = [name for name in names if name not in half]
        if kept and explained(kept) >= EXPLAINS:
            names = kept
    part = min(MOST_EXPLAINED, explained(names))
    return Restored(tuple(ChangedDefault(name, *changed[name]) for name in names), given, refused, metric, part)


def own_defaults(lab: Prober, good: str, bad: str, given: Mapping[str, str]) -> Step | None:
    """What good and bad differ by in instructions when each server keeps its own defaults; None where they were not
    pinned in the first place, by the settings `given`, or a server does not start with its own."""
    if given.get(DEFAULTS) != PINNED:
        return None
    try:
        before, after = (instructions([lab.probe_with(sha, {DEFAULTS: SERVERS_OWN})]) for sha in (good, bad))
    except Unobservable:
        return None
    return step(before, after)


def with_commits(lab: Prober, restored: Restored, culprits: Sequence[Culprit]) -> tuple[ChangedDefault, ...]:
    """The changed defaults that explain the step, each with the culprit that changed it, if one did, and that commit's
    step with the values that its parent's server has."""
    found = []
    for default in restored.explaining:
        by = next((one for one in culprits if default.variable in {change.name for change in one.variables}), None)
        found.append(default if by is None else _of_commit(lab, default, restored, by))
    return tuple(found)


def _of_commit(lab: Prober, default: ChangedDefault, restored: Restored, culprit: Culprit) -> ChangedDefault:
    own = {change.name for change in culprit.variables}
    values = {one.variable: restored.given[one.variable] for one in restored.explaining if one.variable in own}
    try:
        pinned = counted([lab.probe_with(culprit.sha, _settings(lab, values))], restored.metric)
        before = [median(counted(lab.probes(culprit.parent, Purpose.SEARCH, 1), restored.metric))]
        change = step(before, pinned)
    except Unobservable:
        return replace(default, commit=culprit.sha)
    return replace(default, commit=culprit.sha, pinned=change.percent)


def _settings(lab: Prober, values: Mapping[str, str]) -> dict[str, str]:
    return {lab.setting_of(name, lenient=True): value for name, value in values.items()}


def forms(good: str, bad: str) -> tuple[str, ...]:
    """How an option may take a value that a server reports, the likeliest first: as it is; a switch by its number; of a
    list of switches those that the other server, with its `bad` value, has too; a whole number without decimals."""
    told = [good]
    if (number := _ON_OFF.get(good.upper())) is not None:
        told.append(number)
    if _SWITCHES.fullmatch(good) and _SWITCHES.fullmatch(bad):
        known = {one.partition("=")[0] for one in bad.split(",")}
        told.append(",".join(one for one in good.split(",") if one.partition("=")[0] in known))
    if whole := _WHOLE.fullmatch(good):
        told.append(whole[1])
    return tuple(dict.fromkeys(one for one in told if one))


def acceptable(wanted: Mapping[str, Sequence[str]], start: Start) -> tuple[dict[str, str], dict[str, str]]:
    """The values that a server starts with, all at once, and by variable why it does not take the others.

    `wanted` has the forms to try of each variable's value, `start` does so. A variable that the server's words name is
    the one it refuses; where they name none, halving finds one, which is tried again with what is left in the end. A
    server without a variable, or that does not let it be set, starts and keeps its own.
    """
    forms_left = {name: list(values) for name, values in wanted.items()}
    chosen = {name: values.pop(0) for name, values in forms_left.items()}
    refused: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    while chosen:
        why = _refusal(start, chosen)
        if why is None:
            break
        blamed = _named(why, chosen)
        if not blamed:
            blamed = [_first_refused(chosen, start)]
            doubtful[blamed[0]] = chosen[blamed[0]]
        for name in blamed:
            refused[name] = why
            if forms_left[name]:
                chosen[name] = forms_left[name].pop(0)
            else:
                del chosen[name]
    for name, value in doubtful.items():
        if _refusal(start, {**chosen, name: value}) is None:
            chosen[name] = value
    taken = start(chosen) if chosen else {}
    for name in [name for name, value in chosen.items() if not _took(taken.get(name), value, wanted[name])]:
        refused[name] = "the server keeps its own value"
        del chosen[name]
    return chosen, {name: why for name, why in refused.items() if name not in chosen}


def _took(told: str | None, given: str, values: Sequence[str]) -> bool:
    """Whether a server that says so took a value: it says what the other server does or, of a list of switches, at
    least what it was given."""
    return told is not None and (told in values or set(given.split(",")) <= set(told.split(",")))


def _refusal(start: Start, values: Mapping[str, str]) -> str | None:
    """Why a server does not start with some values; None if it does."""
    try:
        start(values)
    except Unobservable as reason:
        return str(reason)
    return None


def _named(why: str, names: Mapping[str, str]) -> list[str]:
    """The variables that some words name."""
    words = {word.replace("-", "_") for word in re.findall(r"[\w-]+", why.lower())}
    return [name for name in names if words & {name.lower(), f"loose_{name.lower()}"}]


def _first_refused(values: Mapping[str, str], start: Start) -> str:
    """The last variable of the shortest beginning of some that is refused, if a longer one always is."""
    names = list(values)
    low, high = 0, len(names)
    while high - low > 1:
        middle = (low + high) // 2
        if _refusal(start, {name: values[name] for name in names[:middle]}) is None:
            low = middle
        else:
            high = middle
    return names[high - 1]


def _halvings(names: list[str]) -> Iterator[list[str]]:
    """Parts to try leaving out: halves, then quarters, down to single names."""
    size = len(names) // 2
    while size >= 1:
        yield from [names[i : i + size] for i in range(0, len(names), size)]
        size //= 2
