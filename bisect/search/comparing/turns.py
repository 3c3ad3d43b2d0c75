"""PURE: in which order a comparison is measured: round by round, so that drift of the host hits all versions alike."""

from collections.abc import Iterator
from dataclasses import dataclass

from cpubisect.search.comparing.question import COUNTED_ROUNDS, Asked, Row, Side


@dataclass(frozen=True)
class Turn:
    """One probe to make: the `round`, from 1 on, of a row on one side; `counts` says whether instructions are counted,
    or CPU time is read alone."""

    round: int
    row: Row
    side: Side
    counts: bool


def turns(asked: Asked) -> Iterator[Turn]:
    """All probes of a comparison: in each round all rows, of each row all sides, in every second round in reverse.

    All rows so have a value after the first round, and the sides of a row are probed one right after the other.
    """
    for number in range(1, asked.rounds + 1):
        order = asked.sides if number % 2 else asked.sides[::-1]
        for row in asked.rows:
            for side in order:
                yield Turn(number, row, side, number <= COUNTED_ROUNDS)
