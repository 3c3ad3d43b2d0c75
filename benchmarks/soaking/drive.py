"""One case from its first command to its verdict, and what is found then."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from soaking import evidence
from soaking.disks import Skipped
from soaking.faults import Ground, ground_of
from soaking.judgement import Answer, Kept, Record, builds_repeated, probes_repeated
from soaking.plan import Case, Fault, Moment, Way, moments, victim
from soaking.processes import below, kill, left_after
from soaking.running import Run, judged, run_of

GONE_S = 10.0
"""Whatever belongs to a command that was killed has ended by then, on a busy host too."""

WANTED_S = 2.0
"""A process of the wanted kind is waited for so long; then the command is killed."""

CASE_S = 900.0
"""A bisection of the example that has no verdict by then has none at all."""

MOST_REFUSED = 8
"""So often in a row a command may end by itself, with nothing killed, before that is called wrong."""

_LOOK_S = 0.03
_IDLE_S = 0.1


class NoVerdict(Exception):
    """A bisection that nothing befalls has none: there is nothing to compare with."""


@dataclass
class Driven:
    """What has happened to a case so far."""

    kills: Counter[str] = field(default_factory=Counter)
    orphans: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    vain: int = 0


class Place:
    """A directory with what the cases share: the example, a compiler cache, and what undisturbed bisections said."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.example = root / "minikv"
        self.cache = root / "ccache"
        self._records = root / "done.jsonl"

    def records(self) -> list[Record]:
        """What is done, of each case the last time that it was run."""
        lines = self._records.read_text().splitlines() if self._records.exists() else []
        found = (Record.from_json(json.loads(line)) for line in lines)
        latest = {(record.seed, record.number): record for record in found}
        return [latest[key] for key in sorted(latest)]

    def add(self, record: Record) -> None:
        """One more."""
        with self._records.open("a") as file:
            file.write(json.dumps(record.to_json()) + "\n")

    def undisturbed(self, test: str) -> Kept:
        """What a bisection of a test leaves that nothing befalls, run now if it was not before; raises NoVerdict."""
        kept = self.root / f"undisturbed-{test}.json"
        if not kept.exists():
            record, found = self._drive(Case(0, 0, test, Way.COMMAND, Fault.NONE, kills=0), self.root / "undisturbed")
            if found is None or record.wrong or record.refused:
                raise NoVerdict(f"undisturbed, {test} has no verdict: {record.wrong or record.refused}")
            kept.write_text(json.dumps(found.to_json()))
        return Kept.from_json(json.loads(kept.read_text()))

    def run(self, case: Case) -> Record:
        """Disturb one, and judge what it leaves; its directory stays if something is wrong."""
        before = self.undisturbed(case.test)
        record, _ = self._drive(case, self.root / "cases" / f"{case.seed}-{case.number:03}", before)
        return record

    def _drive(self, case: Case, root: Path, before: Kept | None = None) -> tuple[Record, Kept | None]:
        shutil.rmtree(root, ignore_errors=True)
        ground = ground_of(case, root, self.example)
        record = Record(
            case.number, case.seed, case.test, case.way.value, case.fault.value, kills={}, faults=0, seconds=0
        )
        began = time.monotonic()
        driven = Driven()
        kept = None
        try:
            try:
                ground.begin()
            except Skipped as why:
                shutil.rmtree(root, ignore_errors=True)
                return replace(record, skipped=str(why)), None
            run = run_of(ground, self.cache)
            drive(run, case, driven)
            _conclude(run, driven)
            if not driven.wrong:
                kept = evidence.kept(ground.home / "store.sqlite")
            driven.wrong += (f"a traceback: {line}" for line in evidence.tracebacks(ground.home))
            leftovers = evidence.leftovers(ground.home, ground.temporary)
        finally:
            for process in below(root):
                kill(process)
            ground.end()
        record = replace(
            record,
            kills=driven.kills,
            faults=ground.applied,
            seconds=time.monotonic() - began,
            builds=sum(kept.recipes.values()) if kept else 0,
            probes=sum(kept.probes.values()) if kept else 0,
            builds_repeated=builds_repeated(kept) if kept else 0,
            probes_repeated=probes_repeated(kept, before) if kept and before else 0,
            orphans=tuple(driven.orphans),
            leftovers=tuple(leftovers),
            refused=tuple(driven.refused),
            answer=kept.answer if kept else Answer(),
            same=kept is not None and (before is None or kept.answer == before.answer),
            wrong=tuple(driven.wrong),
        )
        if record.good:
            shutil.rmtree(root, ignore_errors=True)
        return record, kept


