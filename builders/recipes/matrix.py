"""`compiler-matrix.yaml`, loaded: which recipe a commit of an engine is built by."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from cpubisect.base.engine import Engine, VersionFile
from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.patches import patches_of
from cpubisect.base.version import Version
from cpubisect.builders.build import Edit, Library, NoRecipe, Recipe, RepairRule, Toolchain
from cpubisect.builders.recipes.matrix_file import (
    EditSection,
    EngineSection,
    LibrarySection,
    MatrixFile,
    RepairSection,
    Rule,
    read_matrix,
)

FILE_NAME = "compiler-matrix.yaml"


def locate_matrix() -> Path:
    """The matrix that came with this program: beside the rooms in a checkout, else where it was installed.

    Raises UserError if it is in neither place.
    """
    candidates = (Path(__file__).resolve().parents[2] / FILE_NAME, Path(sys.prefix) / "share/cpubisect" / FILE_NAME)
    for path in candidates:
        if path.is_file():
            return path
    raise UserError(f"there is no {FILE_NAME} with this installation", "install it again, or name your own matrix file")


class Matrix:
    """All engines and their rules; immutable.

    `patches_dir` is where its patches are: beside the file, else those that came with this program.
    """

    def __init__(self, file: MatrixFile, path: Path) -> None:
        self._file = file
        self._name = path.name
        self.patches_dir: Path = patches_of(path)

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Read a matrix file (default: the one that came with this program); raises UserError with line and key."""
        path = path or locate_matrix()
        return cls(read_matrix(path), path)

    def engines(self) -> list[Engine]:
        """All engines in the order of the file."""
        return [_engine(name, section) for name, section in self._file.engines.items()]

    def engine(self, name: str) -> Engine:
        """One engine by its name; raises UserError naming those there are."""
        return _engine(name, self._section(name))

    def toolchain_names(self) -> tuple[str, ...]:
        """Every toolchain that some rule names, in the order of the file."""
        return tuple(dict.fromkeys(name for lists in self.preferences().values() for some in lists for name in some))

    def preferences(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """By engine, what its rules name as toolchains, each rule's best first: one of each is needed."""
        sections = self._file.engines.items()
        return {name: tuple(rule.toolchain for rule in section.rules if rule.toolchain) for name, section in sections}

    def rules(self, engine: Engine, version: Version) -> tuple[Rule, ...]:
        """The rules that hold for a release, in the order they apply."""
        return tuple(rule for rule in self._section(engine.name).rules if rule.versions.holds(version))

    def preference(self, engine: Engine, version: Version) -> tuple[str, ...]:
        """Toolchain names for a release, best first; raises NoRecipe if no rule says."""
        names: tuple[str, ...] = ()
        for rule in self._holding(engine, version):
            names = rule.toolchain or names
        if not names:
            raise NoRecipe(
                f"no rule of {self._name} gives {engine.name} {version} a toolchain", "add `toolchain:` to one"
            )
        return names

    def shared_toolchain(
        self, engine: Engine, versions: Sequence[Version], toolchains: Sequence[Toolchain]
    ) -> str | None:
        """The installed toolchain that suits all these releases, by the first one's preference; None if none does.

        Building a whole range with one compiler keeps a step between compilers out of the measurement.
        """
        installed = {toolchain.name for toolchain in toolchains}
        wanted = [self.preference(engine, version) for version in versions]
        return next((name for name in wanted[0] if name in installed and all(name in names for names in wanted)), None)

    def recipe(
        self,
        engine: Engine,
        commit: str,
        version: Version,
        toolchains: Sequence[Toolchain],
        prefer: str | None = None,
        variant: str = "",
        flags: Flags = Flags.PINNED,
        libraries: tuple[Library, ...] = (),
    ) -> Recipe:
        """The recipe for one commit whose tree says it is `version`, with one of the installed `toolchains`.

        `prefer` names the toolchain to take whatever the rules say; `variant` is `SCREENING` for a recipe that the
        engine's screening builder carries out; `flags` are whose it is compiled by, `libraries` what its tree
        wants. Raises NoRecipe if no rule holds
        for the version, if none of them says what a release build is and that is wanted, or if no toolchain that would
        do is installed; UserError if a patch cannot be read.
        """
        names = (prefer,) if prefer else self.preference(engine, version)
        rules = [rule.by(flags) for rule in self._holding(engine, version)]
        if flags is Flags.RELEASE and all(rule.release is None for rule in rules):
            raise NoRecipe(
                f"no rule of {self._name} says how a release of {engine.name} {version} is built",
                "add `release:` to one, or leave out --flags",
            )
        system = std = ""
        environment: dict[str, str] = {}
        for rule in rules:
            system = rule.system if rule.system is not None else system
            std = rule.std if rule.std is not None else std
            environment |= rule.environment
        if not system:
            raise NoRecipe(f"no rule of {self._name} gives {engine.name} {version} a system", "add `system:` to one")
        patches = tuple(patch for rule in rules for patch in rule.patches)
        return Recipe(
            engine=engine.name,
            commit=commit,
            version=str(version),
            toolchain=_pick(names, toolchains, f"{engine.name} {version}"),
            system=system,
            std=std,
            cflags=tuple(flag for rule in rules for flag in rule.cflags),
            cxxflags=tuple(flag for rule in rules for flag in rule.cxxflags),
            options=tuple(option for rule in rules for option in rule.options),
            environment=environment,
            forced_includes=tuple(header for rule in rules for header in rule.forced_includes),
            patches=patches,
            patch_digests=tuple(self._digest(patch) for patch in patches),
            edits=tuple(_edit(edit, rule.why) for rule in rules for edit in rule.edits),
            idle=tuple(form for rule in rules for form in rule.idle),
            left_out=tuple(form for rule in rules for form in rule.left_out),
            repairs=tuple(
                _repair(repair) for repair in self._section(engine.name).repairs if repair.versions.holds(version)
            ),
            precompiled=any(rule.precompiled for rule in rules),
            variant=variant,
            flags=flags,
            libraries=libraries,
        )

    def libraries(self, engine: Engine) -> tuple[LibrarySection, ...]:
        """The libraries that trees of an engine may want."""
        return self._section(engine.name).libraries

    def addresses(self, engine: Engine, name: str) -> tuple[str, ...]:
        """Where the file of a library, e.g. `boost_1_59_0`, can be fetched from; empty if that is not known."""
        files = (section.files.get(name) for section in self.libraries(engine))
        return next((file.addresses for file in files if file), ())

    def _digest(self, patch: str) -> str:
        try:
            return hashlib.sha256((self.patches_dir / patch).read_bytes()).hexdigest()
        except OSError as error:
            raise UserError(f"cannot read the patch {patch} that {self._name} names", str(error)) from error

    def _section(self, name: str) -> EngineSection:
        section = self._file.engines.get(name)
        if section is None:
            raise UserError(f"{self._name} has no engine {name!r}", f"it has {', '.join(self._file.engines)}")
        return section

    def _holding(self, engine: Engine, version: Version) -> tuple[Rule, ...]:
        rules = self.rules(engine, version)
        if not rules:
            ranges = ", ".join(dict.fromkeys(str(rule.versions) for rule in self._section(engine.name).rules))
            raise NoRecipe(
                f"no rule of {self._name} holds for {engine.name} {version}",
                f"there are rules for {ranges}; add one for it" if ranges else "it has no rules at all",
            )
        return rules


def _pick(names: Sequence[str], toolchains: Sequence[Toolchain], what: str) -> Toolchain:
    installed = {toolchain.name: toolchain for toolchain in toolchains}
    for name in names:
        if name in installed:
            return installed[name]
    raise NoRecipe(
        f"none of the compilers for {what} is installed ({', '.join(names)})", f"apt install {apt_packages(names[0])}"
    )


def apt_packages(toolchain: str) -> str:
    """The Debian and Ubuntu packages that hold a toolchain: `g++-12`, or `clang-14 llvm-14`."""
    family, _, major = toolchain.partition("-")
    suffix = f"-{major}" if major else ""
    return f"clang{suffix} llvm{suffix}" if family == "clang" else f"g++{suffix}"


def _engine(name: str, section: EngineSection) -> Engine:
    return Engine(
        name=name,
        repository=section.repository,
        tags=section.tags,
        version_files=tuple(VersionFile(file.path, file.patterns) for file in section.version_files),
        irrelevant=section.irrelevant,
        unread=section.unread,
        bundled=section.bundled,
        builder=section.builder,
        workload=section.workload,
        screening=section.screening or "",
    )


def _edit(section: EditSection, why: str) -> Edit:
    return Edit(section.file, section.find, section.replace, section.why or why)


def _repair(section: RepairSection) -> RepairRule:
    return RepairRule(
        diagnostic=section.diagnostic,
        why=section.why,
        file=section.file,
        cflags=section.cflags,
        cxxflags=section.cxxflags,
        include=section.include or "",
        edit=_edit(section.edit, section.why) if section.edit else None,
        patch=section.patch or "",
    )
