"""Work that takes turns: one piece at a time, each to its end, and none left when one fails."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpubisect.run.turns import Ended, Turns


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_one_goes_on_at_a_time_in_order_and_all_come_to_their_end(lengths: list[int]) -> None:
    turns, done, inside = Turns(), [], []

    def work(which: int, length: int) -> Callable[[], None]:
        def own() -> None:
            for step in range(length):
                inside.append(which)
                assert inside == [which], "another one is at work"
                done.append((step, which))
                inside.remove(which)
                turns.pass_on()

        return own

    turns.run([work(which, length) for which, length in enumerate(lengths)])
    assert done == sorted((step, which) for which, length in enumerate(lengths) for step in range(length))
    assert not turns.several


def test_who_works_alone_passes_nothing_on() -> None:
    turns = Turns()
    turns.pass_on()
    turns.look()
    assert not turns.several


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_ends_the_others_where_they_wait(error: BaseException) -> None:
    turns, ended = Turns(), []

    def fails() -> None:
        turns.pass_on()
        raise error

    def waits() -> None:
        try:
            while True:
                turns.pass_on()
        except Ended:
            ended.append("waits")
            raise

    before = threading.active_count()
    with pytest.raises(type(error)):
        turns.run([waits, fails, waits])
    assert ended == ["waits"] * 2
    assert threading.active_count() == before


def test_what_interrupts_the_caller_ends_all() -> None:
    turns, ended = Turns(), []

    class Interrupted(BaseException):
        pass

    def looks() -> None:
        try:
            while True:
                turns.look()
        except Ended:
            ended.append("looks")
            raise

    class Impatient(threading.Condition):
        def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
            if threading.current_thread() is threading.main_thread():
                raise Interrupted
            return super().wait_for(predicate, timeout)

    turns._changed = Impatient()
    with pytest.raises(Interrupted):
        turns.run([looks, looks])
    # The second one had not begun.
    assert ended == ["looks"]
