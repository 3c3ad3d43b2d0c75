"""The shape of a tree of cpubisect's sources: its rooms, what imports what, long functions, deep import chains.

    python benchmarks/rooms.py [--repo DIRECTORY] [--json]

Reads the files only, those of an older checkout alike, so that two trees can be compared.
"""

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

PACKAGE = "cpubisect"
FOLDERS = ("bisect", "builders", "workloads", "web", "example")
STARTING = f"{PACKAGE}.cli"


@dataclass(frozen=True)
class Module:
    """One file: its dotted `name`, its `room`, its lines, and the modules of ours that it imports: at once, when it is
    itself imported, or at all, also within functions (`imports`)."""

    name: str
    room: str
    lines: int
    at_once: frozenset[str]
    imports: frozenset[str]


@dataclass(frozen=True)
class Shape:
    """What is told of a tree: `rooms` maps each room to its number of modules and of lines, `arrows` each arrow between
    rooms to the number of imports; `cycles` are rooms that reach each other; `longest` are the longest functions with
    their lines; `chain` is the deepest chain of imports, each importing the next, that a command pays for before it
    knows what it was asked; `at_start` counts the modules of ours that it loads."""

    rooms: Mapping[str, tuple[int, int]]
    arrows: Mapping[str, int]
    cycles: tuple[tuple[str, ...], ...]
    longest: tuple[tuple[str, int], ...]
    chain: tuple[str, ...]
    at_start: int


def modules(root: Path) -> dict[str, Module]:
    """All modules of a tree by name."""
    paths = {_name(root, path): path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))}
    return {name: _module(root, name, path, frozenset(paths)) for name, path in paths.items()}


def _name(root: Path, path: Path) -> str:
    parts = [part for part in path.relative_to(root).with_suffix("").parts if part != "__init__"]
    return ".".join((PACKAGE, *(parts[1:] if parts[0] == "bisect" else parts)))


def _room(root: Path, path: Path) -> str:
    return "/".join(path.relative_to(root).parts[:-1][:2])


def _module(root: Path, name: str, path: Path, known: frozenset[str]) -> Module:
    tree = ast.parse(path.read_text())
    lines = len(path.read_text().splitlines())
    at_once = frozenset(_imported(tree, known, deep=False)) - {name}
    return Module(name, _room(root, path), lines, at_once, frozenset(_imported(tree, known, deep=True)) - {name})


def _imported(tree: ast.Module, known: frozenset[str], *, deep: bool) -> Iterator[str]:
    nodes = ast.walk(tree) if deep else iter(tree.body)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in inner if name in known)
            if node.module in known and not all(name in known for name in inner):
                yield node.module


def shape(root: Path, functions: int = 5) -> Shape:
    """Measure one tree."""
    found = modules(root)
    rooms = {module.room for module in found.values()}
    sizes = {
        room: (
            sum(module.room == room and not module.name.endswith(room.rpartition("/")[2]) for module in found.values()),
            sum(module.lines for module in found.values() if module.room == room),
        )
        for room in sorted(rooms)
    }
    arrows = Counter(
        (module.room, found[other].room)
        for module in found.values()
        for other in module.imports
        if found[other].room != module.room
    )
    graph = {room: {other for one, other in arrows if one == room} for room in rooms}
    return Shape(
        rooms=sizes,
        arrows={f"{one} → {other}": count for (one, other), count in sorted(arrows.items())},
        cycles=_cycles(graph),
        longest=tuple(sorted(_functions(root), key=lambda item: -item[1])[:functions]),
        chain=_deepest(found, STARTING),
        at_start=len(_reached(found, STARTING)),
    )


def _cycles(graph: Mapping[str, set[str]]) -> tuple[tuple[str, ...], ...]:
    """Groups of rooms that reach each other."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            room = waiting.pop()
            if room not in seen:
                seen.add(room)
                waiting += graph[room]
        return seen

    reach = {room: reached(room) for room in graph}
    groups = {tuple(sorted(other for other in reach[room] if room in reach[other])) for room in graph}
    return tuple(sorted(group for group in groups if group))


def _functions(root: Path) -> Iterator[tuple[str, int]]:
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and node.end_lineno:
                    yield f"{path.relative_to(root)}:{node.name}", node.end_lineno - node.lineno + 1


def _reached(found: Mapping[str, Module], start: str) -> set[str]:
    seen = {start}
    waiting = [start]
    while waiting:
        for name in found[waiting.pop()].at_once:
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


def _deepest(found: Mapping[str, Module], start: str) -> tuple[str, ...]:
    """The longest chain in which each module imports the next at once; what closes a circle is left out."""

    known: dict[str, tuple[str, ...]] = {}
    active: set[str] = set()

    def below_once(name: str) -> tuple[str, ...]:
        if name not in known and name not in active:
            active.add(name)
            chains = [below_once(other) for other in sorted(found[name].at_once)]
            active.discard(name)
            known[name] = (name, *max(chains, key=len, default=()))
        return known.get(name, ())

    return below_once(start)


def _told(found: Shape) -> str:
    lines = [f"{'room':<18}{'modules':>8}{'lines':>8}"]
    lines += [f"{room:<18}{count:>8}{size:>8}" for room, (count, size) in found.rooms.items()]
    lines += ["", "arrows (imports)", *(f"  {arrow}  {count}" for arrow, count in found.arrows.items())]
    lines += ["", "cycles between rooms", *(f"  {' ⇄ '.join(group)}" for group in found.cycles or (("none",),))]
    lines += ["", "longest functions", *(f"  {lines:>4}  {name}" for name, lines in found.longest)]
    chain = " → ".join(name.removeprefix(f"{PACKAGE}.") for name in found.chain)
    lines += ["", f"modules of ours that every command imports: {found.at_start}"]
    lines += [f"deepest chain of them ({len(found.chain)}): {chain}"]
    return "\n".join(lines)


def main() -> None:
    """Print the shape of one tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, default=Path(__file__).resolve().parent.parent, metavar="DIRECTORY")
    parser.add_argument("--json", action="store_true", dest="as_json")
    arguments = parser.parse_args()
    if not (arguments.repo / "bisect").is_dir():
        sys.exit(f"{arguments.repo} is no checkout of cpubisect")
    found = shape(arguments.repo)
    print(json.dumps(asdict(found), indent=2) if arguments.as_json else _told(found))


if __name__ == "__main__":
    main()
