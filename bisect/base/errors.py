"""What can go wrong because of what the user asked or where they asked it; every case has one line and a next step."""


class UserError(Exception):
    """Bad input or an unfit host: printed as one line, `problem`, then the `hint`; the command exits with 2."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem}: {self.hint}" if self.hint else self.problem


class Missing(UserError):
    """What was asked for by its name or number is not there."""
