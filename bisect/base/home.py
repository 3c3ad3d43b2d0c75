"""Where cpubisect keeps its things on this host."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from cpubisect.base.errors import UserError


@dataclass(frozen=True)
class Home:
    """One directory for everything: the store, repositories, compiler cache, artifacts, logs, work in progress."""

    root: Path

    @classmethod
    def locate(cls) -> "Home":
        """`$CPUBISECT_HOME`, else the user's data directory, whether it is there or not."""
        return cls(home_directory())

    @classmethod
    def open(cls) -> "Home":
        """The one that `locate` finds, made if need be; raises UserError if it cannot be written."""
        home = cls.locate()
        root = home.root
        home._make_cache()
        try:
            for folder in (home.repositories, home.artifacts, home.libraries, home.logs, home.work):
                folder.mkdir(parents=True, exist_ok=True)
            # Without a name nothing stays of it, whatever happens.
            with tempfile.TemporaryFile(dir=root) as probe:
                probe.write(b"x" * 4096)
                probe.flush()
        except OSError as error:
            raise home._unwritable(error) from error
        return home

    def _make_cache(self) -> None:
        """Raises UserError, with the name that was given, if the compiler cache cannot be a directory."""
        try:
            self.ccache.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if not os.environ.get("CCACHE_DIR"):
                raise self._unwritable(error) from error
            why = "it is no directory" if self.ccache.exists() else error.strerror
            raise UserError(
                f"cannot keep the compiler cache in {self.ccache} ({why})", "set CCACHE_DIR to a directory, or unset it"
            ) from error

    def _unwritable(self, error: OSError) -> UserError:
        """What is said if this directory, or one in it, cannot be made or written."""
        place = Path(error.filename) if isinstance(error.filename, str) else self.root
        if isinstance(error, FileExistsError) and place != self.root:
            return UserError(f"{place} is no directory", "move it away, or set CPUBISECT_HOME to another directory")
        return UserError(
            f"cannot write to {self.root} ({error.strerror})",
            "free space there, or set CPUBISECT_HOME to a writable directory",
        )

    @property
    def store(self) -> Path:
        """The SQLite file."""
        return self.root / "store.sqlite"

    @property
    def backups(self) -> Path:
        """Copies of the store, and what was left of damaged ones."""
        return self.root / "backups"

    @property
    def repositories(self) -> Path:
        """Clones made by us, one per engine."""
        return self.root / "repositories"

    @property
    def ccache(self) -> Path:
        """The compiler cache shared by all builds; `$CCACHE_DIR` wins."""
        return Path(os.environ.get("CCACHE_DIR") or self.root / "ccache")

    @property
    def artifacts(self) -> Path:
        """Finished builds, by content."""
        return self.root / "artifacts"

    @property
    def libraries(self) -> Path:
        """Libraries that trees want and do not carry, for all builds."""
        return self.root / "libraries"

    @property
    def logs(self) -> Path:
        """Logs of builds and probes."""
        return self.root / "logs"

    @property
    def work(self) -> Path:
        """Private trees and scratch directories of running builds and probes."""
        return self.root / "work"

    @property
    def running(self) -> Path:
        """Locks that say which bisections and which worker are running."""
        return self.root / "running"


def home_directory() -> Path:
    """Where that directory is, whether or not it is there."""
    named = os.environ.get("CPUBISECT_HOME")
    return Path(named).absolute() if named else user_data_path("cpubisect")
