"""PURE: what an event is, what a journal holds of it, and those of no particular kind.

An event is plain data in the store, under its `kind`. One that a newer or an older program wrote is read as far as it
is understood: what it lacks has its default, what is unknown is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar


@dataclass(frozen=True)
class Event:
    """Something that happened; `test` is the one of several that it is about, empty where it is about all or there is
    but one; `variant` the kind of the builds that were asked, empty for ordinary ones; `kept` tells whether the journal
    keeps events of the class."""

    kind: ClassVar[str] = ""
    kept: ClassVar[bool] = True
    test: str = ""
    variant: str = ""

    @property
    def sentence(self) -> str:
        """One line for a person; empty for what need not be said."""
        said = self._sentence()
        return f"{self.test}: {said}" if said and self.test else said

    def _sentence(self) -> str:
        return ""

    def is_about(self, test: str) -> bool:
        """Whether it happened to this test, or to all of them."""
        return self.test in ("", test)

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data; test and variant only where there is one."""
        plain = asdict(self)
        for name in ("test", "variant"):
            if not plain[name]:
                del plain[name]
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`, forgiving what the data lacks or has too much."""
        known = cls.__dataclass_fields__
        return cls(**{name: _frozen(value) for name, value in data.items() if name in known})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


AnEvent = TypeVar("AnEvent", bound=Event)


class Watch(Protocol):
    """Who is told what happens, as it happens."""

    def __call__(self, event: Event) -> None:
        """Take one event."""


@dataclass(frozen=True)
class Entry:
    """An event in the journal: its number, which grows, and when it happened, in epoch seconds."""

    id: int
    at: float
    event: Event


class Latest:
    """The last event of each kind in some part of a journal."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """From entries in the order in which they happened."""
        self._entries = {type(entry.event): entry for entry in entries}

    def __getitem__(self, kind: type[AnEvent]) -> AnEvent | None:
        """The last event of one kind, None if there was none."""
        entry = self.entry(kind)
        return entry.event if entry and isinstance(entry.event, kind) else None

    def entry(self, kind: type[Event]) -> Entry | None:
        """The last event of one kind as it is in the journal, None if there was none."""
        return self._entries.get(kind)

    def newest(self, *kinds: type[Event], without: Sequence[type[Event]] = ()) -> Entry | None:
        """The very last event, of some kinds if any are given, and of none `without` them."""
        asked = (self._entries[kind] for kind in self._entries if kind not in without and (not kinds or kind in kinds))
        return max(asked, key=lambda entry: entry.id, default=None)

    def events(self) -> list[Event]:
        """All of them, the earliest first."""
        return [entry.event for entry in sorted(self._entries.values(), key=lambda entry: entry.id)]


@dataclass(frozen=True)
class Notice(Event):
    """Something that the asker should know before it begins."""

    kind = "notice"
    text: str = ""

    def _sentence(self) -> str:
        return self.text


@dataclass(frozen=True)
class Progress(Event):
    """What a long action is at; shown while it lasts, and not kept."""

    kind = "progress"
    kept = False
    text: str = ""


@dataclass(frozen=True)
class Unknown(Event):
    """An event of a kind that this program does not know."""

    kind = "unknown"


def span(seconds: float) -> str:
    """A duration in the units that a person would use."""
    whole = round(seconds)
    if whole < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
