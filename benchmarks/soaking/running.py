"""Bisections that run as a user runs them, and are taken up again when something of them was killed."""

import json
import os
import re
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.base.locks import is_held
from soaking.commands import Commands
from soaking.evidence import BISECTION, state
from soaking.faults import Ground
from soaking.judgement import refusal
from soaking.plan import Way

TOKEN = "0123456789abcdef0123"
"""What the page's API wants to be told."""

SETTINGS: Mapping[str, str] = {"repeats": "1", "rows": "500", "instructions_ops": "100,300", "clock_ops": "500,2500"}
"""Small probes: what is tried is not how well they measure."""

OWN: Mapping[str, Mapping[str, str]] = {"readseq": {"instructions_ops": "500,1500"}}
"""What a test cannot do with: it reads all rows, some times over."""

METRIC = "instructions"
"""On CPU time how many probes are made, and what they say, would be the machine's matter."""

ENDS: Mapping[str, tuple[str, str]] = {
    "readrandom": ("v1.3.0", "v1.4.0"),
    "readwhilewriting": ("v1.3.0", "v1.4.0"),
}
"""The release that changed a test's cost, for those of gets; that of seeks is `SEEKS`."""

SEEKS = ("v1.2.0", "v1.3.0")
_ANSWER_S = 30.0


def settings_of(test: str) -> Mapping[str, str]:
    """Those that a test is asked with."""
    return {**SETTINGS, **OWN.get(test, {})}


class Run(ABC):
    """What asks for the bisection of a ground, or goes on with it."""

    def __init__(self, ground: Ground, cache: Path) -> None:
        self.ground = ground
        self.said: list[str] = []
        own = {name: value for name, value in os.environ.items() if not name.startswith(("CPUBISECT", "CCACHE"))}
        self.environment = {
            **own,
            "CPUBISECT_HOME": str(ground.home),
            "CCACHE_DIR": str(cache),
            "TMPDIR": str(ground.temporary),
            "CPUBISECT_TOKEN": TOKEN,
            **ground.environment,
        }
        self._commands = Commands(ground.root)

    @property
    def state(self) -> str:
        """The state of the bisection as it is stored, empty if there is none yet."""
        return state(self.ground.home / "store.sqlite")

    @property
    def finished(self) -> bool:
        """Whether it has its verdict."""
        return self.state == "finished"

    def alive(self) -> bool:
        """Whether anything runs that was started here."""
        return bool(self._commands.running())

    @abstractmethod
    def go_on(self) -> None:
        """Start what does not run, or have it go on."""

    def close(self) -> None:
        """End what runs for ever."""
        self.said += [f"{name} did not end" for name in self._commands.close()]

    def endings(self) -> list[tuple[int, str]]:
        """How commands that have ended since this was last asked did so: exit code, and what they said."""
        return [(ending.status, ending.said) for ending in self._commands.endings()]

    def _spawn(self, name: str, *words: str) -> None:
        self._commands.spawn(name, words, self.environment)


class CommandRun(Run):
    """By `bisect start` and `bisect resume`."""

    def go_on(self) -> None:
        """Start it, or resume it, unless it runs."""
        if self.alive() or self.finished:
            return
        if self.state:
            self._spawn("command", "resume", str(BISECTION))
            return
        case = self.ground.case
        settings = (word for one in settings_of(case.test).items() for word in ("--set", "=".join(one)))
        ends = ENDS.get(case.test, SEEKS)
        words = ("start", *ends, "--test", case.test, "--repo", str(self.ground.clone), "--metric", METRIC)
        self._spawn("command", *words, *settings, *self.ground.words)


class ServedRun(Run):
    """By the API of `bisect serve`, run by its own worker or, if so asked, by `bisect worker` beside it."""

    def __init__(self, ground: Ground, cache: Path, *, beside: bool) -> None:
        super().__init__(ground, cache)
        self._beside = beside

    def go_on(self) -> None:
        """Start the processes that do not run, and queue the bisection if nobody is at it."""
        if self.finished:
            return
        if "serve" not in self._commands:
            apart = ("--no-worker",) if self._beside else ()
            self._spawn("serve", "serve", "--port", "0", "--repo", f"example={self.ground.clone}", *apart)
        if self._beside and "worker" not in self._commands:
            self._spawn("worker", "worker")
        address = self._address()
        if not address:
            return
        now, at_work = self.state, is_held(self.ground.home / "running" / f"{BISECTION}.lock")
        if not now:
            case = self.ground.case
            good, bad = ENDS.get(case.test, SEEKS)
            question = {"repository": "example", "good": good, "bad": bad, "tests": [case.test], "metric": METRIC}
            self._post(f"{address}api/bisections", {**question, "settings": settings_of(case.test)})
        elif now in ("running", "interrupted") and not at_work:
            self._post(f"{address}api/bisections/{BISECTION}/resume", {})

    def _address(self) -> str:
        """Where it is served, once it says so; empty if it does not."""
        deadline = time.monotonic() + _ANSWER_S
        while time.monotonic() < deadline and "serve" in self._commands.running():
            if found := re.search(r"http://\S+/", self._commands.said("serve")):
                return found[0]
            time.sleep(0.05)
        return ""

    def _post(self, address: str, data: Mapping[str, object]) -> None:
        asked = urllib.request.Request(address, json.dumps(data).encode(), method="POST")
        asked.add_header("Content-Type", "application/json")
        asked.add_header("Authorization", f"Bearer {TOKEN}")
        try:
            with urllib.request.urlopen(asked, timeout=_ANSWER_S):
                return
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            if error.code >= 500 and "problem" not in text:
                self.said.append(f"{address} answers {error.code}: {text[:200]}")
        except OSError:
            # It was killed meanwhile, or does not answer in time: asked again later.
            return


def run_of(ground: Ground, cache: Path) -> Run:
    """The way that a case asks for."""
    way = ground.case.way
    return CommandRun(ground, cache) if way is Way.COMMAND else ServedRun(ground, cache, beside=way is Way.WORKER)


def judged(endings: Sequence[tuple[int, str]]) -> tuple[list[str], list[str]]:
    """Of how commands ended: the lines of those that ended by themselves without a verdict, and what is wrong."""
    refused, wrong = [], []
    for status, said in endings:
        if status < 0:
            continue
        if amiss := refusal(status, said):
            wrong.append(amiss)
        elif status:
            refused.append(said.strip().splitlines()[-1])
    return refused, wrong
