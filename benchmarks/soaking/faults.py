"""What befalls a bisection beside kills: each fault is made real, and what it makes impossible is mended again."""

import os
import shutil
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from cpubisect.base.locks import wait_for
from cpubisect.builders.recipes.matrix import locate_matrix
from cpubisect.records.schema import MIGRATIONS
from soaking.disks import Skipped, fill, mount, unmount
from soaking.older import OLDEST, undo_migrations
from soaking.plan import Case, Fault

DISK = "256m"
"""Of a home directory: some ten times what a bisection of the example needs."""

CACHE = "1m"
"""Of a compiler cache: what one build of the example puts there is more."""

FULL_S = 6.0
"""A disk stays full for so long, or until the command has ended."""

_ALL_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")

JUMPS_S = (-3 * 365 * 86400, -86400, -3600, -30, 0, 30, 3600, 86400, 3 * 365 * 86400)
"""By so much the clock is off, one after another by chance."""


@dataclass
class Ground:
    """Where a case takes place, below `root`: `clone` is its own copy of the `example`, `applied` counts what was done
    to it. This one does nothing."""

    root: Path
    case: Case
    chance: Random
    example: Path
    applied: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def clone(self) -> Path:
        return self.root / "clone"

    def begin(self) -> None:
        """Before anything is started; raises Skipped."""

    def running(self) -> None:
        """At some moments, while it runs."""

    def tick(self) -> bool:
        """All the time; whether something is such now that commands may be refused."""
        return False

    def stopped(self) -> str:
        """Where nothing runs, before it goes on; what is wrong with how the next command must end, if that is known:
        it has to be refused with these words."""
        return ""

    def mend(self) -> None:
        """After what `stopped` made was refused, or `running` made has lasted long enough."""

    def end(self) -> None:
        """After the last command."""


class SmallDisk(Ground):
    """The home directory is a file system of its own, which is filled while the bisection runs."""

    full_since = 0.0

    @property
    def _ballast(self) -> Path:
        return self.home / "ballast"

    def begin(self) -> None:
        """Mount it; raises Skipped where only root may."""
        mount(self.home, DISK)

    def running(self) -> None:
        """Fill it to the last byte."""
        if not self.full_since and self.chance.random() < 0.3:
            self.applied += 1
            self.full_since = time.monotonic()
            fill(self._ballast)

    def tick(self) -> bool:
        """Free it again, once it was full for long enough."""
        if self.full_since and time.monotonic() - self.full_since > FULL_S:
            self.mend()
        return bool(self.full_since)

    def mend(self) -> None:
        """Free it."""
        self._ballast.unlink(missing_ok=True)
        self.full_since = 0.0

    def end(self) -> None:
        """Unmount it."""
        unmount(self.home)


class SmallCache(Ground):
    """The compiler cache is on a file system that is full after a part of the first build."""

    def begin(self) -> None:
        """Mount it; raises Skipped where only root may."""
        cache = self.root / "ccache"
        mount(cache, CACHE)
        self.environment["CCACHE_DIR"] = str(cache)
        self.applied = 1

    def end(self) -> None:
        """Unmount it."""
        unmount(self.root / "ccache")


class JumpingClock(Ground):
    """The program's clock, and no other process's, jumps; times of files stay what they are."""

    @property
    def _offset(self) -> Path:
        return self.root / "clock"

    def begin(self) -> None:
        """Compile what makes it jump; raises Skipped without a compiler."""
        library = self.root / "clock.so"
        source = Path(__file__).with_name("clock.c")
        made = subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], capture_output=True)
        if made.returncode:
            raise Skipped("what moves the clock does not compile here")
        self._offset.write_bytes(struct.pack("l", 0))
        self.environment |= {"LD_PRELOAD": str(library), "SOAK_CLOCK": str(self._offset)}

    def running(self) -> None:
        """Jump."""
        with self._offset.open("r+b") as file:
            file.write(struct.pack("l", self.chance.choice(JUMPS_S)))
        self.applied += 1


