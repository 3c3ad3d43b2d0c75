"""What the sandbox costs: builds and probes with it and without it, in turns, and whether they count the same.

    python benchmarks/sandbox.py [--repo CLONE --commit NAME --test TEST] [--rounds N] [--place DIRECTORY] [--write]

Without `--repo` it is the example's small engine, whose history is made on the spot. In each round, in every second
one the other way round: one build with an empty compiler cache, one with the cache that this left, one probe, and some
empty commands, each both ways. Prints a table, and a line of JSON last; `--write` puts the table into
docs/sandbox.md, in place of one under the same heading.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from cpubisect.base.errors import UserError
from cpubisect.base.metrics import INSTRUCTIONS
from cpubisect.base.process import run
from cpubisect.base.sandbox.policy import Kind
from cpubisect.base.sandbox.surroundings import confined
from cpubisect.builders.build import BuildResult, BuildSettings, Outcome, Recipe
from cpubisect.builders.carry import carry_out
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.example.history import generate
from cpubisect.history.history import History
from cpubisect.service import sandboxing
from cpubisect.workloads.catalog import find_test, workload_of
from cpubisect.workloads.counters.choice import choose, examine
from cpubisect.workloads.probe import ProbeRequest, Samples, Test

KINDS = (Kind.NONE, Kind.BUBBLEWRAP)
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "sandbox.md"
COMMANDS = 30
"""So often an empty command is run both ways in a round."""


@dataclass
class Measured:
    """What was measured one way: seconds of builds with an empty cache and with a full one, of probes, of an empty
    command; the instructions per query of each probe; hits of the compiler cache among the compiles of warm builds."""

    cold: list[float] = field(default_factory=list)
    cold_cpu: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    probe: list[float] = field(default_factory=list)
    command: list[float] = field(default_factory=list)
    instructions: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    hits: int = 0
    compiles: int = 0


@dataclass(frozen=True)
class Subject:
    """What is built and probed."""

    history: History
    recipe: Recipe
    test: Test
    matrix: Matrix


def subject(clone: Path, name: str, test: str) -> Subject:
    """A commit of a clone, by name, and a test; raises UserError if there is no such thing."""
    matrix = Matrix.load()
    history = History(clone)
    engine = history.detect_engine(matrix.engines())
    history = History(clone, engine)
    (commit,) = history.resolve_all([name])
    version = history.version_at(commit.sha)
    if version is None:
        raise UserError(f"{name} has no version file of {engine.name}", "name another commit")
    recipe = matrix.recipe(engine, commit.sha, version, installed_toolchains())
    return Subject(history, recipe, find_test(engine, test), matrix)


def measure(one: Subject, place: Path, rounds: int) -> dict[Kind, Measured]:
    """All rounds; raises UserError if a build fails."""
    found = {kind: Measured() for kind in KINDS}
    for number in range(rounds):
        for kind in KINDS if number % 2 == 0 else reversed(KINDS):
            with tempfile.TemporaryDirectory(dir=place) as name:
                _round(one, Path(name), kind, found[kind])
            say(f"round {number + 1} of {rounds}: {kind}")
    return found


def _round(one: Subject, place: Path, kind: Kind, into: Measured) -> None:
    cold = _built(one, place, kind)
    into.cold.append(cold.wall_seconds)
    into.cold_cpu.append(cold.cpu_seconds)
    warm = _built(one, place, kind)
    into.warm.append(warm.wall_seconds)
    into.hits += warm.cache_hits
    into.compiles += warm.cache_hits + warm.cache_misses
    assert warm.output
    started = time.monotonic()
    samples = _probed(one, warm.output, place / "probe", kind)
    into.probe.append(time.monotonic() - started)
    into.instructions += samples.values.get(INSTRUCTIONS, ())
    into.cpu_us += samples.values.get("cpu us/query", ())
    sandbox = confined([place]) if kind is Kind.BUBBLEWRAP else None
    started = time.monotonic()
    for _ in range(COMMANDS):
        run(["true"], env={"PATH": "/usr/bin:/bin"}, sandbox=sandbox)
    into.command.append((time.monotonic() - started) / COMMANDS)


def _built(one: Subject, place: Path, kind: Kind) -> BuildResult:
    settings = BuildSettings(place / "ccache", one.matrix.patches_dir, sandbox=kind)
    engine = one.matrix.engine(one.recipe.engine)
    done = carry_out(one.recipe, builder_of(engine), one.history.path, place / "work", settings)
    if done.outcome is not Outcome.BUILT:
        raise UserError(f"the build {done.outcome}: {done.first_error}", f"see {done.log}")
    return done


def _probed(one: Subject, artifact: Path, scratch: Path, kind: Kind) -> Samples:
    scratch.mkdir()
    version = one.history.version_at(one.recipe.commit)
    assert version
    counter = choose(examine()).counter
    engine = one.matrix.engine(one.recipe.engine)
    request = ProbeRequest(artifact, version, one.test, one.test.parameters, counter, scratch, sandbox=kind)
    samples = workload_of(engine).probe(request)
    shutil.rmtree(scratch)
    return samples


def table(one: Subject, found: dict[Kind, Measured]) -> str:
    """The medians of both, side by side."""
    without, within = found[Kind.NONE], found[Kind.BUBBLEWRAP]
    rows = [
        ("build, nothing cached, s", without.cold, within.cold, 1),
        ("the same in CPU s", without.cold_cpu, within.cold_cpu, 1),
        ("build, all cached, s", without.warm, within.warm, 2),
        ("probe, s", without.probe, within.probe, 1),
        ("an empty command, ms", [s * 1000 for s in without.command], [s * 1000 for s in within.command], 0),
        ("cpu us/query", without.cpu_us, within.cpu_us, 2),
        ("instructions/query", without.instructions, within.instructions, 0),
    ]
    lines = [
        f"### {one.recipe.engine} {one.recipe.version}, {one.test.name}",
        "",
        f"Medians of {len(without.cold)} rounds with the least and the most, {one.recipe.toolchain.name}:",
        "",
        "| | without | with | ratio of medians | of the least |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, plain, boxed, digits in rows:
        if plain and boxed:
            exact = 5 if name.startswith("instructions") else 2
            cells = [f"{median(values):,.{digits}f} ({_span(values, digits)})" for values in (plain, boxed)]
            cells += [f"{of(boxed) / of(plain):.{exact}f}" for of in (median, min)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    share = " | ".join(f"{way.hits} of {way.compiles}" for way in (without, within))
    lines.append(f"| compiles from the cache in builds with all cached | {share} | | |")
    return "\n".join(lines) + "\n"


def _span(values: Sequence[float], digits: int) -> str:
    return f"{min(values):,.{digits}f} to {max(values):,.{digits}f}"


def written(document: str, part: str) -> str:
    """A document with a part in place of the one under the same heading, or after all others."""
    heading = re.escape(part.partition("\n")[0])
    pattern = re.compile(rf"^{heading}\n.*?(?=^#|\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(document):
        return pattern.sub(lambda _: f"{part}\n", document).rstrip("\n") + "\n"
    return f"{document.rstrip()}\n\n{part}"


def say(text: str) -> None:
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, help="a clone of an engine [default: the example]")
    parser.add_argument("--commit", default="v1.0.0", help="what is built of it")
    parser.add_argument("--test", default="seekrandom")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()), help="where to build")
    parser.add_argument("--write", action="store_true", help=f"put the table into {DOCUMENT.name}")
    arguments = parser.parse_args(words)
    try:
        if lacking := sandboxing.problem():
            raise UserError(lacking.why, lacking.fix)
        arguments.place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=arguments.place) as made:
            clone = arguments.repo or Path(made, "minikv")
            if arguments.repo is None:
                generate(clone)
            one = subject(clone, arguments.commit, arguments.test)
            found = measure(one, Path(made), arguments.rounds)
    except UserError as error:
        say(f"sandbox: {error}")
        return 2
    part = table(one, found)
    print(part)
    if arguments.write:
        DOCUMENT.write_text(written(DOCUMENT.read_text(), part))
    print(json.dumps({kind.value: asdict(way) for kind, way in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
