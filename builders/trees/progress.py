"""What a build's log says about how far it is, and whether it still moves."""

import re
from dataclasses import dataclass

_NINJA = re.compile(r"\[(\d+)/(\d+)\] ")
_PERCENT = re.compile(r"\[\s*(\d+)%\] (?:Building|Linking)")
_COMPILE = re.compile(r"\s-c\s.*\s-o\s|\s-o\s.*\s-c\s")

IDLE_SHARE = 0.01
"""CPU share under which a silent command counts as idle: one that waits or polls uses less, one that compiles all."""


def compile_lines(text: str) -> int:
    """How many commands of a make log compile something."""
    return sum(1 for line in text.splitlines() if _COMPILE.search(line))


@dataclass
class CompileCounter:
    """Counts the compilations in a log as it grows; `expected` is their number if it is known, else 0. Of ninja's
    commands all are counted."""

    expected: int = 0
    done: int = 0

    def feed(self, text: str) -> str | None:
        """Take what was added to the log; a text such as "compiling 120/346", or None if nothing was compiled.

        Understands ninja's `[n/m]`, make files of cmake (percent), and plain compiler commands.
        """
        if ninja := _NINJA.findall(text):
            self.done, self.expected = map(int, ninja[-1])
            return "compiling {}/{}".format(*ninja[-1])
        if percent := _PERCENT.findall(text):
            return f"compiling {percent[-1]} %"
        started = compile_lines(text)
        if not started:
            return None
        self.done += started
        if not self.expected:
            return f"compiling {self.done}"
        return f"compiling {min(self.done, self.expected)}/{self.expected}"


@dataclass
class Silence:
    """Since when a command neither wrote to its log nor used the CPU; times in seconds, `size` in bytes."""

    limit_s: float
    since: float
    size: int
    cpu_seconds: float = 0.0
    _sampled: bool = False

    def suspicious(self, now: float, size: int) -> bool:
        """True if the log did not grow for half of the limit: time to look at the CPU use."""
        if size != self.size:
            self.size, self.since, self._sampled = size, now, False
        return now - self.since > self.limit_s / 2

    def lasts(self, now: float, cpu_seconds: float) -> bool:
        """True if the limit is over and the command was idle since the first look at its CPU use."""
        if not self._sampled:
            self._sampled, self.cpu_seconds = True, cpu_seconds
        elif cpu_seconds - self.cpu_seconds > IDLE_SHARE * self.limit_s / 2:
            self.since, self._sampled = now, False
        return now - self.since > self.limit_s
