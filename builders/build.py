"""What building means, for every engine: the recipe that decides a binary, and how carrying it out can end."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.objects import ObjectFile
from cpubisect.base.sandbox.policy import Kind


@dataclass(frozen=True)
class Toolchain:
    """A compiler pair of this host with the tools that belong to it; `name` is as in the matrix, e.g. `gcc-12`.

    `cc`, `cxx`, `ar`, `ranlib` are program names or paths; `release` is what the compiler says of its version.
    """

    name: str
    cc: str
    cxx: str
    ar: str
    ranlib: str
    release: str


@dataclass(frozen=True)
class Edit:
    """One source edit as data: in `file`, every match of the regular expression `find` becomes `replace`; a file
    without a match needs none. `why` is kept with the build."""

    file: str
    find: str
    replace: str
    why: str


@dataclass(frozen=True)
class RepairRule:
    """A repair known beforehand: where the regular expression `diagnostic` is found in a diagnostic about a file that
    the glob `file` matches (or, if it is `*`, in any line of the build's output), the source or the flags change.

    Just one kind of change is given: `cflags`/`cxxflags` to add for the whole tree, an `include` such as `<limits>`
    for the file of the diagnostic, an `edit`, or a `patch` named as in `Recipe.patches`.
    """

    diagnostic: str
    why: str
    file: str = "*"
    cflags: tuple[str, ...] = ()
    cxxflags: tuple[str, ...] = ()
    include: str = ""
    edit: Edit | None = None
    patch: str = ""


@dataclass(frozen=True)
class Library:
    """A library that a tree wants, e.g. `boost_1_59_0`, and where it is taken from: `carried` is a directory of the
    tree, `host` one of the host; without both it is `part` of the file with that SHA-256. `option` is the argument for
    the build system, with `{path}`."""

    name: str
    option: str
    carried: str = ""
    host: str = ""
    sha256: str = ""
    part: str = ""

    def unpacked(self, directory: Path) -> Path:
        """Where it is, if `directory` is where libraries are kept."""
        return directory / f"{self.name}-{self.sha256[:16]}" / self.name


class NoRecipe(UserError):
    """There is no way to build a commit on this host: its tree does not say its release, no rule holds for that, or no
    compiler that the rules name is installed."""


SCREENING = "screening"
"""The variant of recipes for cheap builds: only to be compared with each other."""

IDLE_FORM = 2
"""The way in which idle sources and those that are left out are built: raised when other binaries come of it."""


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a binary, as pinned for one commit.

    `version` is the release the tree says it belongs to; `system` is one that the engine's builder knows, e.g. `cmake`;
    `std` is the C++ standard or empty; `options` are arguments of cmake, configure or make; `environment` are extra
    variables; `patches` are names below `patches/`, e.g. `mysql/bison3.patch`, applied where they fit; so are `edits`;
    `forced_includes` are headers such as `cstdint` that every C++ file is compiled with; `repairs` are tried, in order,
    when it does not compile; `patch_digests` are the SHA-256 of `patches`, so that an edited one makes a new recipe;
    `idle` are globs of sources of which no probe runs anything, which are compiled without optimisation, `left_out` of
    those that are not compiled at all, as no server that starts runs anything of them either; `precompiled` has headers
    that many sources share compiled once; `variant` names another way to build the same (`screening`),
    empty for the ordinary one; with `flags` of a release the tree's own optimisation stays, and `cflags` and `cxxflags`
    add to it; `libraries` are those that its tree wants from elsewhere, or has, in a place that must be said.
    """

    engine: str
    commit: str
    version: str
    toolchain: Toolchain
    system: str
    std: str = ""
    cflags: tuple[str, ...] = ()
    cxxflags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    forced_includes: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    repairs: tuple[RepairRule, ...] = ()
    patch_digests: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    precompiled: bool = False
    variant: str = ""
    flags: Flags = Flags.PINNED
    libraries: tuple[Library, ...] = ()

    def key(self) -> str:
        """SHA-256 over all fields, and how idle sources are built: equal keys mean the same binary may be reused."""
        fields = asdict(self)
        for later in ("patch_digests", "idle", "left_out", "precompiled", "variant", "libraries"):
            if not fields[later]:
                del fields[later]
        if self.flags is Flags.PINNED:
            del fields["flags"]
        if self.idle or self.left_out:
            fields["form"] = IDLE_FORM
        text = json.dumps(fields, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Outcome(StrEnum):
    """How a build ended; all but `BUILT` leave the commit a candidate that cannot be observed."""

    BUILT = "built"
    FAILED = "failed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out-of-memory"
    OUT_OF_DISK = "out-of-disk"


@dataclass(frozen=True)
class Repair:
    """One change made to the source so that it compiles: `kind` (`patch`, `include`, …), the file, what and why."""

    kind: str
    path: str
    change: str
    why: str


@dataclass(frozen=True)
class BuildResult:
    """A recipe carried out.

    `output` is the directory with what a probe needs (None unless built); `diff` is every source change as a unified
    diff; `first_error` is the first diagnostic line of a failure, as it was before any repair, with what was tried;
    `cache_hits`/`cache_misses` are ccache's counts for
    this build; `compiled` are the source files and headers, relative to the tree, that the target is made from
    (empty if the build system does not tell), `objects` what each of its object files is made from and, if it was
    compiled, in what time; `code` is the digest of what it loads without what its commit stamps into
    it (`code.code_digest`), empty unless built; `sandbox` is what it was made in, `origin` the identity
    of the clone that it was made from, empty if there was no checkout; times are in seconds.
    """

    recipe: Recipe
    outcome: Outcome
    output: Path | None
    log: Path
    cpu_seconds: float
    wall_seconds: float
    first_error: str = ""
    repairs: tuple[Repair, ...] = ()
    diff: str = ""
    cache_hits: int = 0
    cache_misses: int = 0
    compiled: tuple[str, ...] = ()
    objects: Mapping[str, ObjectFile] = field(default_factory=dict)
    code: str = ""
    sandbox: Kind = Kind.NONE
    origin: str = ""


@dataclass(frozen=True)
class BuildSettings:
    """Where and how hard to build: `ccache_dir` is shared by all builds; `jobs` compile at once; `timeout_s` is for
    the whole build; a build that prints nothing for `silence_s` counts as hung; `unread` are directories of the tree
    (`/mysql-test/suite/`) that no build reads: they are not checked out; `bundled` are directories (`/extra/*/`) with a
    library each that comes with the tree, beside those that are known by their form; `libraries` is where those are
    kept that no tree carries; repairs of a tree may take as long as `repair_builds` builds of it (`repairs/budget.py`
    says what counts); `sandbox` is what commands of the build run in. `origin` is what the repository is known by where
    it is only a copy: repositories share no compiler cache in a sandbox; `shared_cache` is the
    address of one that hosts share (`trees/shared.py`), empty if there is none."""

    ccache_dir: Path
    patches_dir: Path
    jobs: int = 2
    timeout_s: float = 4 * 3600.0
    silence_s: float = 1800.0
    unread: tuple[str, ...] = ()
    bundled: tuple[str, ...] = ()
    libraries: Path = Path("libraries")
    repair_builds: float = 2.0
    sandbox: Kind = Kind.NONE
    origin: str = ""
    shared_cache: str = ""
