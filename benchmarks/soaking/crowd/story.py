"""The small history that a case is about, as a real repository."""

import os
import subprocess
from pathlib import Path

from soaking.crowd.plan import Shape

_PROGRAM = Path(__file__).resolve().parents[3] / "tests/workloads/small_bench.c"
"""It has the command line of db_bench, and lookups of a size that is a macro."""

_MAKEFILE = "db_bench: small_bench.c cost.h\n\t$(CC) -O1 -w -include cost.h -o $@ small_bench.c\n"
_VERSION = "".join(f"#define MINIKV_{part} 1\n" for part in ("MAJOR", "MINOR", "PATCH"))
_EPOCH_S = 1_700_000_000


def write(shape: Shape, mark: str, target: Path) -> tuple[str, ...]:
    """Make the repository; the names of its commits, the first one first. They are others for each `mark`, the trees
    are not."""
    target.mkdir(parents=True)
    _git(target, "init", "--quiet", "--template=", "--initial-branch=main")
    _git(target, "fast-import", "--quiet", "--force", stdin="".join(_stream(shape, mark)).encode())
    _git(target, "reset", "--quiet", "--hard", "main")
    return tuple(_git(target, "rev-list", "--reverse", "main").split())


def _stream(shape: Shape, mark: str) -> list[str]:
    first = {"Makefile": _MAKEFILE, "small_bench.c": _PROGRAM.read_text(), "include/minikv/version.h": _VERSION}
    lines = []
    for number, cost in enumerate(shape.costs):
        when = f"Soak <soak@minikv.example> {_EPOCH_S + number * 3600} +0000"
        lines.append(f"commit refs/heads/main\nauthor {when}\ncommitter {when}\n{_data(f'Commit {number} of {mark}')}")
        files = {"cost.h": f"#define LOOKUP {cost}\n", **(first if number == 0 else {})}
        lines += [f"M 100644 inline {path}\n{_data(text)}" for path, text in files.items()]
    return lines


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


def _git(place: Path, *words: str, stdin: bytes = b"") -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *words], cwd=place, env=environment, input=stdin, capture_output=True, check=True)
    return done.stdout.decode()
