"""The form of `compiler-matrix.yaml`: its sections as models, and its errors with line and key."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.ranges import VersionRange
from cpubisect.builders.catalog import builder_named, screening_builder_named

KeyPath: TypeAlias = tuple[str | int, ...]


def _regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _relative_path(text: str) -> str:
    if not text or text.startswith("/") or ".." in text.split("/"):
        raise ValueError(f"{text!r} is not a path inside the tree")
    return text


def _one_group(pattern: str) -> str:
    if re.compile(pattern).groups != 1:
        raise ValueError(f"{pattern!r} must have just one group")
    return pattern


def _known(digest: str) -> str:
    return "" if digest == "unknown" else digest


Regex = Annotated[str, AfterValidator(_regular_expression)]
TreePath = Annotated[str, AfterValidator(_relative_path)]
Range = Annotated[VersionRange, BeforeValidator(VersionRange.parse)]
ToolchainName = Annotated[str, Field(pattern=r"^(gcc|clang)-\d+$")]
HeaderName = Annotated[str, Field(pattern=r'^[^<>"\s]+$')]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class EditSection(_Section):
    """One source edit: in `file`, each match of `find` (multiline regular expression) becomes `replace`."""

    file: TreePath
    find: Regex
    replace: str
    why: str = ""

    @model_validator(mode="after")
    def _replaces(self) -> "EditSection":
        """A reference to a group that `find` lacks is a mistake in the file, not in a tree."""
        try:
            re.compile(self.find).sub(self.replace, "")
        except (re.error, IndexError) as error:
            raise ValueError(f"{self.replace!r} does not fit {self.find!r}: {error}") from None
        return self


class ReleaseSection(_Section):
    """What a rule says of builds by each tree's own release flags, in place of its keys of the same names; None leaves
    the rule's own."""

    cflags: tuple[str, ...] | None = None
    cxxflags: tuple[str, ...] | None = None
    options: tuple[str, ...] | None = None
    environment: dict[str, str] | None = None


class Rule(_Section):
    """What holds for a range of releases; None means that the rule leaves it as earlier rules have it."""

    versions: Range
    why: str
    tried: bool = False
    toolchain: Annotated[tuple[ToolchainName, ...], Field(min_length=1)] | None = None
    std: str | None = None
    system: str | None = None
    cflags: tuple[str, ...] = ()
    cxxflags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    forced_includes: tuple[HeaderName, ...] = ()
    patches: tuple[TreePath, ...] = ()
    edits: tuple[EditSection, ...] = ()
    idle: tuple[TreePath, ...] = ()
    left_out: tuple[TreePath, ...] = ()
    precompiled: bool = False
    release: ReleaseSection | None = None

    def by(self, flags: Flags) -> "Rule":
        """What it says of builds by these flags."""
        if flags is Flags.PINNED or self.release is None:
            return self
        return self.model_copy(update={name: own for name, own in self.release if own is not None})


class RepairSection(_Section):
    """What to change when a certain diagnostic appears; just one kind of change."""

    diagnostic: Regex
    file: str = "*"
    versions: Range = VersionRange(None, None)
    why: str
    cflags: tuple[str, ...] = ()
    cxxflags: tuple[str, ...] = ()
    include: Annotated[str, Field(pattern=r'^(<[^<>"\s]+>|"[^<>"\s]+")$')] | None = None
    edit: EditSection | None = None
    patch: TreePath | None = None

    @model_validator(mode="after")
    def _one_change(self) -> "RepairSection":
        flags = bool(self.cflags or self.cxxflags)
        if sum((flags, self.include is not None, self.edit is not None, self.patch is not None)) != 1:
            raise ValueError("a repair is just one of: cflags and/or cxxflags, include, edit, patch")
        return self


class VersionFileSection(_Section):
    """Where the tree says its release."""

    path: TreePath
    patterns: Annotated[tuple[Regex, ...], Field(min_length=1)]


class WantedSection(_Section):
    """Where a tree says which release of a library it wants: the first group of the pattern is its name."""

    file: TreePath
    pattern: Annotated[Regex, AfterValidator(_one_group)]


class LibraryFileSection(_Section):
    """A library's file: addresses to fetch it from, the best first, and its digest, empty where none is known."""

    addresses: tuple[Annotated[str, Field(pattern=r"^https?://\S+$")], ...] = ()
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$|^unknown$"), AfterValidator(_known)]


class LibrarySection(_Section):
    """A library that trees of an engine may want and not carry."""

    name: Annotated[str, Field(pattern=r"^[\w.+-]+$")]
    wanted: WantedSection
    header: TreePath
    carried: tuple[TreePath, ...] = ()
    host: Annotated[Regex, AfterValidator(_one_group)]
    part: TreePath
    option: Annotated[str, Field(pattern=r"\{path\}")]
    files: dict[Annotated[str, Field(pattern=r"^[\w+-][\w.+-]*$")], LibraryFileSection] = Field(default_factory=dict)


