"""What the terminal shows while a bisection runs: a line for each event, and the current state below on a terminal."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from cpubisect.workloads.probe import CPU, INSTRUCTIONS


class Display:
    """Prints to standard error. `expected` builds and `done` ones give the time left, once a build's time is known."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._action = "starting"
        self._detail = ""
        self._since = time.monotonic()
        self._started = time.monotonic()
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

    def __call__(self, kind: str, **data: Any) -> None:
        """Take one event of the journal."""
        if kind == "progress":
            self._detail = str(data["text"])
            return
        if kind in ("build-finished", "build-reused"):
            self._builds += 1
        if kind == "build-finished" and data["outcome"] == "built":
            self._build_seconds.append(float(data["wall_seconds"]))
        if kind == "probe-finished":
            self._probes += 1
        if kind in ("range", "joined"):
            self._expected = self._expected if data.get("inside") else int(data["expected_builds"])
        line = describe(kind, data)
        if kind in ("build-started", "probe-started"):
            self._action, self._detail, self._since = line, "", time.monotonic()
            if self._live.is_started:
                return
        if line:
            self._console.print(f"[dim]{time.strftime('%H:%M:%S')}[/dim] {escape(line)}", soft_wrap=True)

    def _state(self) -> Text:
        builds = f"builds {self._builds} of about {max(self._expected, self._builds)}" if self._expected else "builds 0"
        parts = [
            f"{self._action} {self._detail}".strip() + f" ({span(time.monotonic() - self._since)})",
            builds,
            f"probes {self._probes}",
            f"running {span(time.monotonic() - self._started)}",
        ]
        if self._build_seconds and self._expected > self._builds:
            left = (self._expected - self._builds) * sum(self._build_seconds) / len(self._build_seconds)
            parts.append(f"about {span(left)} left")
        return Text(" · ".join(parts), style="cyan", overflow="ellipsis", no_wrap=True)


def latest(events: Sequence[tuple[int, float, str, dict[str, Any]]], kinds: Sequence[str]) -> list[str]:
    """The last event of each kind, in the order of the kinds, as lines for a person."""
    found = {kind: describe(kind, data) for _, _, kind, data in events if kind in kinds}
    return [found[kind] for kind in kinds if kind in found]


def describe(kind: str, data: dict[str, Any]) -> str:
    """One line for a person about one event; empty for what need not be said."""
    line = _told(kind, data)
    test = f"{data['test']}: " if line and data.get("test") and not kind.startswith("build-") else ""
    return test + line


def _told(kind: str, data: dict[str, Any]) -> str:
    sha = str(data.get("sha", ""))[:12]
    match kind:
        case "notice":
            return str(data["text"])
        case "range":
            fork = f", fork point {data['fork'][:12]}" if data.get("fork") else ""
            return (
                f"{data['candidates']} candidates in {data['classes']} classes{fork}; "
                f"about {data['expected_builds']} builds are likely"
            )
        case "build-started":
            return f"building {sha} with {data['toolchain']}"
        case "build-reused":
            return f"{sha}: {data['outcome']} before, used again"
        case "build-finished":
            cache = f"{data['cache_hits']} of {data['cache_hits'] + data['cache_misses']} compiles from the cache"
            if data["outcome"] == "built":
                repairs = f", {data['repairs']} repairs" if data["repairs"] else ""
                return f"{sha} built in {span(data['wall_seconds'])} ({cache}{repairs})"
            return f"{sha} does not build ({data['outcome']}): {data['first_error']}"
        case "probe-started":
            return f"probing {sha}"
        case "probe-finished":
            if data["error"]:
                return f"{sha} cannot be probed: {data['error']}"
            return f"{sha} probed in {span(data['seconds'])}: {_values(data['values'])}"
        case "regime":
            return (
                f"the ends differ by {data['percent']:+.2f} % {data['metric']}; "
                f"looking for steps of {data['min_step']:.2f} % or more"
            )
        case "suspects":
            told = (
                f"{found['sha'][:12]} {found['weight']:.0%} ({', '.join(found['because'])})" for found in data["top"]
            )
            return f"suspects by what grew: {'; '.join(told) or 'none'}"
        case "next":
            return f"next: {sha} ({data['number']} of {data['of']}): {data['why']}"
        case "price":
            most = f" (at most {data['most_builds']} for one step)" if data["most_builds"] else ""
            noise = f"; one reading varies by {data['noise_percent']:.2f} %" if data.get("noise_percent") else ""
            return (
                f"this search is likely to take about {data['builds']} builds{most} and {span(data['seconds'])}{noise}"
            )
        case "posterior":
            return (
                f"P = {data['probability']:.3f} that a step of {data['percent']:+.2f} % is between {data['low'][:12]} "
                f"and {data['high'][:12]} ({data['candidates']} candidates; noise {data['noise_percent']:.2f} %)"
            )
        case "unobservable":
            return f"{sha} stays a candidate that cannot be observed"
        case "step-found":
            return f"a step of {data['percent']:+.2f} % is between {data['low'][:12]} and {data['high'][:12]}"
        case "inside-merge":
            return f"{data['merge'][:12]} is a merge: going inside, {data['candidates']} candidates"
        case "joined":
            return (
                f"{data['joined']} commits touch only files that no build was made from: {data['classes']} classes are "
                f"left; about {data['expected_builds']} builds are likely"
            )
        case "class-opened":
            return (
                f"{data['first'][:12]} to {data['last'][:12]} were taken for one binary, but differ by "
                f"{data['percent']:+.2f} %: looking at each commit"
            )
        case "equal-code":
            return f"{sha} has the code of {data['twin'][:12]}: its probes count for both"
        case "stopped":
            return f"stopped: {data['why']}"
        case "attaching":
            return f"attaching the report: {data['where']}"
        case "attached":
            return f"the report is attached: {data['url'] or data['where']}"
        case "verdict":
            return f"{data['kind_of']}: {data['summary']}"
        case _:
            return ""


def _values(values: dict[str, list[float]]) -> str:
    shown = []
    if values.get(INSTRUCTIONS):
        shown.append(f"{values[INSTRUCTIONS][-1]:,.0f} instructions/query")
    if values.get(CPU):
        shown.append(f"{min(values[CPU]):,.2f} cpu us/query")
    return ", ".join(shown)


def span(seconds: float) -> str:
    """A duration in the units that a person would use."""
    whole = round(seconds)
    if whole < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
