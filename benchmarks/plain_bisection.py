"""What `git bisect run` costs with this project's builder and probe, to be compared with `bisect start`.

    python benchmarks/plain_bisection.py GOOD BAD --repo CLONE --test TEST --home DIRECTORY

`DIRECTORY` holds a store and a compiler cache of its own: an empty one makes every first build a cold one. Both ends
are measured; a commit is bad if it costs more than the middle between them; git chooses all others. Prints one JSON
object with the culprit, the builds, and their time.

With `--known CULPRIT` nothing is built or measured: git is told the answers that follow from a culprit that is known
already, and what is printed is which commits it would have had built.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean

from cpubisect.base.home import Home
from cpubisect.records.purpose import Purpose
from cpubisect.records.queries import spent
from cpubisect.records.readings import instructions
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store
from cpubisect.run.measuring import Unobservable
from cpubisect.search.events import BuildFinished, Event, ProbeFinished
from cpubisect.search.events import Unobservable as Unmeasurable
from cpubisect.search.question import Find, MetricChoice
from cpubisect.service import launch
from cpubisect.service.ask import Ask, ask

GOOD, BAD, SKIP, ABORT = 0, 1, 125, 128
"""What `git bisect run` reads from an exit code."""


def tell(event: Event) -> None:
    """One line of progress per finished step."""
    if isinstance(event, BuildFinished | ProbeFinished | Unmeasurable):
        told = (f"{key}={value}" for key, value in event.to_json().items())
        print(time.strftime("%H:%M:%S"), event.kind, *told, file=sys.stderr, flush=True)


def open_session(home: str) -> Registry:
    """The registry of a home directory, whatever the environment says."""
    os.environ["CPUBISECT_HOME"] = home
    opened = Home.open()
    return Registry(opened, Store(opened.store))


def cost(registry: Registry, bisection: int, sha: str) -> float:
    """Instructions per query of one commit; raises Unobservable."""
    lab = launch.lab_of(registry, bisection, tell)
    return fmean(instructions(lab.probes(sha, Purpose.SEARCH, 1)))


def step(registry: Registry, bisection: int, sha: str, limit: float, direction: int) -> int:
    """The exit code for one commit."""
    try:
        return BAD if direction * (cost(registry, bisection, sha) - limit) > 0 else GOOD
    except Unobservable as reason:
        print(f"{sha[:12]} is skipped: {reason}", file=sys.stderr)
        return SKIP


def bisect(arguments: argparse.Namespace) -> dict[str, object]:
    """The whole bisection; raises UserError for what cannot be asked, CalledProcessError if git fails."""
    registry = open_session(arguments.home)
    started = time.time()
    asked = Ask(
        arguments.good,
        arguments.bad,
        (arguments.test,),
        arguments.repo,
        engine=None,
        metric=MetricChoice.INSTRUCTIONS,
        find=Find(arguments.find),
        given=dict(pair.split("=", 1) for pair in arguments.set),
        min_step=None,
        toolchain=None,
        matrix=None,
        jobs=arguments.jobs,
    )
    question = ask(registry.home, asked, tell)
    bisection = launch.begin(registry, question)
    good, bad = (cost(registry, bisection, sha) for sha in (question.good_sha, question.bad_sha))
    clone = Path(arguments.home) / f"clone-{bisection}"
    subprocess.run(
        ["git", "clone", "--quiet", "--shared", "--no-checkout", question.repository, str(clone)], check=True
    )
    begin = ["git", "bisect", "start", "--no-checkout", "--first-parent", question.bad_sha, question.good_sha]
    subprocess.run(begin, cwd=clone, check=True, stdout=sys.stderr)
    again = [sys.executable, str(Path(__file__).resolve()), "--step", str(bisection), "--home", arguments.home]
    again += ["--limit", repr((good + bad) / 2), "--direction", str(question.find.direction)]
    done = subprocess.run(["git", "bisect", "run", *again], cwd=clone, stdout=sys.stderr, check=False)
    found = subprocess.run(
        ["git", "rev-parse", "refs/bisect/bad"], cwd=clone, check=True, capture_output=True, text=True
    )
    used = spent(registry.store, [bisection])[bisection]
    registry.store.update_bisection(bisection, state="finished", finished=time.time())
    return {
        "found": done.returncode == 0,
        "culprit": found.stdout.strip(),
        "percent_of_ends": (bad / good - 1) * 100,
        "builds": used.builds,
        "build_wall_seconds": round(used.build_seconds),
        "build_cpu_seconds": round(used.build_cpu_seconds),
        "cache_hits": used.cache_hits,
        "cache_misses": used.cache_misses,
        "probes": used.probes,
        "probe_seconds": round(used.probe_seconds),
        "elapsed_seconds": round(time.time() - started),
        "commits": [row.sha for row, _ in registry.store.builds(bisection)],
    }


def replay(arguments: argparse.Namespace) -> dict[str, object]:
    """The commits that git asks for, the culprit being known; raises CalledProcessError if git fails."""
    with tempfile.TemporaryDirectory() as place:
        clone = Path(place) / "clone"

        def git(*words: str) -> str:
            return subprocess.run(["git", *words], cwd=clone, check=True, capture_output=True, text=True).stdout.strip()

        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", arguments.repo, str(clone)], check=True)
        good, bad, known = (
            git("rev-parse", f"{name}^{{commit}}") for name in (arguments.good, arguments.bad, arguments.known)
        )
        git("bisect", "start", "--no-checkout", "--first-parent", bad, good)
        git("bisect", "run", "sh", "-c", f"! git merge-base --is-ancestor {known} BISECT_HEAD")
        asked = [line.split()[-1] for line in git("bisect", "log").splitlines() if line.startswith("git bisect ")]
        return {
            "culprit": git("rev-parse", "refs/bisect/bad"),
            "candidates": int(git("rev-list", "--count", "--first-parent", f"{good}..{bad}")),
            "builds": len({*asked[1:], good, bad}),
            "commits": list(dict.fromkeys((good, bad, *asked[1:]))),
        }


def main() -> int:
    """Run it all, or be the step that `git bisect run` calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("good", nargs="?")
    parser.add_argument("bad", nargs="?")
    parser.add_argument("--repo", default=".")
    parser.add_argument("--test")
    parser.add_argument("--home", help="for its store and compiler cache; needed unless the culprit is known")
    parser.add_argument("--known", metavar="CULPRIT", help="build nothing: the answer is known")
    parser.add_argument("--find", default="regression", choices=[find.value for find in Find])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--direction", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.known:
        print(json.dumps(replay(arguments), indent=2))
        return 0
    if not arguments.home or (not arguments.test and arguments.step is None):
        parser.error("--home and --test are needed")
    if arguments.step is None:
        print(json.dumps(bisect(arguments), indent=2))
        return 0
    head = subprocess.run(["git", "rev-parse", "BISECT_HEAD"], check=True, capture_output=True, text=True)
    registry = open_session(arguments.home)
    return step(registry, arguments.step, head.stdout.strip(), arguments.limit, arguments.direction)


if __name__ == "__main__":
    sys.exit(main())
