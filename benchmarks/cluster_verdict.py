"""Whether a cluster comes to the verdict of one host: the same question to both, and who did what.

    python benchmarks/cluster_verdict.py CLONE GOOD BAD --test NAME [--builders N] [--probers N] [--place DIRECTORY]

Asks this host alone first, then a head, builders and probe hosts, all processes on this machine with homes of their own
and Debian's redis-server as the compiler cache they share. Prints what both came to, and what each host built and
probed; then one JSON object. Ends with 1 if kind or culprits differ, if a commit was built twice, or if anything was
probed on a builder or built on a probe host.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from shared_cache import redis

from cpubisect.base.errors import UserError
from soaking.crowd.members import Crowd
from soaking.crowd.plan import Part
from soaking.page import positive, say


@dataclass(frozen=True)
class Told:
    """What came of the question in one place: the verdict's `kind` and `culprits`, the `seconds` it took, and the
    commits that each host built and probed, a commit once for each time; "" is this host. In `both_s` of the seconds
    something was built and something probed."""

    kind: str
    culprits: tuple[str, ...]
    seconds: float
    built: Mapping[str, Sequence[str]]
    probed: Mapping[str, Sequence[str]]
    both_s: float

    @classmethod
    def of(cls, report: Mapping[str, Any], journal: Sequence[Mapping[str, Any]], seconds: float) -> "Told":
        """From what `bisect start --json` and `bisect log --json` print."""
        (verdict,) = report["verdict"]["tests"].values()
        hosts: dict[str, dict[str, list[str]]] = {"build-finished": {}, "probe-finished": {}}
        for event in journal:
            if event["kind"] in hosts:
                data = event["data"]
                hosts[event["kind"]].setdefault(data.get("host", ""), []).append(data["sha"])
        culprits = tuple(culprit["sha"] for culprit in verdict["culprits"])
        both_s = shared_s(
            _spans(journal, "build-finished", "wall_seconds"), _spans(journal, "probe-finished", "seconds")
        )
        return cls(verdict["kind"], culprits, seconds, hosts["build-finished"], hosts["probe-finished"], both_s)


def _spans(journal: Sequence[Mapping[str, Any]], kind: str, seconds: str) -> list[tuple[float, float]]:
    """When what such events tell the end of went on."""
    return [(event["at"] - event["data"][seconds], event["at"]) for event in journal if event["kind"] == kind]


def shared_s(some: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> float:
    """PURE: in how many seconds at least one of some spans of time and one of others go on."""
    edges = sorted({edge for span in (*some, *others) for edge in span})

    def within(spans: Sequence[tuple[float, float]], low: float, high: float) -> bool:
        return any(begun <= low and high <= ended for begun, ended in spans)

    return sum(b - a for a, b in pairwise(edges) if within(some, a, b) and within(others, a, b))


def amiss(alone: Told, together: Told, builders: Sequence[str], probers: Sequence[str]) -> list[str]:
    """What is wrong with the cluster's answer; nothing if all is as it should be."""
    wrong = []
    if (together.kind, together.culprits) != (alone.kind, alone.culprits):
        wrong.append(f"the cluster's verdict is {together.kind} {together.culprits}")
    built = [sha for shas in together.built.values() for sha in shas]
    wrong += [f"{sha[:12]} was built {built.count(sha)} times" for sha in sorted(set(built)) if built.count(sha) > 1]
    wrong += [f"{host or 'the asker'} built" for host in together.built if host not in builders]
    wrong += [f"{host or 'the asker'} probed" for host in together.probed if host not in probers]
    return wrong


def table(alone: Told, together: Told) -> list[str]:
    """As Markdown."""
    heads = ("", "verdict", "culprits", "s", "of which both built and probed", "builds", "probes")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---" + "|--:" * 4 + "|"]
    for name, told in (("this host alone", alone), ("cluster", together)):
        named = ", ".join(sha[:12] for sha in told.culprits) or "none"
        counts = (sum(map(len, told.built.values())), sum(map(len, told.probed.values())))
        lines.append(
            f"| {name} | {told.kind} | {named} | {told.seconds:,.0f} | {told.both_s:,.0f} | {counts[0]} | {counts[1]} |"
        )
    for host in sorted({*together.built, *together.probed}):
        counts = (len(together.built.get(host, ())), len(together.probed.get(host, ())))
        lines.append(f"| {host} | | | | | {counts[0] or ''} | {counts[1] or ''} |")
    return lines


def asked(words: Sequence[str], home: Path, cluster: str = "") -> Told:
    """The answer of a home directory, alone or on a cluster; raises UserError if it has none."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("CPUBISECT", "CCACHE"))}
    environment = {**own, "CPUBISECT_HOME": str(home), "CPUBISECT_CLUSTER": cluster}
    home.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    report = _said(words, environment)
    seconds = time.monotonic() - begun
    lines = _said(["log", str(report["id"]), "--json"], environment, lines=True)
    return Told.of(report, lines, seconds)


def _said(words: Sequence[str], environment: Mapping[str, str], *, lines: bool = False) -> Any:
    command = [sys.executable, "-m", "cpubisect.cli", *words]
    done = subprocess.run(command, env=dict(environment), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise UserError(f"`bisect {words[0]}` ended with {done.returncode}", "see what it said above")
    return [json.loads(line) for line in done.stdout.splitlines()] if lines else json.loads(done.stdout)


def on_cluster(words: Sequence[str], place: Path, hosts: Mapping[str, Part]) -> Told:
    """The answer of a head and some hosts, which end with it; raises UserError."""
    with redis(place) as cache:
        crowd = Crowd(place / "hosts", hosts, ("--cache", cache))
        try:
            if missing := crowd.settled():
                raise UserError(f"the cluster is not there ({missing})", f"see {crowd.root}")
            return asked(words, place / "together", crowd.address)
        finally:
            crowd.close()


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for; exits with 2 for what cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("good")
    parser.add_argument("bad")
    parser.add_argument("--test", required=True)
    parser.add_argument("--builders", type=positive, default=4)
    parser.add_argument("--probers", type=positive, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as of `bisect start`")
    parser.add_argument("--sandbox", choices=["auto", "require", "off"], default="auto")
    parser.add_argument("--place", type=Path, help="a new directory [default: a temporary one that goes]")
    found = parser.parse_args(words)
    if found.place and found.place.exists():
        parser.error(f"{found.place} is there already")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Ask both, and print; 1 if the cluster's answer is amiss, 2 with one line for what cannot be done."""
    given = arguments(words)
    question = ["start", given.good, given.bad, "--repo", str(given.clone.resolve()), "--test", given.test, "--json"]
    question += ["--sandbox", given.sandbox, *(word for pair in given.set for word in ("--set", pair))]
    builders = [f"b{number}" for number in range(1, given.builders + 1)]
    probers = [f"p{number}" for number in range(1, given.probers + 1)]
    hosts = {**dict.fromkeys(builders, Part.BUILDER), **dict.fromkeys(probers, Part.PROBER)}
    try:
        with tempfile.TemporaryDirectory(prefix="cluster-verdict-") as temporary:
            place = (given.place or Path(temporary)).resolve()
            place.mkdir(parents=True, exist_ok=True)
            say("this host alone")
            alone = asked(question, place / "alone")
            say("the cluster")
            together = on_cluster(question, place, hosts)
    except UserError as error:
        print(f"cluster_verdict: {error}", file=sys.stderr)
        return 2
    wrong = amiss(alone, together, builders, probers)
    print(*table(alone, together), *wrong, sep="\n")
    print(json.dumps({"alone": asdict(alone), "together": asdict(together), "amiss": wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
