"""Idle sources in `build.ninja`, the plan that cmake makes, and those that are left out of it."""

import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION, Company, Joined, is_idle, marked, several

_EDGE = re.compile(r"^build (?P<outputs>[^:]+): (?P<rule>\S+) ?(?P<inputs>.*)$")
_FLAGS = re.compile(r"^(  FLAGS = .*)$", re.MULTILINE)
_ARCHIVE = ".a"
_RULE, _MARK = "STAND_INS", "MARK"

_CXX = (".cc", ".cpp")
_SAME = ("  DEFINES = ", "  FLAGS = ", "  INCLUDES = ")
_TOGETHER = "TOGETHER"


def unoptimised(plan: str, tree: str, targets: Collection[str], idle: Sequence[str], folder: str) -> str:
    """The text of a build.ninja in which the sources that match `idle`, globs of paths in `tree`, are compiled without
    optimisation and linked last, between the marks in `folder`, into whichever of the `targets`, spelled as in the
    plan, is linked, if they are a part of it. A plan without such sources or without such a target stays as it is."""
    paragraphs = plan.split("\n\n")
    objects = _own_objects(paragraphs, tree, targets, idle)
    if not objects:
        return plan
    known = frozenset(objects)
    for number, paragraph in enumerate(paragraphs):
        if _idle_object(paragraph, tree, idle) in known:
            paragraphs[number] = re.sub(_FLAGS, rf"\1 {WITHOUT_OPTIMISATION}", paragraph)
        elif _linked(paragraph, targets):
            last = marked(objects, folder)
            paragraphs[number] = "\n".join(_linked_last(line, last) for line in paragraph.split("\n"))
        else:
            paragraphs[number] = "\n".join(_archived(line, known) for line in paragraph.split("\n"))
    marks = (f"build {name}: {_MARK} {PurePosixPath(name).with_suffix('.s')}" for name in marked((), folder))
    rule = f"rule {_MARK}\n  command = as $in -o $out"
    return "\n\n".join([paragraphs[0], rule, *marks, *paragraphs[1:]])


def together(
    plan: str,
    tree: str,
    targets: Collection[str],
    idle: Sequence[str],
    company: Company,
    program: Sequence[str],
    folder: str,
) -> tuple[str, list[Joined]]:
    """The text of a build.ninja, as `unoptimised` leaves it, in which the C++ sources that match `idle` are compiled
    several at a time, as far as their commands are the same and they get along in `company`; by the words of `program`,
    the compiler among them; and which those are, with files in `folder`."""
    paragraphs = plan.split("\n\n")
    groups: defaultdict[tuple[str, ...], dict[tuple[str, str], str]] = defaultdict(dict)
    own = frozenset(_own_objects(paragraphs, tree, targets, idle))
    for paragraph in paragraphs:
        if (name := _idle_object(paragraph, tree, idle)) in own and name is not None:
            source, _, needed = next(_edges(paragraph))["inputs"].partition(" || ")
            same = tuple(line for line in paragraph.split("\n") if line.startswith(_SAME))
            path = str(PurePosixPath(source).relative_to(tree))
            if source.endswith(_CXX) and company.takes(path):
                groups[same][path, name] = needed
    found: list[Joined] = []
    edges: list[str] = []
    instead: dict[str, str] = {}
    for same, members in groups.items():
        for one in several(list(members), company, folder):
            pairs = zip(one.sources, one.objects, strict=True)
            needs = dict.fromkeys(word for pair in pairs for word in members[pair].split())
            edges.append("\n".join((f"build {one.object}: {_TOGETHER} {one.file} || {' '.join(needs)}", *same)))
            instead |= dict.fromkeys(one.objects, one.object)
            found.append(one)
    if not found:
        return plan, []
    command = f"{_command(program)} $DEFINES $INCLUDES $FLAGS -MD -MT $out -MF $out.d -o $out -c $in"
    rule = f"rule {_TOGETHER}\n  depfile = $out.d\n  deps = gcc\n  command = {command}"
    rule += "\n  description = Building CXX object $out"
    for number, paragraph in enumerate(paragraphs):
        if _linked(paragraph, targets):
            paragraphs[number] = "\n".join(_replaced(line, instead) for line in paragraph.split("\n"))
    return "\n\n".join([paragraphs[0], rule, *edges, *paragraphs[1:]]), found


