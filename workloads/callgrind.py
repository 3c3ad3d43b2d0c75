"""Exact instruction counts: run a command under valgrind's callgrind and read its profile by function."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cpubisect.process import Finished, run

_CLONE = re.compile(
    r"(?: \[clone [^\]]*\]"
    r"|\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm)(?:\.\d+)*"
    r"|@@?[A-Z][\w.]*)+$"
)
_RECURSION = re.compile(r"'\d+$")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+$")
_NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


@dataclass(frozen=True)
class Profile:
    """A callgrind profile.

    `total` is all instructions (event `Ir`) that were collected; `functions` maps a function to the instructions
    executed in its own code (self cost), summed over files, objects, clones and recursion levels. Code without a
    symbol is summed under the name of its object in brackets, e.g. `[libz.so.1]`.
    """

    total: int
    functions: Mapping[str, int]


class _Names:
    """One name space of callgrind's compression: `(12) name` defines, `(12)` refers."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def resolve(self, text: str) -> str:
        match = _NAME.match(text)
        if match is None:
            return text
        if match[2]:
            self._known[match[1]] = match[2]
        return self._known.get(match[1], "???")


def normalise(name: str) -> str:
    """A function's name without what a compiler, linker or callgrind added: `.isra.0`, `[clone .cold]`, `'2`."""
    before = ""
    while name != before:
        before = name
        name = _CLONE.sub("", _RECURSION.sub("", name)) or name
    return name


def parse_profile(text: str) -> Profile:
    """Read callgrind's output format (version 1, any `positions:`, several parts in one text are added up).

    Lines below `fi=`/`fe=` are inlined code and belong to the function they are inlined into; the inclusive cost
    line after `calls=` belongs to nobody. Raises ValueError if the text holds no event `Ir`.
    """
    functions, objects = _Names(), _Names()
    costs: dict[tuple[str, str], int] = {}
    total, seen_totals = 0, False
    positions, column, known_event = 1, 0, False
    name, binary = "???", "???"
    inclusive = False
    for line in text.splitlines():
        if not line:
            continue
        if line[0] in "0123456789+-*":
            if inclusive:
                inclusive = False
                continue
            fields = line.split()
            at = positions + column
            if len(fields) > at:
                key = (name, binary)
                costs[key] = costs.get(key, 0) + int(fields[at])
            continue
        if line.startswith("fn="):
            name = functions.resolve(line[3:])
        elif line.startswith("cfn="):
            functions.resolve(line[4:])
        elif line.startswith("ob="):
            binary = objects.resolve(line[3:])
        elif line.startswith("cob="):
            objects.resolve(line[4:])
        elif line.startswith("calls="):
            inclusive = True
        elif line.startswith("positions:"):
            positions = len(line.split()) - 1
        elif line.startswith("events:"):
            events = line.split()[1:]
            if "Ir" not in events:
                raise ValueError(f"callgrind profile without instruction counts: {line!r}")
            column, known_event = events.index("Ir"), True
        elif line.startswith("totals:"):
            total += int(line.split()[1 + column])
            seen_totals = True
    if not known_event:
        raise ValueError("not a callgrind profile: no 'events:' line")
    summed: dict[str, int] = {}
    for (function, where), cost in costs.items():
        key_name = _display(function, where)
        summed[key_name] = summed.get(key_name, 0) + cost
    return Profile(total if seen_totals else sum(summed.values()), summed)


def _display(function: str, binary: str) -> str:
    if function == "???" or _ADDRESS.match(function):
        return f"[{os.path.basename(binary)}]"  # noqa: PTH119 - a name inside a profile, not a path of this host
    return normalise(function)


def slope(low: Profile, high: Profile, operations: int) -> tuple[float, dict[str, float]]:
    """Instructions per operation, in total and by function, from two runs of which `high` did `operations` more.

    What both runs do alike (start, open, load, close) cancels; functions without a difference are left out.
    """
    names = low.functions.keys() | high.functions.keys()
    changes = {name: high.functions.get(name, 0) - low.functions.get(name, 0) for name in sorted(names)}
    by_function = {name: change / operations for name, change in changes.items() if change}
    return (high.total - low.total) / operations, by_function


def command(
    argv: Sequence[str | os.PathLike[str]], out: Path, *, toggle: str = "", instrument: bool = True
) -> tuple[str, ...]:
    """The command line that runs `argv` under callgrind with its profile in `out`.

    `toggle` collects only inside functions of that name (with wildcards); `instrument=False` starts without
    counting until `callgrind_control -i on`. Addresses are not randomised, because hash tables keyed by pointers
    would make counts vary.
    """
    options = ["--tool=callgrind", f"--callgrind-out-file={out}", "--error-limit=no"]
    options += [f"--instr-atstart={'yes' if instrument else 'no'}"]
    if toggle:
        options += ["--collect-atstart=no", f"--toggle-collect={toggle}"]
    return ("setarch", "-R", "valgrind", *options, *(os.fspath(word) for word in argv))


def count(
    argv: Sequence[str | os.PathLike[str]],
    out: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 3600.0,
    log: Path | None = None,
) -> tuple[Finished, Profile | None]:
    """Run a command to its end under callgrind; the profile is None if the command failed or left none."""
    finished = run(command(argv, out), cwd=cwd, env=env, timeout_s=timeout_s, log=log)
    if not finished.ok or not out.is_file():
        return finished, None
    return finished, parse_profile(out.read_text(errors="replace"))
