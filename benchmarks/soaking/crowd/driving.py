"""One bisection on the cluster from its first command to its verdict, and what is found then."""

import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from soaking import evidence
from soaking.crowd.judgement import CrowdRecord, made_twice, may_be_lost, numbered
from soaking.crowd.members import Crowd
from soaking.crowd.plan import ASKER, PARTS, Kill, chosen, kills, shape_of
from soaking.crowd.story import write
from soaking.drive import NoVerdict
from soaking.evidence import BISECTION
from soaking.faults import Ground, ground_of
from soaking.judgement import Kept, builds_repeated, probes_repeated
from soaking.plan import Case
from soaking.processes import Process, below, kill
from soaking.running import METRIC, Run, judged

CASE_S = 1800.0
"""A bisection of a small history that has no verdict by then has none at all: on a busy host one took 600 s."""

GONE_S = 15.0
"""What was ordered by somebody who is gone has ended by then, and all processes with it."""

MOST_REFUSED = 12
"""So often in a row the asker may end by itself, with nothing killed, before that is called wrong."""

AGAIN_S = 1.0
_LOOK_S = 0.05
_TEST = "readrandom"
_SETTINGS = ("rows=100", "repeats=1", "instructions_ops=100,300", "clock_ops=100,2000", "load=filluniquerandom")


class AskerRun(Run):
    """By `bisect start` and `bisect resume`, on the cluster at an address, or on this host alone without one."""

    def __init__(self, ground: Ground, cache: Path, good: str, address: str) -> None:
        super().__init__(ground, cache)
        self._good = good
        self._cluster = ("--cluster", address) if address else ()

    def go_on(self) -> None:
        """Start it, or resume it, unless it runs."""
        if self.alive() or self.finished:
            return
        if self.state:
            self._spawn(ASKER, "resume", str(BISECTION), *self._cluster)
            return
        settings = (word for one in _SETTINGS for word in ("--set", one))
        words = ("start", self._good, "main", "--repo", str(self.ground.clone), "--metric", METRIC)
        self._spawn(ASKER, *words, "--test", _TEST, *settings, *self._cluster)

    def kill(self) -> bool:
        """Kill it, as far as it runs."""
        return self._commands.kill(ASKER)


@dataclass
class Driven:
    """What has happened to a case so far; the asker is started again when it is `due`."""

    kills: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    vain: int = 0
    due: float = 0.0


