"""What the store takes of a finished build and a finished probe, by attributes: it knows no builders or workloads."""

from collections.abc import Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from cpubisect.base.objects import ObjectFile


class Dataclass(Protocol):
    """Any dataclass, to be kept as plain data."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class Recipe(Dataclass, Protocol):
    """Everything that decided a binary."""

    @property
    def engine(self) -> str:
        """The engine's name."""

    @property
    def commit(self) -> str:
        """The commit's sha."""

    def key(self) -> str:
        """What it is found by: equal keys mean the same binary."""


class FinishedBuild(Protocol):
    """A recipe carried out, successfully or not, as in builders.build.BuildResult."""

    @property
    def recipe(self) -> Recipe:
        """What was carried out."""

    @property
    def outcome(self) -> str:
        """How it ended; `built` if it did."""

    @property
    def first_error(self) -> str:
        """The first line that says why it failed."""

    @property
    def repairs(self) -> Sequence[Dataclass]:
        """Changes to the source that made it compile."""

    @property
    def diff(self) -> str:
        """All of them as a unified diff."""

    @property
    def cpu_seconds(self) -> float:
        """CPU time that it took."""

    @property
    def wall_seconds(self) -> float:
        """Time that it took."""

    @property
    def cache_hits(self) -> int:
        """Compiles that the compiler cache had."""

    @property
    def cache_misses(self) -> int:
        """Compiles that it had not."""

    @property
    def compiled(self) -> Sequence[str]:
        """The files that the binary was made from."""

    @property
    def objects(self) -> Mapping[str, ObjectFile]:
        """What each object file was made from."""

    @property
    def log(self) -> Path:
        """The file with its output."""

    @property
    def code(self) -> str:
        """The digest of the binary's code."""

    @property
    def sandbox(self) -> str:
        """What it was made in; `none` if nothing kept it from the rest of the host."""

    @property
    def origin(self) -> str:
        """The identity of the clone that it was made from; empty if that is not known."""


class FinishedProbe(Protocol):
    """What one probe measured, as in workloads.probe.Samples."""

    @property
    def values(self) -> Mapping[str, Sequence[float]]:
        """Samples by metric."""

    @property
    def profile(self) -> Mapping[str, float]:
        """Instructions per query by function, self cost."""

    @property
    def attributed(self) -> Mapping[str, float]:
        """The profile with what libraries did for each function."""

    @property
    def calls(self) -> Mapping[tuple[str, str], float]:
        """Instructions per query by caller and callee."""

    @property
    def note(self) -> str:
        """What must be known of the samples; empty if nothing."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The server's settings."""

    @property
    def commands(self) -> Sequence[str]:
        """The measuring command lines."""
