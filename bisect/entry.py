"""The program's first lines: Ctrl-C while it still loads is one line, too."""

import os
import signal
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """`bisect`: the command line, loaded with Ctrl-C in hand."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    from cpubisect.cli import main as command

    signal.signal(signal.SIGINT, before)
    command()


def _leave(_number: int, _frame: FrameType | None) -> None:
    # Nothing has begun: whatever is half loaded must not be asked to clean up.
    os.write(2, b"bisect: interrupted\n")
    os._exit(_INTERRUPTED)
