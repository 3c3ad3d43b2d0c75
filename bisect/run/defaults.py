"""Is it the code or a default? The bad end is probed again with the good end's values of changed variables."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import instructions
from cpubisect.records.store import ProbeRow
from cpubisect.run.measuring import Unobservable
from cpubisect.search.ends import changed_defaults
from cpubisect.search.verdict import ChangedDefault

EXPLAINS = 0.8
"""A default explains the step if restoring it removes this part of it."""


class Prober(Protocol):
    """The part of the lab that is needed here."""

    def probes(self, sha: str, purpose: Purpose, count: int) -> Sequence[ProbeRow]:
        """As `Lab.probes`."""

    def probe_with(self, sha: str, settings: Mapping[str, str]) -> ProbeRow:
        """As `Lab.probe_with`."""

    def setting_of(self, variable: str, *, lenient: bool = False) -> str:
        """As `Lab.setting_of`."""


def explain_by_defaults(lab: Prober, good: str, bad: str) -> tuple[ChangedDefault, ...]:
    """The changed defaults that explain the step in instructions; empty if the code does.

    All changed variables are restored at once first; if that removes the step, half of them are dropped as long as
    the rest still does. Unpinned variables only: what the probe sets itself is equal on both sides.
    """
    good_rows, bad_rows = (lab.probes(sha, Purpose.SEARCH, 1) for sha in (good, bad))
    differing = changed_defaults(good_rows[0].variables, bad_rows[0].variables)
    changed = {name: values for name, values in differing.items() if values[0]}
    if not changed:
        return ()
    base, whole = instructions(good_rows)[0], instructions(bad_rows)[0]

    def restores(names: list[str]) -> bool:
        settings = {lab.setting_of(name, lenient=True): changed[name][0] for name in names}
        try:
            restored = instructions([lab.probe_with(bad, settings)])[0]
        except Unobservable:
            return False
        return (whole - restored) / (whole - base) >= EXPLAINS

    names = sorted(changed)
    if not restores(names):
        return ()
    for half in _halvings(names):
        kept = [name for name in names if name not in half]
        if kept and restores(kept):
            names = kept
    return tuple(ChangedDefault(name, *changed[name]) for name in names)


def _halvings(names: list[str]) -> list[list[str]]:
    """Parts to try leaving out: halves, then quarters, down to single names."""
    parts: list[list[str]] = []
    size = len(names) // 2
    while size >= 1:
        parts += [names[i : i + size] for i in range(0, len(names), size)]
        size //= 2
    return parts