class Field:
    """A directory with a cluster, and what undisturbed bisections on one host said."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.crowd = Crowd(root / "hosts")
        self._undisturbed: dict[str, Kept] = {}

    def undisturbed(self, case: Case) -> Kept:
        """What a bisection of the same shape leaves on one host, where nothing befalls it; raises NoVerdict."""
        if case.test not in self._undisturbed:
            run, shas = self._asker(case, f"alone-{case.test.replace(' ', '-')}", address="")
            driven = Driven()
            while not (run.finished or driven.wrong or driven.refused):
                run.go_on()
                time.sleep(_LOOK_S)
                _ended(run, driven)
            _let_end(run)
            if driven.wrong or driven.refused:
                raise NoVerdict(f"undisturbed, {case.test} has no verdict: {driven.wrong or driven.refused}")
            self._undisturbed[case.test] = numbered(evidence.kept(run.ground.home / "store.sqlite"), shas)
        return self._undisturbed[case.test]

    def run(self, case: Case, latest: float) -> CrowdRecord:
        """Kill what a case says, but nothing any more at a time of the monotonic clock, and judge what that leaves."""
        before = self.undisturbed(case)
        if amiss := self.crowd.settled():
            raise NoVerdict(f"the cluster is not there: {amiss}")
        began = time.monotonic()
        run, shas = self._asker(case, f"{case.number:03}", self.crowd.address)
        driven = Driven()
        try:
            self._drive(run, case, driven, latest)
            _let_end(run)
            driven.wrong += run.said
            orphans = self._gone(run)
            if amiss := self.crowd.settled():
                driven.wrong.append(amiss)
            driven.wrong += self._checked(run)
        finally:
            for process in below(run.ground.root):
                kill(process)
        driven.refused += self.crowd.refused
        driven.wrong += self.crowd.wrong
        self.crowd.refused, self.crowd.wrong = [], []
        kept = numbered(evidence.kept(run.ground.home / "store.sqlite"), shas) if run.state else Kept(before.answer)
        record = CrowdRecord(
            *(case.number, case.seed, case.test, case.way.value, case.fault.value),
            kills=driven.kills,
            faults=0,
            seconds=time.monotonic() - began,
            builds=sum(kept.recipes.values()),
            probes=sum(kept.probes.values()),
            builds_repeated=builds_repeated(kept),
            probes_repeated=probes_repeated(kept, before),
            orphans=tuple(orphans),
            leftovers=(*evidence.leftovers(run.ground.home, run.ground.temporary), *self.crowd.left()),
            refused=tuple(driven.refused),
            answer=kept.answer,
            same=run.finished and kept.answer == before.answer,
            wrong=tuple(driven.wrong),
            made_twice=made_twice(self.crowd.made(shas)),
            may_be_lost=may_be_lost(driven.kills),
        )
        if record.good:
            shutil.rmtree(run.ground.root)
        return record

    def _asker(self, case: Case, name: str, address: str) -> tuple[AskerRun, tuple[str, ...]]:
        """What asks for the bisection, in a home of its own, and the commits of its history."""
        story = self.root / "stories" / name
        shas = write(shape_of(case), f"{case.seed} {name}", story)
        ground = ground_of(case, self.root / "askers" / name, story)
        return AskerRun(ground, ground.home / "ccache", shas[0], address), shas

    def _drive(self, run: AskerRun, case: Case, driven: Driven, latest: float) -> None:
        chance, left = case.chance("victims"), kills(case)
        moment = next(left, None)
        deadline, due = time.monotonic() + CASE_S, time.monotonic() + (moment.after_s if moment else 0.0)
        while not run.finished and not driven.wrong:
            now = time.monotonic()
            if now > deadline:
                driven.wrong.append(f"no verdict after {CASE_S:.0f} s")
                return
            self.crowd.tend()
            if now >= driven.due:
                run.go_on()
            if moment and now >= due and now < latest:
                moment, due = self._strike(run, moment, left, chance, driven)
            time.sleep(_LOOK_S)
            _ended(run, driven)

    def _strike(
        self, run: AskerRun, moment: Kill, left: Iterator[Kill], chance: Random, driven: Driven
    ) -> tuple[Kill | None, float]:
        """Kill one; what is killed next, and when."""
        running = [*self.crowd.running(), *([ASKER] if run.alive() else [])]
        name = chosen(moment.part, running, chance)
        if name == ASKER:
            struck = run.kill()
            driven.due = time.monotonic() + moment.away_s
        else:
            struck = bool(name) and self.crowd.kill(name, moment.away_s)
        if not struck:
            return moment, time.monotonic()
        driven.kills[PARTS[name].value] += 1
        driven.vain = 0
        coming = next(left, None)
        return coming, time.monotonic() + (coming.after_s if coming else 0.0)

    def _gone(self, run: AskerRun) -> list[str]:
        """What still runs of a bisection that has ended, of its asker's and on the hosts; it is killed."""
        deadline, found = time.monotonic() + GONE_S, list[Process]()
        while time.monotonic() < deadline:
            found = [*below(run.ground.root), *self.crowd.strays()]
            if not found and not self.crowd.left():
                break
            self.crowd.tend()
            time.sleep(_LOOK_S)
        for process in found:
            kill(process)
        return [str(process) for process in found]

    @staticmethod
    def _checked(run: AskerRun) -> list[str]:
        words = [sys.executable, "-m", "cpubisect.cli", "store", "check"]
        checked = subprocess.run(words, env=run.environment, capture_output=True, text=True)
        return [f"store check: {checked.stdout.strip()} {checked.stderr.strip()}"] if checked.returncode else []


def _let_end(run: AskerRun) -> None:
    """What has its verdict ends by itself; it is asked to only if it does not."""
    deadline = time.monotonic() + GONE_S
    while run.alive() and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    run.close()


def _ended(run: AskerRun, driven: Driven) -> None:
    """Look at how the asker ended, if it did."""
    if not (endings := run.endings()):
        return
    refused, wrong = judged(endings)
    driven.refused += refused
    driven.wrong += wrong
    driven.vain += len(refused)
    if refused:
        driven.due = time.monotonic() + AGAIN_S
    if driven.vain > MOST_REFUSED:
        driven.wrong.append(f"it does not go on: {refused[-1]}")
