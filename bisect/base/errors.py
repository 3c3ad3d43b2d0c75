"""What can go wrong because of what the user asked or where they asked it; every case has one line and a next step."""

import re

MOST_WORD, MOST_TOLD = 200, 2000
"""Characters of a word and of all that is told: what somebody typed or a file holds may be of any length."""


def shortened(text: str) -> str:
    """A text whose long words, and which itself, lack their middle; bytes that are no UTF-8 are spelt out (`\\xff`)."""
    text = re.sub("[\udc80-\udcff]", lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", text)
    return _cut(re.sub(rf"\S{{{MOST_WORD + 1},}}", lambda word: _cut(word[0], MOST_WORD), text), MOST_TOLD)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - most // 2 + 1 :]}"


class UserError(Exception):
    """Bad input or an unfit host: printed as one line, `problem`, then the `hint`; the command exits with 2."""

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = shortened(problem)
        self.hint = shortened(hint)
        super().__init__(self.problem)

    def __str__(self) -> str:
        return f"{self.problem}: {self.hint}" if self.hint else self.problem


class Missing(UserError):
    """What was asked for by its name or number is not there."""
