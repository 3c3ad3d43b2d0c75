"""What `bisect doctor` reports: one finding about this host, and where the host's files are read from."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Status(StrEnum):
    """`WARN`: it works, but measures or builds worse than it could; `MISSING`: something can't be done at all."""

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True)
class Check:
    """One finding: `name` is the knob or tool, `found` what is the case, `fix` one command that mends it (or empty)."""

    name: str
    status: Status
    found: str
    fix: str = ""


@dataclass(frozen=True)
class Files:
    """Where the kernel and the system show themselves."""

    root: Path = Path("/")

    def text(self, path: str) -> str | None:
        """The stripped content of a small file, None if it is not there or not readable."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether the file is there."""
        return (self.root / path).exists()
