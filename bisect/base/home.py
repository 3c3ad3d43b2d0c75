"""Where cpubisect keeps its things on this host."""

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from cpubisect.base.errors import UserError


@dataclass(frozen=True)
class Home:
    """One directory for everything: the store, repositories, compiler cache, artifacts, logs, work in progress."""

    root: Path

    @classmethod
    def open(cls) -> "Home":
        """`$CPUBISECT_HOME`, else the user's data directory; raises UserError if it cannot be written."""
        root = home_directory()
        home = cls(root)
        try:
            for folder in (home.repositories, home.ccache, home.artifacts, home.libraries, home.logs, home.work):
                folder.mkdir(parents=True, exist_ok=True)
            probe = root / f".writable-{os.getpid()}"
            probe.write_bytes(b"x" * 4096)
            probe.unlink()
        except OSError as error:
            raise UserError(
                f"cannot write to {root} ({error.strerror})",
                "free space there, or set CPUBISECT_HOME to a writable directory",
            ) from error
        return home

    @property
    def store(self) -> Path:
        """The SQLite file."""
        return self.root / "store.sqlite"

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
