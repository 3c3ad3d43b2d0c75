"""Exact instruction counts: run a command under valgrind's callgrind and read its profile by function."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from cpubisect.process import Finished, run
from cpubisect.workloads.addresses import fixed_addresses
from cpubisect.workloads.attribution import attribute, is_library

_CLONE = re.compile(
    r"(?: \[clone [^\]]*\]"
    r"|\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm)(?:\.\d+)*"
    r"|@@?[A-Z][\w.]*)+$"
)
_RECURSION = re.compile(r"'\d+$")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+$")
_NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


_Key = tuple[str, str]
"""A function as callgrind names it, and the object file it is in."""


@dataclass(frozen=True)
class Profile:
    """A callgrind profile.

    `total` is all instructions (event `Ir`) that were collected; `functions` maps a function to the instructions
    executed in its own code (self cost), summed over files, objects, clones and recursion levels. Code without a
    symbol is summed under the name of its object in brackets, e.g. `[libz.so.1]`. `calls` maps (caller, callee) to the
    instructions executed during those calls (inclusive cost); `library` names the functions that only serve others.
    """

    total: int
    functions: Mapping[str, int]
    calls: Mapping[tuple[str, str], int] = field(default_factory=dict)
    library: frozenset[str] = frozenset()


LEAST_CALL = 1e-5
"""Calls that cost less than this part of an operation are not kept. All of those together are 0.01 % of a RocksDB seek
and 0.2 % of a transaction in MySQL 5.6 (with a limit of 0.01 %: 0.4 % and 2.3 %). What is left are 410 and 1,536 calls,
in the store 8 and 25 kB: 1.3 and 1.5 times what the profile takes."""


class PerOperation(NamedTuple):
    """Instructions per operation: in total, by function (self cost), by function with what libraries did for it, and by
    (caller, callee) during those calls (inclusive cost; from LEAST_CALL of the total on)."""

    total: float
    functions: dict[str, float]
    attributed: dict[str, float]
    calls: dict[tuple[str, str], float]


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
    line after `calls=` belongs to the edge from that function to the one called. Raises ValueError if the text holds no
    event `Ir`.
    """
    functions, objects = _Names(), _Names()
    costs: dict[_Key, int] = {}
    calls: dict[tuple[_Key, _Key], int] = {}
    total, seen_totals = 0, False
    positions, column, known_event = 1, 0, False
    name, binary = "???", "???"
    called, called_binary = "???", ""
    inclusive = False
    for line in text.splitlines():
        if not line:
            continue
        if line[0] in "0123456789+-*":
            fields = line.split()
            at = positions + column
            cost = int(fields[at]) if len(fields) > at else 0
            key = (name, binary)
            if inclusive:
                edge = (key, (called, called_binary or binary))
                calls[edge] = calls.get(edge, 0) + cost
                # Each call names its object anew, unless it is the caller's.
                inclusive, called_binary = False, ""
            elif len(fields) > at:
                costs[key] = costs.get(key, 0) + cost
            continue
        if line.startswith("fn="):
            name = functions.resolve(line[3:])
        elif line.startswith("cfn="):
            called = functions.resolve(line[4:])
        elif line.startswith("ob="):
            binary = objects.resolve(line[3:])
        elif line.startswith("cob="):
            called_binary = objects.resolve(line[4:])
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
    for key, cost in costs.items():
        summed[_display(key)] = summed.get(_display(key), 0) + cost
    edges: dict[tuple[str, str], int] = {}
    for (caller, callee), cost in calls.items():
        named = (_display(caller), _display(callee))
        edges[named] = edges.get(named, 0) + cost
    everything = costs.keys() | {end for edge in calls for end in edge}
    own = {_display(key) for key in everything if not is_library(normalise(key[0]), key[1])}
    library = frozenset(_display(key) for key in everything) - own
    return Profile(total if seen_totals else sum(summed.values()), summed, edges, library)


def _display(key: _Key) -> str:
    function, binary = key
    if function == "???" or _ADDRESS.match(function):
        return f"[{os.path.basename(binary)}]"  # noqa: PTH119 - a name inside a profile, not a path of this host
    return normalise(function)


def slope(low: Profile, high: Profile, operations: int) -> PerOperation:
    """Instructions per operation from two runs of which `high` did `operations` more.

    What both runs do alike (start, open, load, close) cancels, also in the calls by which library cost is attributed;
    functions without a difference are left out.
    """
    functions = _differences(low.functions, high.functions)
    calls = _differences(low.calls, high.calls)
    attributed = attribute(functions, calls, (low.library | high.library) - _own(low) - _own(high))
    by_function = {name: functions[name] / operations for name in sorted(functions)}
    with_library = {name: attributed[name] / operations for name in sorted(attributed)}
    total = high.total - low.total
    kept = {edge: calls[edge] / operations for edge in sorted(calls) if calls[edge] >= LEAST_CALL * total}
    return PerOperation(total / operations, by_function, with_library, kept)


def _own(profile: Profile) -> set[str]:
    return profile.functions.keys() - profile.library


_Name = TypeVar("_Name", str, tuple[str, str])


def _differences(low: Mapping[_Name, int], high: Mapping[_Name, int]) -> dict[_Name, int]:
    changes = {name: high.get(name, 0) - low.get(name, 0) for name in low.keys() | high.keys()}
    return {name: change for name, change in changes.items() if change}


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
    return (*fixed_addresses(), "valgrind", *options, *(os.fspath(word) for word in argv))


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
