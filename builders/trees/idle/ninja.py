"""Idle sources in `build.ninja`, the plan that cmake makes."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION, is_idle

_EDGE = re.compile(r"^build (?P<outputs>[^:]+): (?P<rule>\S+) ?(?P<inputs>.*)$")
_FLAGS = re.compile(r"^(  FLAGS = .*)$", re.MULTILINE)
_ARCHIVE = ".a"


def unoptimised(plan: str, tree: str, targets: Collection[str], idle: Sequence[str]) -> str:
    """The text of a build.ninja in which the sources that match `idle`, globs of paths in `tree`, are compiled without
    optimisation and linked last into whichever of the `targets`, spelled as in the plan, is linked, if they are a part
    of it. A plan without such sources or without such a target stays as it is."""
    paragraphs = plan.split("\n\n")
    parts = _parts(paragraphs, targets)
    found = (_idle_object(paragraph, tree, idle) for paragraph in paragraphs)
    objects = [name for name in found if name in parts]
    known = frozenset(objects)
    for number, paragraph in enumerate(paragraphs if objects else ()):
        if _idle_object(paragraph, tree, idle) in known:
            paragraphs[number] = re.sub(_FLAGS, rf"\1 {WITHOUT_OPTIMISATION}", paragraph)
        elif _linked(paragraph, targets):
            paragraphs[number] = "\n".join(_linked_last(line, objects) for line in paragraph.split("\n"))
        else:
            paragraphs[number] = "\n".join(_archived(line, known) for line in paragraph.split("\n"))
    return "\n\n".join(paragraphs)


def _parts(paragraphs: Sequence[str], targets: Collection[str]) -> frozenset[str]:
    """What a target is linked from: its inputs, and those of its archives."""
    edges = [edge for paragraph in paragraphs for edge in _edges(paragraph)]
    own = {word for edge in edges if _links(edge, targets) for word in edge["inputs"].split()}
    archives = (edge for edge in edges if edge["outputs"] in own and edge["outputs"].endswith(_ARCHIVE))
    return frozenset(own.union(*(edge["inputs"].split() for edge in archives)))


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


def _archived(line: str, objects: Collection[str]) -> str:
    """A line of another edge: an archive is made without these objects."""
    edge = _EDGE.match(line)
    if not edge or not edge["outputs"].split(" | ")[0].endswith(_ARCHIVE):
        return line
    return " ".join(word for word in line.split(" ") if word not in objects)


def _linked_last(line: str, objects: Sequence[str]) -> str:
    """A line of the edge that links the target: its inputs, or what it hands to the linker."""
    libraries = line.removeprefix("  LINK_LIBRARIES = ")
    if libraries != line:
        words = libraries.split()
        archives = dict.fromkeys(word for word in words if word.endswith(_ARCHIVE))
        # With --as-needed, Debian's default, what only the idle objects need was left out before them.
        shared = dict.fromkeys(word for word in words if ".so" in PurePosixPath(word).name or word.startswith("-l"))
        return " ".join([line, *objects, "-Wl,--start-group", *archives, "-Wl,--end-group", *shared])
    if not _EDGE.match(line):
        return line
    explicit, bar, order_only = line.partition(" || ")
    return " ".join([explicit, *([] if " | " in explicit else ["|"]), *objects]) + bar + order_only