def without(
    plan: str, tree: str, targets: Collection[str], left_out: Sequence[str], program: Sequence[str], made: str
) -> tuple[str, list[str]]:
    """The text of a build.ninja in which the sources that match `left_out`, globs of paths in `tree`, are no part of
    whichever of the `targets` is linked, and those sources. What is missing then is in the object `made`, which is made
    by the words of `program` and the command that links the target, without its output. A plan without such sources or
    without such a target stays as it is."""
    paragraphs = plan.split("\n\n")
    objects = frozenset(_own_objects(paragraphs, tree, targets, left_out))
    if not objects:
        return plan, []
    sources = [
        edge["inputs"].split(" ")[0] for part in paragraphs for edge in _edges(part) if edge["outputs"] in objects
    ]
    result = [f"rule {_RULE}\n  command = {_command(program)} $FLAGS $LINK_FLAGS $in $LINK_PATH $LINK_LIBRARIES"]
    for paragraph in paragraphs:
        lines = [_archived(line, objects) for line in paragraph.split("\n")]
        if _linked(paragraph, targets):
            lines = [" ".join(word for word in line.split(" ") if word not in objects) for line in lines]
            result.append("\n".join(_stand_ins(line, made) for line in lines))
            lines = [_linked_last(line, [made], again=False) for line in lines]
        result.append("\n".join(lines))
    return "\n\n".join([result[1], result[0], *result[2:]]), sources


def _command(words: Sequence[str]) -> str:
    """Words of a command as a plan spells them."""
    return shlex.join(words).replace("$", "$$")


def _own_objects(paragraphs: Sequence[str], tree: str, targets: Collection[str], forms: Sequence[str]) -> list[str]:
    """The objects of sources that match one of the `forms`, as far as a target is linked from them by way of an
    archive: what it is linked from by itself has its place."""
    parts = _parts(paragraphs, targets)
    found = (_idle_object(paragraph, tree, forms) for paragraph in paragraphs)
    return [name for name in found if name in parts]


def _parts(paragraphs: Sequence[str], targets: Collection[str]) -> frozenset[str]:
    """What a target is linked from in archives, or was, and is linked last by now."""
    edges = [edge for paragraph in paragraphs for edge in _edges(paragraph)]
    linking = [edge["inputs"] for edge in edges if _links(edge, targets)]
    needed = {word for inputs in linking for word in inputs.split()}
    given = {word for inputs in linking for word in inputs.partition(" | ")[0].split()}
    archives = (edge for edge in edges if edge["outputs"] in needed and edge["outputs"].endswith(_ARCHIVE))
    return frozenset(needed.union(*(edge["inputs"].split() for edge in archives)) - given)


def _edges(paragraph: str) -> Iterator[re.Match[str]]:
    return (edge for line in paragraph.split("\n") if (edge := _EDGE.match(line)))


def _idle_object(paragraph: str, tree: str, idle: Sequence[str]) -> str | None:
    """The object that a paragraph compiles, if its source is an idle one."""
    for edge in _edges(paragraph):
        source = edge["inputs"].split(" ")[0]
        path = PurePosixPath(source)
        if edge["outputs"].endswith(".o") and path.is_relative_to(tree) and is_idle(str(path.relative_to(tree)), idle):
            return edge["outputs"]
    return None


def _linked(paragraph: str, targets: Collection[str]) -> bool:
    return any(_links(edge, targets) for edge in _edges(paragraph))


def _links(edge: re.Match[str], targets: Collection[str]) -> bool:
    return edge["outputs"] in targets and edge["rule"] != "phony"


def _replaced(line: str, instead: dict[str, str]) -> str:
    """A line with other words for some, each once in place of the first."""
    if not instead.keys() & set(line.split(" ")):
        return line
    seen: set[str] = set()
    words = []
    for word in line.split(" "):
        put = instead.get(word, word)
        if put == word or put not in seen:
            words.append(put)
        seen.add(put)
    return " ".join(words)


def _archived(line: str, objects: Collection[str]) -> str:
    """A line of another edge: an archive is made without these objects."""
    edge = _EDGE.match(line)
    if not edge or not edge["outputs"].split(" | ")[0].endswith(_ARCHIVE):
        return line
    return " ".join(word for word in line.split(" ") if word not in objects)


def _stand_ins(line: str, made: str) -> str:
    """A line of the edge that links the target, for one beside it that makes what is missing then."""
    edge = _EDGE.match(line)
    return f"build {made}: {_RULE} {edge['inputs']}" if edge else line


def _linked_last(line: str, objects: Sequence[str], *, again: bool = True) -> str:
    """A line of the edge that links the target: its inputs, or what it hands to the linker; with the archives `again`
    behind the objects."""
    libraries = line.removeprefix("  LINK_LIBRARIES = ")
    if libraries != line:
        words = libraries.split() if again else []
        archives = dict.fromkeys(word for word in words if word.endswith(_ARCHIVE))
        # With --as-needed, Debian's default, what only the idle objects need was left out before them.
        shared = dict.fromkeys(word for word in words if ".so" in PurePosixPath(word).name or word.startswith("-l"))
        group = ["-Wl,--start-group", *archives, "-Wl,--end-group"] if again else []
        return " ".join([line, *objects, *group, *shared])
    if not _EDGE.match(line):
        return line
    explicit, bar, order_only = line.partition(" || ")
    return " ".join([explicit, *([] if " | " in explicit else ["|"]), *objects]) + bar + order_only