class EditedMatrix(Ground):
    """The user's own matrix changes: what says nothing about the example, how that is built, or to no matrix at all."""

    @property
    def _matrix(self) -> Path:
        return self.root / "matrix.yaml"

    def begin(self) -> None:
        """Give it one of its own."""
        shutil.copy(locate_matrix(), self._matrix)
        self.words = ("--matrix", str(self._matrix))

    def stopped(self) -> str:
        """Edit it; with a torn one it cannot go on."""
        self.applied += 1
        edit = self.chance.randrange(3)
        text = self._matrix.read_text()
        if edit == 0:
            self._matrix.write_text(f"{text}\n# Looked at {self.applied} times.\n")
        elif edit == 1:
            rule = "        why: Plain C++17 with a Makefile like RocksDB's; any compiler does.\n"
            own = f"        cxxflags: [-DSOAKED={self.applied}]\n"
            whole = locate_matrix().read_text()
            self._matrix.write_text(whole.replace(rule, rule + own))
        else:
            self._matrix.with_suffix(".whole").write_text(text)
            self._matrix.write_text(f"{text[: len(text) // 2]}\n  torn: [here\n")
            return "matrix"
        return ""

    def mend(self) -> None:
        """Put it back."""
        whole = self._matrix.with_suffix(".whole")
        if whole.exists():
            whole.replace(self._matrix)


class RewrittenClone(Ground):
    """The clone is repacked, its branches and tags come to mean other commits, or its commits are gone for a while."""

    gone = False

    def stopped(self) -> str:
        """Rewrite it; without its commits it cannot go on."""
        self.applied += 1
        change = self.chance.randrange(3)
        if change == 0:
            self._git("branch", "--force", "keep", "main")
            self._git("pack-refs", "--all")
        elif change == 1:
            tags = self._git("for-each-ref", "--format=%(objectname) %(refname:short)", "refs/tags").splitlines()
            for number, tag in enumerate(tags):
                sha, name = tag.split()
                self._git("update-ref", f"refs/soak/{name.replace('/', '-')}-{self.applied}", f"{sha}^{{}}")
                self._git("tag", "--force", name, f"main~{number + 1}")
            self._git("branch", "--force", "moved", "main~3")
        else:
            keep = self._git(
                "commit-tree", "-m", "Begin anew", self._git("hash-object", "-t", "tree", "-w", os.devnull)
            )
            self._git("update-ref", "--no-deref", "HEAD", keep)
            for name in self._git("for-each-ref", "--format=%(refname)").splitlines():
                self._git("update-ref", "-d", name)
        self._git("reflog", "expire", "--expire=now", "--all")
        self._git("gc", "--quiet", "--prune=now")
        self.gone = change == 2
        return "commits" if self.gone else ""

    def mend(self) -> None:
        """Fetch what was lost."""
        if self.gone:
            self._git("fetch", "--quiet", "--update-head-ok", str(self.example), *_ALL_REFS)
            self.gone = False

    def _git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=soak", "-c", "user.email=soak", *words],
            cwd=self.clone,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


class OlderStore(Ground):
    """The store is led back to the form of an earlier version, as if an earlier program had begun."""

    def stopped(self) -> str:
        """Undo some migrations."""
        store = self.home / "store.sqlite"
        if store.exists():
            self.applied += 1
            with wait_for(self.home / ".store.sqlite.lock"):
                undo_migrations(store, self.chance.randrange(OLDEST, len(MIGRATIONS)))
        return ""


GROUNDS: dict[Fault, type[Ground]] = {
    Fault.NONE: Ground,
    Fault.DISK: SmallDisk,
    Fault.CACHE: SmallCache,
    Fault.CLOCK: JumpingClock,
    Fault.MATRIX: EditedMatrix,
    Fault.CLONE: RewrittenClone,
    Fault.STORE: OlderStore,
}


def ground_of(case: Case, root: Path, example: Path) -> Ground:
    """An empty place for a case, with its own copy of the example."""
    ground = GROUNDS[case.fault](root, case, case.chance("fault"), example)
    for directory in (ground.home, ground.temporary):
        directory.mkdir(parents=True)
    shutil.copytree(example, ground.clone, symlinks=True)
    return ground
