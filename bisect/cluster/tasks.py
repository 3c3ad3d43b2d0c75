"""What Dask calls on a worker: an order is carried out in a process of its own, events go to whoever ordered it, and
the process ends when the order is cancelled, the worker ends, or either is killed."""

import json
import pickle
import signal
import sys
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker
from distributed.core import Status

from cpubisect.base.disk.scratch import remove_leftovers, scratch
from cpubisect.base.disk.space import is_full, is_scarce, scarcest
from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.process import Guarded
from cpubisect.cluster.carrying import ANSWER, EVENTS, ORDER
from cpubisect.cluster.orders import Answer, Full, Refused
from cpubisect.run.bench.here import KILLED_ATTEMPTS
from cpubisect.search.events import Notice

POLL_S = 0.2
"""So often it is looked whether an order was cancelled, and events are sent."""

BEGUN = "begun"
"""The kind of what is told first, with the name of the host."""

_MOST_SAID = 400


class Withdrawn(Exception):
    """The order was cancelled while it was carried out."""


def carry(topic: str, ticket: str, packed: bytes) -> Answer:
    """Carry an order out on this worker; `packed` is a `Sent`, which only the process that does it looks into. Events
    go to a topic, with the ticket. Raises Withdrawn."""
    worker = get_worker()
    name, key = str(worker.name), worker.get_current_task()
    worker.log_event(topic, {"ticket": ticket, "kind": BEGUN, "host": name, "data": {}})
    try:
        return _carried(worker, key, topic, ticket, packed)
    except (OSError, UserError) as error:
        if not is_full(error):
            raise
        return Full(name, str(scarcest(Home.locate())))
    finally:
        # A process that is ended cannot remove the tree that it was at.
        remove_leftovers(Home.locate().work)


def _carried(worker: Worker, key: Any, topic: str, ticket: str, packed: bytes) -> Answer:
    """What came of the process that carries it out, which is begun again if it is killed; raises Withdrawn."""
    name = str(worker.name)
    for _ in range(KILLED_ATTEMPTS - 1):
        answer = _attempted(worker, key, topic, ticket, packed)
        if not (isinstance(answer, Refused) and answer.killed):
            return answer
        # Its tree may be as large as the one to come.
        remove_leftovers(Home.locate().work)
        again = {"text": f"what {name} did was killed from outside: once more"}
        worker.log_event(topic, {"ticket": ticket, "kind": Notice.kind, "host": name, "data": again})
    return _attempted(worker, key, topic, ticket, packed)


def _attempted(worker: Worker, key: Any, topic: str, ticket: str, packed: bytes) -> Answer:
    """What came of it once; raises Withdrawn."""
    home, name = Home.open(), str(worker.name)
    with scratch(home.work) as place:
        (place / ORDER).write_bytes(packed)
        (place / EVENTS).touch()
        said = place / "said"
        command = [sys.executable, "-m", "cpubisect.cluster.carrying", str(place), name]
        with said.open("wb") as output, Guarded(command, output=output) as child:
            offset = 0
            while not child.wait(POLL_S):
                if not _is_wanted(worker, key):
                    raise Withdrawn(ticket)
                offset = _relay(worker, topic, ticket, place / EVENTS, offset)
            _relay(worker, topic, ticket, place / EVENTS, offset)
        if (place / ANSWER).is_file():
            answer: Answer = pickle.loads((place / ANSWER).read_bytes())
            return answer
        if is_scarce(scarce := scarcest(home)):
            return Full(name, str(scarce))
        words = said.read_text(errors="replace").strip().splitlines()[-1:] or ["it was killed"]
        code = child.finished().returncode
        why = f"{name} could not carry it out ({words[0][:_MOST_SAID]})"
        return Refused(name, why, f"exit code {code} there", killed=code == -signal.SIGKILL)


def _is_wanted(worker: Worker, key: Any) -> bool:
    """Whether the one who ordered it, or Dask on their behalf, still waits for it, and the worker has not lost its
    head."""
    task = worker.state.tasks.get(key)
    return worker.status in (Status.running, Status.paused) and task is not None and task.state == "executing"


def _relay(worker: Worker, topic: str, ticket: str, file: Path, offset: int) -> int:
    """Send the events that were written since, whole lines only; how far that went."""
    with file.open("rb") as events:
        events.seek(offset)
        text = events.read()
    whole = text.rpartition(b"\n")[0]
    for line in whole.splitlines():
        worker.log_event(topic, {"ticket": ticket, "host": str(worker.name), **json.loads(line)})
    return offset + len(whole) + bool(whole)
