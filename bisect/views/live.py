"""What the terminal shows while a bisection runs: a line for each event, and the current state below on a terminal."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from cpubisect.search.events import (
    BuildFinished,
    BuildReused,
    BuildStarted,
    BuildWithdrawn,
    Event,
    GoodSide,
    Joined,
    ProbeFinished,
    ProbeStarted,
    Progress,
    Range,
    Redrawing,
    span,
)


class Display:
    """Prints to standard error. `expected` builds and `done` ones give the time left, once a build's time is known."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._action = "starting"
        self._detail = ""
        self._since = time.monotonic()
        self._started = time.monotonic()
        self._building: dict[str, None] = {}
        self._builds = 0
        self._probes = 0
        self._expected = 0
        self._build_seconds: list[float] = []
        self._live = Live(console=self._console, get_renderable=self._state, refresh_per_second=2, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.quiet:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take one event of the journal."""
        match event:
            case Progress():
                self._detail = event.text
                return
            case BuildReused():
                self._builds += 1
            case BuildFinished():
                self._builds += 1
                if event.outcome == "built":
                    self._build_seconds.append(event.wall_seconds)
            case ProbeFinished():
                self._probes += 1
            case Range():
                self._expected = event.expected_builds
            case GoodSide():
                self._expected += event.expected_builds
            case Joined() if not event.inside:
                self._expected = event.expected_builds
        if isinstance(event, BuildStarted):
            self._building[event.sha] = None
        elif isinstance(event, BuildFinished | BuildWithdrawn):
            self._building.pop(event.sha, None)
        line = event.sentence
        if isinstance(event, BuildStarted | ProbeStarted | Redrawing):
            self._action, self._detail, self._since = line, "", time.monotonic()
            if self._live.is_started:
                return
        if line:
            self._console.print(f"[dim]{time.strftime('%H:%M:%S')}[/dim] {escape(line)}", soft_wrap=True)

    def _state(self) -> Text:
        builds = f"builds {self._builds} of about {max(self._expected, self._builds)}" if self._expected else "builds 0"
        several = [f"{len(self._building)} builds under way"] if len(self._building) > 1 else []
        parts = [
            *several,
            f"{self._action} {self._detail}".strip() + f" ({span(time.monotonic() - self._since)})",
            builds,
            f"probes {self._probes}",
            f"running {span(time.monotonic() - self._started)}",
        ]
        if self._build_seconds and self._expected > self._builds:
            left = (self._expected - self._builds) * sum(self._build_seconds) / len(self._build_seconds)
            parts.append(f"about {span(left)} left")
        return Text(" · ".join(parts), style="cyan", overflow="ellipsis", no_wrap=True)
