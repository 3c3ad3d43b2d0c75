"""One order on its way: sent to a host that will do, again if that is lost, until its answer has arrived whole."""

import pickle
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from distributed import Future
from distributed.scheduler import KilledWorker

from cpubisect.base.errors import UserError
from cpubisect.cluster.connection import Connection, HeadLost
from cpubisect.cluster.hosts import Need, Role, refusal, why_not
from cpubisect.cluster.orders import Full, Lacking, Refused, Returned, Sent, Spoilt
from cpubisect.cluster.parcels import Damaged
from cpubisect.cluster.tasks import BEGUN
from cpubisect.run.bench.orders import Cancelled
from cpubisect.search import events
from cpubisect.search.events import Event, Watch

LOOK_S = 2.0
"""So often it is looked whether a host is there that will do."""

_POLL_S = 0.5
_ATTEMPTS = 4
"""So often an answer is asked for that does not arrive whole."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Errand(Generic[Result]):
    """What is to be had of the cluster: `what` it is, for people ("the build of 88dc685cdbf9"); what it needs of a
    host; `sent` makes the order, `supply` adds what a worker lacks, `finish` takes what came back and raises Damaged if
    that is not whole."""

    what: str
    need: Need
    sent: Callable[[], Sent]
    supply: Callable[[Sent, Lacking], Sent]
    finish: Callable[[Returned], Result]
    tell: Watch


class Remote(Generic[Result]):
    """The handle of an errand; whoever waits for it is told what happens."""

    def __init__(self, connection: Connection, errand: Errand[Result]) -> None:
        self._connection = connection
        self._errand = errand
        self._ticket = uuid.uuid4().hex
        self._sent: Sent | None = None
        self._future: Future | None = None
        self._host = ""
        self._seen: set[str] = set()
        self._full: dict[str, str] = {}
        self._only: list[str] = []
        self._said = ""
        self._looked = 0.0
        self._damaged = 0
        self._results: list[Result] = []
        self._error: Exception | None = None
        self._submit()

    def done(self) -> bool:
        """Whether it has ended; looks once."""
        return self._ended() or self.wait(0.0)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; False if `timeout_s` passed first."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._ended():
            self._step()
            left = _POLL_S if deadline is None else min(_POLL_S, deadline - time.monotonic())
            if not self._ended():
                if left <= 0:
                    return False
                self._connection.wait(left)
        return True

    def result(self) -> Result:
        """What came of it; raises UserError, Cancelled."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]

    @property
    def role(self) -> Role:
        """Which hosts carry it out."""
        return self._errand.need.role

    @property
    def is_under_way(self) -> bool:
        """Whether it was sent, as far as is known here, and has not ended."""
        return self._future is not None and not self._ended()

    def cancel(self) -> None:
        """End it, wherever it is carried out."""
        if not self._ended():
            self._end(Cancelled())

    def _ended(self) -> bool:
        return bool(self._results) or self._error is not None

    def _end(self, error: Exception | None = None) -> None:
        self._error = error
        if self._future is not None:
            # Whatever was kept of it there is let go of; what still runs is ended.
            self._let_go(self._future)
            self._future = None
        self._connection.forget(self._ticket)

    @staticmethod
    def _let_go(future: Future) -> None:
        try:
            future.cancel(force=True)
        except Exception:
            # The head is gone, and with it the future.
            return

    def _submit(self, prefer: str = "") -> None:
        """Send the order, to the worker at an address if it is still there."""
        if self._sent is None:
            self._sent = replace(self._errand.sent(), ticket=self._ticket)
        where: dict[str, Any] = {}
        if prefer:
            where = {"workers": [prefer], "allow_other_workers": True}
        elif others := self._others():
            where = {"workers": others}
        self._only = where.get("workers", []) if not prefer else []
        name = self._errand.what.replace(" ", "-")
        resources = self._errand.need.resources()
        self._future = None
        # Where the head is lost, the next step finds that out.
        with suppress(HeadLost):
            self._future = self._connection.submit(name, self._ticket, pickle.dumps(self._sent), resources, **where)

    def _others(self) -> list[str]:
        """Addresses of workers that would do, if the disk of any is full, without those."""
        with suppress(HeadLost):
            present = self._connection.hosts() if self._full else []
            return [
                one.address
                for one in present
                if one.host.role is self._errand.need.role
                and not why_not(one.host, self._errand.need)
                and one.host.name not in self._full
            ]
        return []

    def _step(self) -> None:
        """Look once at what has become of it."""
        self._relay()
        if not self._connection.is_open:
            self._reconnect()
            return
        if self._future is None:
            self._submit()
            return
        status = self._future.status
        if status == "pending":
            self._look()
        elif status == "finished":
            self._take(self._future)
        elif status == "error":
            self._fail(self._future.exception())
        else:
            # The head was lost, and with it what it knew of the order.
            self._host = ""
            self._submit()

    def _reconnect(self) -> None:
        text = f"the head {self._connection.address} does not answer: {self._errand.what} waits for it"
        self._say(events.Notice(text=text))
        self._future, self._host = None, ""
        if self._connection.patiently():
            self._say(events.Notice(text=f"the head {self._connection.address} answers again"))
            self._said = ""

    def _relay(self) -> None:
        for message in self._connection.told(self._ticket):
            if message["kind"] == BEGUN:
                self._begun(str(message["host"]))
            else:
                self._errand.tell(events.read(message["kind"], message["data"]))

    def _begun(self, host: str) -> None:
        if self._host or host not in self._seen:
            quiet = not self._errand.need.toolchain
            self._errand.tell(events.Placed(what=self._errand.what, host=host, lost=self._host, quiet=quiet))
        self._seen.add(host)
        self._host, self._said = host, ""

    def _look(self) -> None:
        """Say what is waited for, if no host that is there will do."""
        if time.monotonic() - self._looked < LOOK_S:
            return
        self._looked = time.monotonic()
        try:
            present = self._connection.hosts()
        except HeadLost:
            return
        hosts = [one.host for one in present]
        if self._only and not {one.address for one in present} & set(self._only) and self._future is not None:
            # Those that still had space are gone, and would be others when they come back.
            self._let_go(self._future)
            self._submit()
            return
        if why := refusal(hosts, self._errand.need):
            lost = self._host if self._host and self._host not in {host.name for host in hosts} else ""
            self._say(events.Waiting(what=self._errand.what, why=why, lost=lost))

    def _say(self, said: Event) -> None:
        """Once, until something else is said."""
        if said.sentence != self._said:
            self._said = said.sentence
            self._errand.tell(said)

    def _take(self, future: Future) -> None:
        """What a worker answered, once it is here."""
        try:
            answer = future.result(timeout=60)
        except TimeoutError:
            return
        except Exception as error:
            if self._connection.is_open and future.status == "error":
                self._fail(error)
            return
        self._relay()
        match answer:
            case Lacking():
                assert self._sent is not None
                self._sent = self._errand.supply(self._sent, answer)
                self._again(future, answer.host)
            case Spoilt():
                self._arrived_damaged(future, answer.host, f"what was sent to {answer.host}: {answer.why}")
            case Refused():
                self._end(UserError(f"{self._errand.what} failed on {answer.host} ({answer.problem})", answer.hint))
            case Full():
                self._elsewhere(future, answer)
            case Returned():
                self._finish(future, answer)

    def _elsewhere(self, future: Future, answer: Full) -> None:
        """Send the order to a host whose disk is not full, if there is one."""
        self._full[answer.host] = answer.place
        what = self._errand.what
        if self._others():
            text = f"the disk of {answer.host} is full ({answer.place}): {what} is done elsewhere"
            self._errand.tell(events.Notice(text=text))
            self._future, self._host = None, ""
            self._let_go(future)
            self._submit()
            return
        disks = " and ".join(f"the disk of {host} is full ({place})" for host, place in self._full.items())
        self._end(UserError(f"{disks}: {what} could not be done", "free space there, and go on"))

    def _finish(self, future: Future, answer: Returned) -> None:
        try:
            result = self._errand.finish(answer)
        except Damaged as damaged:
            self._arrived_damaged(future, answer.host, str(damaged))
            return
        except UserError as error:
            self._end(error)
            return
        self._results.append(result)
        self._end()

    def _arrived_damaged(self, future: Future, host: str, why: str) -> None:
        self._damaged += 1
        if self._damaged >= _ATTEMPTS:
            self._end(
                UserError(
                    f"{self._errand.what} arrived damaged {self._damaged} times ({why})",
                    "look at the disk and the network between the hosts",
                )
            )
            return
        self._errand.tell(events.Notice(text=f"{self._errand.what} arrived damaged ({why}): asked for again"))
        # What is at the common address may be what is damaged.
        self._sent = None
        self._again(future, host)

    def _again(self, future: Future, host: str) -> None:
        """Send the order once more, to the same host if it is there."""
        self._let_go(future)
        self._future, self._host = None, ""
        address = ""
        with suppress(HeadLost):
            address = next((one.address for one in self._connection.hosts() if one.host.name == host), "")
        self._submit(address)

    def _fail(self, error: BaseException | None) -> None:
        if isinstance(error, KilledWorker):
            problem = f"{self._errand.what} took several hosts with it, one after the other"
            self._end(UserError(problem, "see what ended their workers, and begin it again"))
        else:
            said = str(error).splitlines() or [""]
            reason = f"{type(error).__name__}: {said[0]}"
            self._end(UserError(f"{self._errand.what} failed in the cluster ({reason})", "begin it again"))
