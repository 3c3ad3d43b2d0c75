"""One order on its way, whatever becomes of it: over a connection that does what a test says, without processes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

pytest.importorskip("distributed")

from distributed.scheduler import KilledWorker

from cpubisect.base.errors import UserError
from cpubisect.cluster.address import Address
from cpubisect.cluster.connection import HeadLost, Present
from cpubisect.cluster.hosts import Host, Need, Role
from cpubisect.cluster.orders import Full, Lacking, Refused, Returned, Sent, Spoilt
from cpubisect.cluster.parcels import Carrier, Damaged
from cpubisect.cluster.remote import Errand, Remote
from cpubisect.run.bench.orders import Cancelled, Probed
from cpubisect.search.events import Event

DONE = Probed(None, "done", 0.0, 1.0)
B1, B2 = (Host(name, Role.BUILD, 1, "p", (), {}) for name in ("b1", "b2"))


@dataclass
class Future:
    """What was submitted: how it stands, and what will be had of it."""

    status: str
    answer: Any = None
    where: Mapping[str, Any] = field(default_factory=dict)
    cancelled: bool = False

    def result(self, timeout: float | None = None) -> Any:
        return self.answer

    def exception(self) -> Any:
        return self.answer

    def cancel(self, force: bool = False) -> None:
        self.cancelled = True


class Line:
    """A connection: each order that is submitted comes to what the next of `fates` says, on the host that it names."""

    address = Address("head", 8786, True)

    def __init__(self, *fates: Any, hosts: tuple[Host, ...] = (B1, B2)) -> None:
        self.fates, self.present, self.is_open = list(fates), hosts, True
        self.submitted: list[Future] = []
        self.messages: list[Mapping[str, Any]] = []
        self.waited = 0
        self.restarted = ""

    def hosts(self) -> list[Present]:
        again = {self.restarted: f"tls://{self.restarted}-again"}
        return [Present(host, again.get(host.name, f"tls://{host.name}"), 0) for host in self.present]

    def submit(self, name: str, ticket: str, packed: bytes, resources: Mapping[str, float], **where: Any) -> Future:
        if not self.is_open:
            raise HeadLost("lost")
        fate = self.fates.pop(0)
        status = "error" if isinstance(fate, BaseException) else fate if isinstance(fate, str) else "finished"
        self.submitted.append(Future(status, fate, where))
        if host := getattr(fate, "host", ""):
            self.messages.append({"kind": "begun", "host": host, "data": {}})
        return self.submitted[-1]

    def told(self, ticket: str) -> list[Mapping[str, Any]]:
        found, self.messages = self.messages, []
        return found

    def forget(self, ticket: str) -> None:
        pass

    def wait(self, seconds: float) -> None:
        self.waited += 1
        assert self.waited < 100

    def patiently(self) -> bool:
        self.is_open = True
        return True


@dataclass
class Wish:
    """An errand that keeps what it is told, and what was supplied."""

    finish: Callable[[Returned], str] = lambda returned: returned.host
    told: list[str] = field(default_factory=list)
    supplied: list[Lacking] = field(default_factory=list)

    def handle(self, line: Line) -> Remote[str]:
        errand = Errand(
            what="the build of abc",
            need=Need(Role.BUILD, "p"),
            sent=lambda: Sent("", None, Carrier()),  # type: ignore[arg-type]
            supply=self._supply,
            finish=self.finish,
            tell=self._tell,
        )
        return Remote(line, errand)  # type: ignore[arg-type]

    def _supply(self, sent: Sent, lacking: Lacking) -> Sent:
        self.supplied.append(lacking)
        return replace(sent, libraries={})

    def _tell(self, event: Event) -> None:
        self.told.append(event.sentence)


def test_an_answer_is_taken_and_let_go_of() -> None:
    line, wish = Line(Returned("b1", DONE)), Wish()
    handle = wish.handle(line)
    assert handle.result() == "b1"
    assert handle.done()
    assert line.submitted[0].cancelled, "nothing of it stays on the cluster"


def test_what_a_worker_lacks_is_sent_to_it() -> None:
    line, wish = Line(Lacking("b2", "boost"), Returned("b2", DONE)), Wish()
    assert wish.handle(line).result() == "b2"
    assert wish.supplied == [Lacking("b2", "boost")]
    assert line.submitted[1].where == {"workers": ["tls://b2"], "allow_other_workers": True}
    assert not [text for text in wish.told if "lost" in text]


def test_what_arrives_damaged_is_asked_for_again_from_the_same_host() -> None:
    came = iter([Damaged("half of it"), Damaged("half of it"), "whole"])

    def finish(_: Returned) -> str:
        if isinstance(one := next(came), Damaged):
            raise one
        return one

    line, wish = Line(*[Returned("b1", DONE)] * 3), Wish(finish)
    assert wish.handle(line).result() == "whole"
    assert [future.where.get("workers") for future in line.submitted] == [None, ["tls://b1"], ["tls://b1"]]
    assert len([text for text in wish.told if "arrived damaged (half of it): asked for again" in text]) == 2


@pytest.mark.parametrize("answer", [Spoilt("b1", "half of it"), Returned("b1", DONE)])
def test_what_never_arrives_whole_is_given_up(answer: Any) -> None:
    def finish(_: Returned) -> str:
        raise Damaged("half of it")

    handle = Wish(finish).handle(Line(*[answer] * 9))
    with pytest.raises(UserError, match=r"arrived damaged 4 times") as caught:
        handle.result()
    assert caught.value.hint


def test_a_host_whose_disk_is_full_is_avoided_while_there_is_another() -> None:
    line, wish = Line(Full("b1", "/home/b1"), Returned("b2", DONE)), Wish()
    assert wish.handle(line).result() == "b2"
    assert line.submitted[1].where == {"workers": ["tls://b2"]}
    assert "the disk of b1 is full (/home/b1): the build of abc is done elsewhere" in wish.told
    assert not [text for text in wish.told if "lost" in text]


def test_where_all_disks_are_full_that_is_said_of_each() -> None:
    line, wish = Line(Full("b1", "/home/b1"), Full("b2", "/tmp")), Wish()
    with pytest.raises(
        UserError, match=r"disk of b1 is full \(/home/b1\) and the disk of b2 is full \(/tmp\)"
    ) as caught:
        wish.handle(line).result()
    assert caught.value.hint
    assert len(line.submitted) == 2


def test_where_those_with_space_are_gone_any_host_will_do_again() -> None:
    line, wish = Line(Full("b1", "/home/b1"), "pending", Returned("b2", DONE)), Wish()
    handle = wish.handle(line)
    assert not handle.wait(0.0)
    assert not handle.wait(0.0)
    line.restarted = "b2"
    handle._looked = 0.0
    assert handle.result() == "b2"
    assert line.submitted[1].cancelled
    assert line.submitted[2].where == {"workers": ["tls://b2-again"]}


def test_what_a_host_refuses_is_said_with_its_name() -> None:
    handle = Wish().handle(Line(Refused("b1", "ccache is not installed", "apt install ccache")))
    with pytest.raises(UserError, match=r"the build of abc failed on b1 \(ccache is not installed\)") as caught:
        handle.result()
    assert caught.value.hint == "apt install ccache"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KilledWorker("key", None, 3), "took several hosts with it"),  # type: ignore[arg-type]
        (ValueError("no\nmore"), r"failed in the cluster \(ValueError: no\)"),
    ],
)
def test_what_dask_gives_up_is_one_line(error: Exception, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        Wish().handle(Line(error)).result()
    assert caught.value.hint


def test_a_lost_head_is_waited_for_and_the_order_sent_again() -> None:
    line, wish = Line("pending", Returned("b1", DONE)), Wish()
    handle = wish.handle(line)
    assert not handle.wait(0.0)
    line.is_open = False
    assert handle.result() == "b1"
    assert [text.partition(":")[0] for text in wish.told[:2]] == [
        "the head tls",
        "the head tls",
    ]
    assert len(line.submitted) == 2


def test_what_a_head_has_forgotten_is_sent_again() -> None:
    line = Line("lost", "cancelled", Returned("b1", DONE))
    assert Wish().handle(line).result() == "b1"
    assert len(line.submitted) == 3


def test_it_is_said_once_what_is_waited_for() -> None:
    line, wish = Line("pending", hosts=()), Wish()
    handle = wish.handle(line)
    for _ in range(3):
        handle._looked = 0.0
        assert not handle.wait(0.0)
    assert wish.told == ["the build of abc waits for a host that can do it: no host is there to build"]
    line.submitted[0].status, line.submitted[0].answer = "finished", Returned("b1", DONE)
    assert handle.result() == "b1"


def test_a_host_that_is_lost_with_an_order_is_one_line() -> None:
    line, wish = Line("pending"), Wish()
    handle = wish.handle(line)
    for host in ("b1", "b2"):
        line.messages.append({"kind": "begun", "host": host, "data": {}})
        assert not handle.wait(0.0)
    assert "b1 was lost with the build of abc, which is now done by b2" in wish.told


def test_events_of_the_host_are_told_to_whoever_waits() -> None:
    line, wish = Line("pending"), Wish()
    handle = wish.handle(line)
    line.messages.append({"kind": "killed", "host": "b1", "data": {"sha": "abc", "what": "build", "why": "memory"}})
    assert not handle.wait(0.0)
    assert wish.told == ["the build of abc was killed (memory): once more"]


def test_what_is_cancelled_is_ended_there() -> None:
    line = Line("pending")
    handle = Wish().handle(line)
    handle.cancel()
    assert line.submitted[0].cancelled
    assert handle.done()
    with pytest.raises(Cancelled):
        handle.result()
