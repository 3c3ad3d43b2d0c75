"""Who makes builds side by side, ahead of the moment when they are asked for; alone there is nobody to do that."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol


class Crew(Protocol):
    """Builds that were begun and are not taken in yet, by their commits."""

    @property
    def builders(self) -> int:
        """So many builds can be made at once now; one means that none is to be begun ahead."""

    def begin(self, sha: str, seconds: float | None = None) -> bool:
        """Have a commit built, which is expected to take so many seconds; whether it is being built now. It is not if
        it is there already, or there is no way to build it: who asks for it is told why."""

    def begun(self) -> Mapping[str, float]:
        """The commits that are being built, with the seconds that this is expected to take still."""

    def take_in(self, *, wait: bool) -> tuple[str, ...]:
        """Keep what came of the builds that have ended, and of which commits they were; if so asked wait for the
        first. How they ended is told to who asks for the commits."""

    def want(self, shas: Collection[str]) -> None:
        """Of what is being built for other tests this is asked for too: it is not ended without this one's consent."""

    def withdraw(self, shas: Collection[str], why: str) -> None:
        """End builds that are not needed any more, but for those that another test wants."""


class Alone:
    """Nothing is begun ahead: a build is made when it is asked for."""

    builders = 1

    def begin(self, sha: str, seconds: float | None = None) -> bool:
        """It is not."""
        return False

    def begun(self) -> Mapping[str, float]:
        """None."""
        return {}

    def take_in(self, *, wait: bool) -> tuple[str, ...]:
        """None."""
        return ()

    def want(self, shas: Collection[str]) -> None:
        """There is none."""

    def withdraw(self, shas: Collection[str], why: str) -> None:
        """There is none."""


ALONE = Alone()


def begin_all(crew: Crew, shas: Iterable[str]) -> None:
    """Have commits that will all be asked for built side by side, where that can be."""
    if crew.builders > 1:
        for sha in dict.fromkeys(shas):
            crew.begin(sha)
