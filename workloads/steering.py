"""Counting part of a running program: a server under callgrind, switched on and read while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cpubisect.process import run
from cpubisect.workloads.callgrind import Profile, parse_profile
from cpubisect.workloads.probe import ProbeError

_ANSWER_TIMEOUT_S = 120.0


@dataclass
class Steering:
    """Controls callgrind in the process `pid`, which writes profiles to `out` with a running number.

    `pipes` is the prefix of the named pipes it listens on, the same that it was started with.
    """

    pid: int
    out: Path
    pipes: Path
    _dumps: int = field(default=0, init=False)

    @staticmethod
    def options(pipes: Path) -> str:
        """What valgrind needs to be told to be steered through `pipes`: the value of VALGRIND_OPTS."""
        return f"--vgdb=yes --vgdb-prefix={pipes}"

    def instrument(self) -> None:
        """Begin to count, from zero; raises ProbeError if callgrind does not answer."""
        self._tell("instrumentation", "on")

    def profile(self) -> Profile:
        """What was counted since the last call, or since counting began; raises ProbeError if there is no answer."""
        self._tell("dump")
        self._dumps += 1
        path = self.out.with_name(f"{self.out.name}.{self._dumps}")
        try:
            return parse_profile(path.read_text(errors="replace"))
        except (OSError, ValueError) as error:
            raise ProbeError(f"callgrind left no profile: {error}") from error

    def _tell(self, *words: str) -> None:
        # A server without work sits in system calls, where it must be interrupted to listen: at once.
        argv: Sequence[str] = (
            "vgdb",
            f"--vgdb-prefix={self.pipes}",
            f"--pid={self.pid}",
            "--max-invoke-ms=1",
            *words,
        )
        finished = run(argv, timeout_s=_ANSWER_TIMEOUT_S)
        if not finished.ok:
            lines = [line for line in finished.output.splitlines() if line.strip()]
            raise ProbeError(f"callgrind does not take '{' '.join(words)}': {(lines or ['no answer'])[0]}")