class EngineSection(_Section):
    """One engine: where it comes from, and its rules and repairs."""

    repository: str = ""
    tags: tuple[Annotated[str, Field(pattern=r"\{version\}")], ...]
    version_files: Annotated[tuple[VersionFileSection, ...], Field(min_length=1)]
    irrelevant: tuple[str, ...] = ()
    unread: tuple[Annotated[str, Field(pattern=r"^/([\w.-]+/)+$")], ...] = ()
    bundled: tuple[Annotated[str, Field(pattern=r"^/([\w.*-]+/)+$")], ...] = ()
    builder: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    screening: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] | None = None
    workload: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    libraries: tuple[LibrarySection, ...] = ()
    rules: tuple[Rule, ...] = ()
    repairs: tuple[RepairSection, ...] = ()


class MatrixFile(_Section):
    """The whole file."""

    engines: Annotated[dict[str, EngineSection], Field(min_length=1)]


MOST_BYTES = 4 << 20
"""A matrix is some 30 kB; what is much larger is another file."""


def read_matrix(path: Path) -> MatrixFile:
    """Read and check a matrix file; raises UserError with its name and line, and the key or what it names in vain.

    All scalars are taken as the text that stands there: a version 8.10 is not the number 8.1, `on` stays `on`.
    """
    try:
        text = _read(path).decode()
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "name the matrix file that is meant") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        raise UserError(f"{path.name}{where}: {getattr(error, 'problem', None) or error}", "it is not YAML") from None
    if root is None:
        raise UserError(f"{path.name}:1: the file is empty", "it needs a key `engines`")
    lines: dict[KeyPath, int] = {}
    for key_path, line, repeated in _walk(root, ()):
        if repeated:
            raise UserError(
                f"{path.name}:{line}: {_spell(key_path)}: the key stands twice in the same map", "join them"
            )
        lines[key_path] = line
    try:
        file = MatrixFile.model_validate(yaml.load(text, Loader=yaml.BaseLoader))
    except ValidationError as error:
        first, *others = sorted(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
        more = f" (and {len(others)} more)" if others else ""
        raise UserError(f"{path.name}:{_describe(first, lines)}{more}", "its head says what each key means") from None
    for at, mistake in _misnamed(file):
        raise UserError(f"{path.name}:{lines[at]}: {mistake.problem}", mistake.hint)
    return file


def _read(path: Path) -> bytes:
    """The content of a regular file; raises OSError, and UserError for what is none or is too large."""
    state = path.stat().st_mode
    if not stat.S_ISREG(state) and not stat.S_ISDIR(state):
        raise UserError(f"{path} is no regular file", "name the matrix file that is meant")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UserError(f"{path} is larger than {MOST_BYTES >> 20} MiB", "name the matrix file that is meant")
    return content


def _misnamed(file: MatrixFile) -> Iterator[tuple[KeyPath, UserError]]:
    """Where an engine is given a builder that is not there, or a build system that its builder does not know."""
    for engine, section in file.engines.items():
        at: KeyPath = ("engines", engine)
        try:
            systems = builder_named(section.builder, engine).systems
        except UserError as mistake:
            yield (*at, "builder"), mistake
            continue
        try:
            if section.screening:
                screening_builder_named(section.screening, engine)
        except UserError as mistake:
            yield (*at, "screening"), mistake
        for number, rule in enumerate(section.rules):
            if rule.system is not None and rule.system not in systems:
                problem = f"the matrix gives {engine} the system {rule.system!r}, which its builder does not know"
                yield (*at, "rules", number, "system"), UserError(problem, f"use {', '.join(systems)}")


def _walk(node: yaml.Node, at: KeyPath) -> Iterator[tuple[KeyPath, int, bool]]:
    """Each key path below `node` with its line, and whether its map has that key already."""
    yield at, node.start_mark.line + 1, False
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield (*at, name), key.start_mark.line + 1, True
            seen.add(name)
            for below, line, repeated in _walk(value, (*at, name)):
                yield below, key.start_mark.line + 1 if below == (*at, name) else line, repeated
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _walk(value, (*at, index))


def _describe(error: Any, lines: dict[KeyPath, int]) -> str:
    key_path: KeyPath = error["loc"]
    known = key_path
    while known not in lines:
        known = known[:-1]
    message = {
        "missing": "this key is required",
        "extra_forbidden": "there is no such key",
    }.get(error["type"], error["msg"].removeprefix("Value error, "))
    return f"{lines[known]}: {_spell(key_path)}: {message}"


def _spell(key_path: KeyPath) -> str:
    """`engines.rocksdb.rules[2].toolchain`; the whole file is `the file`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in key_path)
    return text.lstrip(".") or "the file"
