"""What the commands that soak have in common: their words, and a table between two marks of a page."""

import argparse
import sys
import time
from collections.abc import Sequence


def say(text: str) -> None:
    """Tell what is done, with the time."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def positive(text: str) -> int:
    """A number from 1 on; raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def written(text: str, lines: Sequence[str], marks: tuple[str, str]) -> str:
    """A page with these lines between its marks."""
    before, _, rest = text.partition(marks[0])
    return "\n\n".join([before + marks[0], "\n".join(lines), marks[1] + rest.partition(marks[1])[2]])