def drive(run: Run, case: Case, driven: Driven, clock: Callable[[], float] = time.monotonic) -> None:
    """Start it, kill what runs at the moments of the case, and go on until it has its verdict."""
    ground, chance, left = run.ground, case.chance("victims"), moments(case)
    deadline, moment = clock() + CASE_S, next(left, None)
    due = clock() + (moment.after_s if moment else 0.0)
    while not run.finished and not driven.wrong:
        if clock() > deadline:
            driven.wrong.append(f"no verdict after {CASE_S:.0f} s")
            return
        unfit = ground.tick()
        run.go_on()
        if moment is None:
            ground.mend()
            time.sleep(_IDLE_S)
        elif clock() >= due:
            ground.running()
            killed = _kill_one(run.ground, moment, chance)
            if killed:
                driven.kills[killed] += 1
                driven.vain = 0
                moment = next(left, None)
            due = clock() + (moment.after_s if moment else 0.0)
        else:
            time.sleep(_LOOK_S)
        _ended(run, driven, unfit=unfit)


def _kill_one(ground: Ground, moment: Moment, chance: Random) -> str:
    """Kill a process of the wanted kind, or if none comes the one that runs longest; its kind, empty if none runs."""
    deadline = time.monotonic() + WANTED_S
    while True:
        there = below(ground.root)
        number = victim(moment.wanted, [process.kind for process in there], chance)
        if number is None and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            continue
        chosen = there[number] if number is not None else there[0] if there else None
        return chosen.kind.value if chosen and kill(chosen) else ""


def _ended(run: Run, driven: Driven, *, unfit: bool) -> None:
    """Look at what has ended, where a host may be `unfit` for it, and let befall what befalls between two commands."""
    if not (endings := run.endings()):
        return
    refused, wrong = judged(endings)
    driven.refused += refused
    driven.wrong += wrong + run.said
    driven.vain += 0 if unfit else len(refused)
    if driven.vain > MOST_REFUSED:
        driven.wrong.append(f"it does not go on: {refused[-1]}")
    if run.alive():
        return
    for process in left_after(run.ground.root, GONE_S):
        driven.orphans.append(str(process))
        kill(process)
    run.ground.mend()
    if run.finished or driven.wrong:
        return
    if not run.state:
        return
    told = run.ground.stopped()
    if told:
        _is_refused(run, driven, told)
        run.ground.mend()


def _is_refused(run: Run, driven: Driven, told: str) -> None:
    """Go on with what must be refused in one line that tells the reason."""
    words = [sys.executable, "-m", "cpubisect.cli", "resume", str(evidence.BISECTION), "--quiet"]
    done = subprocess.run(words, env=run.environment, capture_output=True, text=True)
    refused, wrong = judged([(done.returncode, done.stderr)])
    driven.wrong += wrong
    driven.refused += refused
    if done.returncode == 0:
        driven.wrong.append(f"it goes on without its {told}")


def _conclude(run: Run, driven: Driven) -> None:
    """End what serves, see that nothing is left running, and have the store checked."""
    run.ground.mend()
    deadline = time.monotonic() + GONE_S
    while run.ground.case.way is Way.COMMAND and run.alive() and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    run.close()
    refused, wrong = judged(run.endings())
    driven.refused += refused
    driven.wrong += wrong + run.said
    for process in left_after(run.ground.root, GONE_S):
        driven.orphans.append(str(process))
        kill(process)
    words = [sys.executable, "-m", "cpubisect.cli", "store", "check"]
    checked = subprocess.run(words, env=run.environment, capture_output=True, text=True)
    if checked.returncode:
        driven.wrong.append(f"store check: {checked.stdout.strip()} {checked.stderr.strip()}")
