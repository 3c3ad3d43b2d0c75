"""How to divide what a changed variable says among the commits: `python benchmarks/evidence.py CLONE GOOD BAD [FILE]`.

Between two commits of MySQL, every variable whose default differs in the definitions of FILE (by default
sql/sys_vars.cc and storage/innobase/handler/ha_innodb.cc) is a case, if one commit alone changed it: its answer is read
off the definitions, without a build. Each kind of evidence (the diff names the definition, it touches the file, the
message names the variable) claims the commit with some strength among all commits of the range; the parts that make
the answers likeliest follow by expectation maximization. Prints them beside those of `search/variables`, the share of
answers among the first 1, 5 and 20 suspects, and as its last line one JSON object.
"""

import argparse
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.history.candidates import graph
from cpubisect.history.diffs import changed_paths
from cpubisect.history.repository import Repository
from cpubisect.run.prior import read_settings, read_touched
from cpubisect.search import variables
from cpubisect.search.claims import Candidates, Touch
from cpubisect.search.costs import Cost
from cpubisect.search.suspects import suspicions
from cpubisect.search.variables import Setting

FILES = ("sql/sys_vars.cc", "storage/innobase/handler/ha_innodb.cc")
KINDS = ("names its definition", "touches its file", "message names it", "none of these")
ROUNDS = 200
_SERVER = re.compile(r'^static Sys_var_\w+ \w+\(\s*"(\w+)",(.*?)\);', re.DOTALL | re.MULTILINE)
_DEFAULT = re.compile(r"DEFAULT\(((?:[^()]|\([^()]*\))*)\)")
_PLUGIN = re.compile(r"^static MYSQL_SYSVAR_(\w+)\((\w+),(.*?)\);", re.DOTALL | re.MULTILINE)
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def defaults(text: str) -> dict[str, str]:
    """The default of each variable that a file defines, as it is written."""
    found = {}
    for name, body in _SERVER.findall(text):
        if own := _DEFAULT.search(body):
            found[name] = " ".join(own[1].split())
    for kind, name, body in _PLUGIN.findall(text):
        fields = [" ".join(field.split()) for field in _TEXT.sub('""', body).split(",")]
        # MYSQL_SYSVAR_kind(name, variable, flags, comment, check, update, default, …).
        if len(fields) > 5 and kind != "STR":
            found[f"innodb_{name}"] = fields[5]
    return found


def changed_by(repository: Repository, pairs: Sequence[tuple[str, str]], file: str) -> dict[str, list[str]]:
    """By variable of a file the commits that changed its default against their parent."""
    found: dict[str, list[str]] = {}
    for sha, paths in changed_paths(repository, pairs):
        if file not in paths:
            continue
        parent = dict(pairs)[sha]
        before, after = (defaults(blob(repository, own, file)) for own in (parent, sha))
        for name in before.keys() & after.keys():
            if before[name] != after[name]:
                found.setdefault(name, []).append(sha)
    return found


def blob(repository: Repository, sha: str, file: str) -> str:
    """A file of a commit; empty if it has none."""
    return repository.text("show", f"{sha}:{file}") if repository.text("ls-tree", sha, file) else ""


def claims(touched: Sequence[Touch], setting: Setting, answer: int) -> list[float]:
    """How strongly each of KINDS claims the answer, as a ratio of what it claims altogether; none where it claims
    nothing."""
    found = []
    for kind in variables.kinds(Candidates(touched), setting):
        whole = sum(claim.strength for claim in kind)
        own = sum(claim.strength for claim in kind if claim.number == answer)
        found.append(own / whole if whole else 0.0)
    return [*found, 1 / len(touched)]


def likeliest(cases: Sequence[Sequence[float]]) -> list[float]:
    """The parts, adding up to 1, that make the answers likeliest."""
    parts = [1 / len(KINDS)] * len(KINDS)
    for _ in range(ROUNDS):
        sums = [0.0] * len(KINDS)
        for case in cases:
            held = [part * claim for part, claim in zip(parts, case, strict=True)]
            for kind, own in enumerate(held):
                sums[kind] += own / sum(held)
        parts = [own / len(cases) for own in sums]
    return parts


def rank(touched: Sequence[Touch], setting: Setting, answer: int) -> int:
    """The answer's place in the order of suspicion, from 1 on, by nothing but the variable."""
    found = suspicions(touched, Cost(1.0), Cost(1.0), 1, {}, [setting])
    return 1 + sum(1 for one in found if one.weight > found[answer].weight)


def main() -> None:
    """Collect the cases, and print what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("good")
    parser.add_argument("bad")
    parser.add_argument("files", nargs="*", default=list(FILES))
    asked = parser.parse_args()
    repository = Repository(asked.clone)
    good, bad = (repository.commit(name) or parser.error(f"no commit {name}") for name in (asked.good, asked.bad))
    line = graph(repository, good, bad).line()
    shas = [line.first(number) for number in range(1, line.size)]
    pairs = [(sha, line.parents[sha]) for sha in shas if sha in line.parents and sha not in line.merges]
    answers: dict[str, str] = {}
    for file in asked.files:
        ends = [defaults(blob(repository, end, file)) for end in (good, bad)]
        by = changed_by(repository, pairs, file)
        answers |= {
            name: by[name][0]
            for name in ends[0].keys() & ends[1].keys()
            if ends[0][name] != ends[1][name] and len(by.get(name, ())) == 1
        }
    touched = read_touched(repository.path, line).by
    settings = read_settings(repository.path, line, dict.fromkeys(sorted(answers), 1.0))
    cases: dict[str, list[float]] = {}
    ranks: list[int] = []
    for own in settings:
        name, sha = own.name, answers[own.name]
        cases[name] = claims(touched, own, shas.index(sha))
        ranks.append(rank(touched, own, shas.index(sha)))
        print(f"{ranks[-1]:5d}  {name:40} {sha[:12]} {' '.join(f'{claim:.3f}' for claim in cases[name][:3])}")
    report(cases, ranks, line.size - 1)


def report(cases: Mapping[str, Sequence[float]], ranks: Sequence[int], commits: int) -> None:
    """What the cases say."""
    learnt = likeliest(list(cases.values()))
    used = (variables.PARTS.named, variables.PARTS.same_file, variables.PARTS.said, variables.PARTS.unclaimed)
    parts = [one / sum(used) for one in used]
    print(f"\n{len(cases)} cases among {commits} commits\n")
    print("| evidence | likeliest part | part in use |\n|---|--:|--:|")
    for kind, own, now in zip(KINDS, learnt, parts, strict=True):
        print(f"| {kind} | {own:.2f} | {now:.2f} |")
    bits = {
        name: sum(-math.log2(sum(p * c for p, c in zip(of, case, strict=True))) for case in cases.values()) / len(cases)
        for name, of in (("learnt", learnt), ("used", parts))
    }
    among = {f"first_{most}": sum(own <= most for own in ranks) / len(ranks) for most in (1, 5, 20)}
    print(
        json.dumps({"cases": len(cases), "commits": commits, **among, "bits": bits, "no_evidence": math.log2(commits)})
    )


if __name__ == "__main__":
    main()
