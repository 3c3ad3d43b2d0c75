"""PURE: the events with which a bisection ends, and those of a report on a ticket."""

from dataclasses import dataclass

from cpubisect.search.events.event import Event


@dataclass(frozen=True)
class Answered(Event):
    """A verdict was reached."""

    kind = "verdict"
    kind_of: str = ""
    summary: str = ""

    def _sentence(self) -> str:
        return f"{self.kind_of}: {self.summary}"


@dataclass(frozen=True)
class Stopped(Event):
    """The run ended without an answer, by an error."""

    kind = "stopped"
    why: str = ""

    def _sentence(self) -> str:
        return f"stopped: {self.why}"


@dataclass(frozen=True)
class _OfTicket(Event):
    """The report and a ticket: `where` it goes, under which `marker`; files go to `folder`."""

    marker: str = ""
    where: str = ""
    folder: str | None = None
    url: str = ""


@dataclass(frozen=True)
class Attaching(_OfTicket):
    """The report is about to be posted: whether it was, only the ticket knows until `Attached` follows."""

    kind = "attaching"

    def _sentence(self) -> str:
        return f"attaching the report: {self.where}"


@dataclass(frozen=True)
class Attached(_OfTicket):
    """The report is at `url`, or if that is empty in files."""

    kind = "attached"

    def _sentence(self) -> str:
        return f"the report is attached: {self.url or self.where}"
