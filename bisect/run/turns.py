"""Several pieces of work of which one goes on at a time: what waits for something lets the others go on meanwhile.

Each has a thread of its own, and none runs beside another one: what they share needs no locks, and changes only where
one says that it waits. Signals come to the thread that started them all.
"""

import threading
from collections.abc import Callable, Sequence


class Ended(BaseException):
    """Another piece of work has failed, or all were interrupted; nothing below may swallow it."""


class Turns:
    """Whose turn it is; of one who works alone it always is."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._mine = threading.local()
        self._left: list[int] = []
        self._whose = 0
        self._stopping = False
        self._errors: list[BaseException] = []

    @property
    def several(self) -> bool:
        """Whether others may go on while one waits."""
        return len(self._left) > 1

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Carry all of them out, the first one first; an error of one ends the others where they wait next, and is
        raised once they have ended. So does what interrupts the caller."""
        self._left, self._whose = list(range(len(works))), 0
        self._stopping, self._errors = False, []
        threads = [
            threading.Thread(target=self._carry_out, args=(number, work), daemon=True)
            for number, work in enumerate(works)
        ]
        for thread in threads:
            thread.start()
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._left)
        finally:
            self._stopping = True
            for thread in threads:
                thread.join()
        if self._errors:
            raise self._errors[0]

    def pass_on(self) -> None:
        """Let the others go on, and come back when the turn does; raises Ended."""
        number = getattr(self._mine, "number", None)
        if number is None:
            return
        with self._changed:
            self._next(number)
            self._wait(number)
        self.look()

    def look(self) -> None:
        """Keep the turn; raises Ended if all are to end."""
        if self._stopping and getattr(self._mine, "number", None) is not None:
            raise Ended

    def _carry_out(self, number: int, work: Callable[[], None]) -> None:
        self._mine.number = number
        with self._changed:
            self._wait(number)
        try:
            self.look()
            work()
        except Ended:
            pass
        except BaseException as error:
            self._errors.append(error)
            self._stopping = True
        finally:
            with self._changed:
                self._next(number)
                self._left.remove(number)
                self._changed.notify_all()

    def _next(self, number: int) -> None:
        """The turn goes to the one after a number."""
        after = self._left.index(number) + 1
        self._whose = self._left[after % len(self._left)]
        self._changed.notify_all()

    def _wait(self, number: int) -> None:
        self._changed.wait_for(lambda: self._whose == number)
