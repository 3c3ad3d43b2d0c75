"""PURE: the events of a comparison of versions."""

from dataclasses import dataclass

from cpubisect.search.events.event import Event, span


@dataclass(frozen=True)
class Comparing(Event):
    """A comparison begins or goes on: versions with their commits, and how much there is to measure in all."""

    kind = "comparing"
    names: tuple[str, ...] = ()
    shas: tuple[str, ...] = ()
    rows: int = 0
    rounds: int = 0
    probes: int = 0

    def _sentence(self) -> str:
        sides = ", ".join(
            name if sha.startswith(name) else f"{name} ({sha[:12]})"
            for name, sha in zip(self.names, self.shas, strict=False)
        )
        tests = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"comparing {sides}: {tests} of tests, {self.rounds} rounds, {self.probes} probes"


@dataclass(frozen=True)
class RoundDone(Event):
    """A round of probes is done; `left` are the seconds that the others will take at its pace."""

    kind = "round-done"
    number: int = 0
    of: int = 0
    left: float = 0.0

    def _sentence(self) -> str:
        more = f"; about {span(self.left)} left" if self.number < self.of and self.left else ""
        return f"round {self.number} of {self.of} is done{more}"


@dataclass(frozen=True)
class LeftOut(Event):
    """A version is left out of a row, or where that is not named of all: it cannot be built or probed."""

    kind = "left-out"
    sha: str = ""
    name: str = ""
    row: str = ""
    why: str = ""

    def _sentence(self) -> str:
        return f"{self.name} is left out{f' of {self.row}' if self.row else ''}: {self.why}"


@dataclass(frozen=True)
class Compared(Event):
    """All rounds are done."""

    kind = "compared"

    def _sentence(self) -> str:
        return "all rounds are done"
