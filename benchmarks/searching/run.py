"""Carries out the trials, two processes at a time; finished ones are kept, so that a long run can be resumed."""

import hashlib
import json
import multiprocessing
import signal
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from searching.cells import Cell
from searching.host import Host, Stopped
from searching.result import Result
from searching.score import Stated, Trial, Verdict, trial
from searching.searches import OURS, SEARCHES

CHUNK = 25
"""Trials that are carried out and kept together."""

STOPPED = "stopped"
"""The kind of an answer that did not come in time."""

Results = dict[tuple[Cell, str], list[Trial]]


@dataclass(frozen=True)
class Work:
    """Some trials of one search in one cell, `first` to before `last`."""

    cell: Cell
    search: str
    seed: int
    first: int
    last: int

    def key(self) -> str:
        """Names the outcome; changes with the world, the seed, and the code of the search and the simulation."""
        text = repr((self.cell.world, self.search, self.seed, self.first, self.last, code(self.search)))
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def code(search: str) -> str:
    """A digest of the code that decides what a bisection with a search does: the simulation, the product, of which each
    has a part, and of peers the rules."""
    folder = Path(__file__).parent
    names = ["world", "host", "lab", "result", "score", "searches"]
    names += ["ours"] if search == OURS else ["duties", "bench", "git_bisect", "bayesect", "asv", "pinpoint"]
    sources = [folder / f"{name}.py" for name in names]
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("cpubisect.")]
    sources += [Path(module.__file__) for module in modules if module.__file__]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def carry_out(work: Work) -> list[Trial]:
    """The trials of one piece of work, one after the other."""
    bisect = SEARCHES[work.search]
    done: list[Trial] = []
    for number in range(work.first, work.last):
        history = work.cell.world.draw(work.seed, number)
        host = Host(history)
        started = time.process_time()
        try:
            result = bisect(host)
        except Stopped:
            result = Result(STOPPED)
        done.append(trial(history, host, result, time.process_time() - started))
    return done


def pieces(cells: Iterable[Cell], searches: Collection[str], trials: int, seed: int) -> Iterator[Work]:
    """All work of a grid, the searches in turn, each with the same histories."""
    for cell in cells:
        for search in searches:
            for first in range(0, trials, CHUNK):
                yield Work(cell, search, seed, first, min(first + CHUNK, trials))


def run(works: Sequence[Work], processes: int, kept: Path | None) -> Results:
    """Carry out what is not kept in the folder yet, and return everything in order."""
    done: dict[Work, list[Trial]] = {}
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        done = {work: _load(path) for work in works if (path := kept / f"{work.key()}.json").exists()}
    missing = [work for work in works if work not in done]
    with ProcessPoolExecutor(processes, initializer=_end_with_parent) as pool:
        futures = {pool.submit(carry_out, work): work for work in missing}
        try:
            for count, future in enumerate(as_completed(futures), 1):
                work = futures[future]
                done[work] = future.result()
                if kept:
                    _save(kept / f"{work.key()}.json", done[work])
                if sys.stderr.isatty():
                    print(f"\r{count}/{len(missing)}", end="", file=sys.stderr, flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    results: Results = {}
    for work in works:
        results.setdefault((work.cell, work.search), []).extend(done[work])
    return results


def _end_with_parent() -> None:
    """Leave Ctrl-C to the parent, which then terminates its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _save(path: Path, trials: Sequence[Trial]) -> None:
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps([asdict(one) for one in trials]))
    unfinished.replace(path)


def _load(path: Path) -> list[Trial]:
    return [
        Trial(
            **{
                **fields,
                "verdict": Verdict(fields["verdict"]),
                "stated": tuple(Stated(**one) for one in fields["stated"]),
            }
        )
        for fields in json.loads(path.read_text())
    ]
