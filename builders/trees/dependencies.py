"""Which files of the tree a target was compiled from: read from the dependency files that -MD and -MMD write."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cpubisect.base.objects import ObjectFile
from cpubisect.base.sandbox import inside

_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_OBJECTS = (".o", ".lo")


def rules(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Targets and prerequisites of each rule in a dependency file, in order; escapes are undone."""
    for rule in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        targets, colon, after = rule.partition(": ")
        if colon:
            yield _words(targets), _words(after)


def _words(text: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in _WORD.findall(text)]


def prerequisites(text: str) -> list[str]:
    """The prerequisites of all rules in a dependency file, in order; targets are left out, escapes undone."""
    return [word for _, after in rules(text) for word in after]


def compiled_sources(tree: Path, directory: Path) -> tuple[str, ...]:
    """Files inside `tree` named by the dependency files below `directory`, relative to the tree, sorted.

    Compilers ran in `directory`: that is where relative names begin. Generated files that lie in the tree count too.
    """
    names: set[str] = set()
    for file in directory.rglob("*.d"):
        if inside.is_file(file, tree):
            names.update(prerequisites(inside.read_text(file, tree)))
    places = Places(tree)
    found = (places.locate(directory, name) for name in names)
    return tuple(sorted({name for name in found if name and (tree / name).is_file()}))


class Places:
    """Where the names in dependency files lead; each is looked up once."""

    def __init__(self, tree: Path) -> None:
        self.root = tree.resolve()
        self._known: dict[tuple[Path, str], str] = {}

    def locate(self, directory: Path, name: str) -> str:
        """The path relative to the tree, links resolved, of what a compiler in `directory` calls so; empty if it lies
        outside."""
        if (directory, name) not in self._known:
            try:
                path = (directory / name).resolve()
            except (OSError, RuntimeError, ValueError):
                # A name that no file can have, or a link to itself.
                path = Path("/")
            inside = path.is_relative_to(self.root)
            self._known[directory, name] = str(path.relative_to(self.root)) if inside else ""
        return self._known[directory, name]


def objects_of(places: Places, files: Mapping[Path, Path]) -> dict[str, ObjectFile]:
    """The object files, by their paths in the tree, that dependency files tell of: each of `files` with the directory
    in which its compiler ran. What they were made from may be generated; an object that is gone is left out."""
    found: dict[str, ObjectFile] = {}
    for file, directory in files.items():
        for targets, after in rules(inside.read_text(file, places.root)):
            made = [name for name in targets if name.endswith(_OBJECTS) and (directory / name).is_file()]
            if made and after:
                inputs = dict.fromkeys(places.locate(directory, name) for name in after)
                own = tuple(name for name in inputs if name)
                source = places.locate(directory, after[0])
                found.update({places.locate(directory, name): ObjectFile(source, own) for name in made})
    return found
