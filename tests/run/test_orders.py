"""Work that is carried out by whoever waits for it."""

import pytest

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.run.bench.here import Deferred
from cpubisect.run.bench.orders import Cancelled
from cpubisect.service.executors import in_process


class Work:
    """Counts how often it is done; raises what it is given, once."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.times = list(errors), 0

    def __call__(self) -> str:
        self.times += 1
        if self.errors:
            raise self.errors.pop()
        return "done"


def test_it_is_done_once_and_not_before_it_is_waited_for() -> None:
    work = Work()
    handle = Deferred(work)
    assert (handle.done(), work.times) == (False, 0)
    assert handle.wait(0.0)
    assert (handle.done(), handle.result(), handle.result(), work.times) == (True, "done", "done", 1)


def test_what_was_cancelled_is_never_begun() -> None:
    work = Work()
    handle = Deferred(work)
    handle.cancel()
    assert handle.done()
    with pytest.raises(Cancelled):
        handle.result()
    assert work.times == 0


def test_what_was_done_cannot_be_cancelled() -> None:
    handle = Deferred(Work())
    handle.wait()
    handle.cancel()
    assert handle.result() == "done"


def test_an_error_is_raised_to_whoever_asks_for_the_result() -> None:
    handle = Deferred(Work(UserError("the disk is full")))
    assert handle.wait()
    for _ in range(2):
        with pytest.raises(UserError, match="the disk is full"):
            handle.result()


def test_an_interruption_passes_through_and_it_can_be_begun_again() -> None:
    work = Work(KeyboardInterrupt())
    handle = Deferred(work)
    with pytest.raises(KeyboardInterrupt):
        handle.wait()
    assert not handle.done()
    assert (handle.result(), work.times) == ("done", 2)


def test_what_began_on_a_cluster_is_not_measured_here() -> None:
    executor = in_process(Home.locate())
    assert executor.at({"cpu": "A"}) is executor
    with pytest.raises(UserError, match="it measures on db7, a host of a cluster") as caught:
        executor.at({"cpu": "A", "name": "db7"})
    assert "--cluster" in caught.value.hint
