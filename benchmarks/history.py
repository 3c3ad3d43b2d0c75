"""How long the history of a large clone takes: `python benchmarks/history.py [COMMITS]` or `… CLONE GOOD BAD`.

Without a clone, a repository of 100,000 commits (every tenth a merge of a commit beside the line) is generated in a
temporary folder. Listing that many must stay under 3 seconds. Each time is the median of several runs, and listing is
compared with what a search in Python would have to do first: read the parents of all commits.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from cpubisect.history.history import History

LIMIT_S = 3.0
RUNS = 5
GLOBS = ("*.md", "/docs/")
Result = TypeVar("Result")


def stream(commits: int) -> Iterator[bytes]:
    """The repository as `git fast-import` reads it: 500 sources, and a text in every third commit."""
    tip = 0
    for number in range(1, commits + 1):
        beside = number % 10 == 9
        path = f"docs/page{number % 50}.md" if number % 3 == 0 else f"src/file{number % 500}.cc"
        text, content = f"Change number {number}\n\nWhat it does.\n", f"{number}\n"
        yield (
            f"commit refs/heads/{'beside' if beside else 'main'}\nmark :{number}\n"
            f"committer A <a@example.org> {1_000_000_000 + number * 600} +0000\ndata {len(text)}\n{text}"
            + (f"from :{tip}\n" if tip else "")
            + (f"merge :{number - 1}\n" if number % 10 == 0 else "")
            + f"M 644 inline {path}\ndata {len(content)}\n{content}\n"
        ).encode()
        if not beside:
            tip = number


def generate(path: Path, commits: int) -> None:
    """Write the repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)], check=True)
    with subprocess.Popen(["git", "-C", str(path), "fast-import", "--quiet"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.writelines(stream(commits))
    if process.returncode != 0:
        raise SystemExit("git fast-import failed")


def timed(what: str, action: Callable[[], Result], runs: int = 1) -> tuple[Result, float]:
    """Do it, print how long it took, and return the seconds with the result."""
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        result = action()
        taken.append(time.perf_counter() - started)
    median = statistics.median(taken)
    print(f"{median:8.3f} s  {what}")
    return result, median


def all_parents(clone: Path, *tips: str) -> dict[str, list[str]]:
    """The parents of every commit that the tips contain."""
    command = ["git", "-C", str(clone), "rev-list", "--parents", *tips]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {sha: parents for sha, *parents in map(str.split, listing.splitlines())}


def measure(clone: Path, good: str, bad: str) -> float:
    """Print the time of each step; return the seconds that opening and listing took."""
    history, opened = timed("open", lambda: History(clone), RUNS)
    ends, resolved = timed("resolve both ends", lambda: history.resolve_pair(good, bad))
    shas = [end.sha for end in ends]
    found, listed = timed("list the candidates", lambda: history.candidates(*shas), RUNS)
    parents, reading = timed("(read the parents of all commits)", lambda: all_parents(clone, *shas), RUNS)
    classes, _ = timed("group them into classes", lambda: history.classes(found, GLOBS))
    print(f"{len(found.commits)} candidates in {len(classes)} classes, of {len(parents)} commits in all")
    print(f"listing takes {listed / reading:.2f} times as long as reading all parents")
    return opened + resolved + listed


def main() -> None:
    """Generate unless a clone is given, and measure."""
    if len(sys.argv) == 4:
        measure(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
        return
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        timed(f"generate {commits} commits", lambda: generate(clone, commits))
        root = subprocess.run(
            ["git", "-C", str(clone), "rev-list", "--max-parents=0", "main"], capture_output=True, text=True, check=True
        ).stdout.strip()
        if measure(clone, root, "main") > LIMIT_S:
            raise SystemExit(f"listing took more than {LIMIT_S} s")


if __name__ == "__main__":
    main()
