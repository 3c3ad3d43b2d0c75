"""Carries one order out on a worker's host, in a process of its own: it can be ended at any moment with all that it
started, and whatever becomes of it, the worker lives and is heard.

It is started with a directory: the order lies there, events are written there as they happen, and in the end the
answer.
"""

import contextlib
import hashlib
import json
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cpubisect.base.disk.scratch import scratch
from cpubisect.base.disk.space import is_full, is_scarce, scarcest
from cpubisect.base.errors import UserError
from cpubisect.base.git import parcel
from cpubisect.base.home import Home
from cpubisect.base.sandbox import secrets
from cpubisect.builders.build import Library, Outcome
from cpubisect.builders.shelf import LibraryMissing, Shelf
from cpubisect.cluster.orders import Answer, AnyResult, Full, Lacking, Refused, Returned, Sent, Spoilt
from cpubisect.cluster.parcels import Carrier, Damaged, Parcel, packed, unpacked
from cpubisect.records.artifacts import DEFAULT_LIMIT_BYTES, Artifacts
from cpubisect.run.bench.here import build_here, draw_here, probe_here
from cpubisect.run.bench.orders import BuildOrder, Built, Drawn, DrawOrder, Probed, ProbeOrder
from cpubisect.search.events import Event, Watch

ORDER, EVENTS, ANSWER, LOG = "order", "events", "answer", "log"
"""The files in the directory."""

MOST_RESULTS = 200
"""So many builds are remembered, to be sent once more if they did not arrive whole."""


def carry_out(sent: Sent, host: str, home: Home, place: Path) -> Answer:
    """What comes of an order in a home directory; `place` is the directory of this process."""
    with (place / EVENTS).open("a", encoding="utf-8") as file:

        def tell(event: Event) -> None:
            file.write(json.dumps({"kind": event.kind, "data": event.to_json()}) + "\n")
            file.flush()

        try:
            if isinstance(sent.order, ProbeOrder):
                answer = _probed(sent, sent.order, host, home, tell)
            else:
                answer = _made(sent, sent.order, host, home, place, tell)
        except (UserError, Damaged, OSError) as error:
            return _failed(sent, host, home, error)
    ended_full = isinstance(answer, Returned) and _ended_full(answer.result)
    return Full(host, str(scarcest(home))) if ended_full else answer


def _failed(sent: Sent, host: str, home: Home, error: UserError | Damaged | OSError) -> Answer:
    """What is answered where an order could not be carried out; raises the error if that is a fault of ours."""
    place = scarcest(home)
    if is_full(error) or is_scarce(place):
        return Full(host, str(place))
    if isinstance(error, LibraryMissing) and (library := _lacking(sent, home)):
        return Lacking(host, library)
    if isinstance(error, Damaged):
        return Spoilt(host, str(error))
    if isinstance(error, UserError):
        return Refused(host, error.problem, error.hint)
    raise error


def _ended_full(result: AnyResult) -> bool:
    """Whether something ended for want of space, which says nothing of the commit, and another host may have."""
    if isinstance(result, Probed):
        return result.full
    return (result.result.outcome if isinstance(result, Built) else result.outcome) is Outcome.OUT_OF_DISK


def _probed(sent: Sent, order: ProbeOrder, host: str, home: Home, tell: Watch) -> Answer:
    artifacts = Artifacts(home.artifacts)
    if not artifacts.sound(order.artifact):
        artifacts.discard(order.artifact)
        if sent.artifact is None:
            return Lacking(host)
        with scratch(home.work) as work:
            unpacked(sent.carrier.fetch(sent.artifact), work / "artifact", order.artifact)
            artifacts.put(work / "artifact")
    probed = probe_here(order, home, tell)
    artifacts.prune(DEFAULT_LIMIT_BYTES, (order.artifact,))
    return Returned(host, replace(probed, host=host))


def _made(sent: Sent, order: BuildOrder | DrawOrder, host: str, home: Home, place: Path, tell: Watch) -> Answer:
    """A build or redraws, made now unless they were made here before and did not arrive."""
    known = _Results(home)
    build = order.build if isinstance(order, DrawOrder) else order
    result = known.find(order)
    log = place / LOG
    if result is None:
        _shelve(sent, home)
        with _equipped(sent, build, place, log) as own:
            result = (
                draw_here(replace(order, build=own), home, tell)
                if isinstance(order, DrawOrder)
                else build_here(own, home, tell)
            )
        known.keep(order, result)
    else:
        log.write_text("it was built before on this host, and is sent once more\n")
    artifacts = {digest: _parcel(sent.carrier, digest, home) for digest in _digests(result)}
    Artifacts(home.artifacts).prune(DEFAULT_LIMIT_BYTES, artifacts)
    return Returned(host, _signed(result, host, build.log), artifacts, log.read_bytes() if log.exists() else b"")


@contextlib.contextmanager
def _equipped(sent: Sent, order: BuildOrder, place: Path, log: Path) -> Iterator[BuildOrder]:
    """The order with what it needs at places of this host, which are gone afterwards."""
    assert sent.tree is not None
    patches = place / "patches"
    for name, content in sent.patches.items():
        file = (patches / name).resolve()
        if not file.is_relative_to(patches.resolve()):
            raise UserError(f"{name!r} is not the name of a patch", "correct the matrix")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    repository = place / "repository"
    pack = place / "pack"
    pack.write_bytes(sent.carrier.fetch(sent.tree.pack))
    try:
        parcel.unpack(pack, order.recipe.commit, sent.tree.object_format, repository)
    except UserError as damaged:
        raise Damaged(damaged.problem) from damaged
    pack.unlink()
    yield replace(
        order,
        repository=repository,
        patches_dir=patches,
        log=log,
        origin=sent.tree.origin,
        shared_cache=sent.cache,
    )


def _shelve(sent: Sent, home: Home) -> None:
    """Put the files of libraries that came with the order where they belong; they are compared when they are used."""
    shelf = Shelf(home.libraries)
    for name, file in sent.libraries.items():
        with scratch(home.libraries) as work:
            (work / "file").write_bytes(sent.carrier.fetch(file))
            (work / "file").replace(shelf.file(name))


def _lacking(sent: Sent, home: Home) -> str:
    """A library of a recipe whose file is not here and did not come with the order; empty if all are here."""
    if isinstance(sent.order, ProbeOrder):
        return ""
    build = sent.order.build if isinstance(sent.order, DrawOrder) else sent.order
    shelf = Shelf(home.libraries)
    wanted: list[Library] = [one for one in build.recipe.libraries if one.sha256 and one.name not in sent.libraries]
    return next((one.name for one in wanted if shelf.digest(one.name) != one.sha256), "")


def _digests(result: AnyResult) -> tuple[str, ...]:
    if isinstance(result, Drawn):
        return tuple(dict.fromkeys(result.artifacts.values()))
    return (result.artifact,) if isinstance(result, Built) and result.artifact else ()


def _parcel(carrier: Carrier, digest: str, home: Home) -> Parcel:
    artifact = Artifacts(home.artifacts).path(digest)
    if artifact is None:
        raise UserError(f"the build {digest[:12]} was removed while it was sent", "begin it again")
    return carrier.send(packed(artifact))


def _signed(result: AnyResult, host: str, log: Path) -> AnyResult:
    """With the host that it was made on, and its log where whoever ordered it has it."""
    if isinstance(result, Built):
        return replace(result, host=host, result=replace(result.result, log=log))
    return replace(result, host=host)


class _Results:
    """What was built here of late, by what was ordered."""

    def __init__(self, home: Home) -> None:
        self._directory = home.root / "cluster" / "results"
        self._artifacts = Artifacts(home.artifacts)

    def find(self, order: BuildOrder | DrawOrder) -> Built | Drawn | None:
        """A result that is still here, whole."""
        try:
            found = pickle.loads(self._file(order).read_bytes())
        except Exception:
            # Whatever an older program, or a full disk, left there.
            return None
        sound = isinstance(found, Built | Drawn) and all(map(self._artifacts.sound, _digests(found)))
        return found if sound else None

    def keep(self, order: BuildOrder | DrawOrder, result: Built | Drawn) -> None:
        """Remember a result if it is a good one: others may have been this host's fault."""
        outcome = result.result.outcome if isinstance(result, Built) else result.outcome
        if outcome is not Outcome.BUILT:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        part = self._file(order).with_suffix(".part")
        with contextlib.suppress(OSError):
            part.write_bytes(pickle.dumps(result))
            part.replace(self._file(order))
            kept = sorted(self._directory.glob("*.result"), key=lambda file: file.stat().st_mtime)
            for file in kept[:-MOST_RESULTS]:
                file.unlink(missing_ok=True)

    def _file(self, order: BuildOrder | DrawOrder) -> Path:
        build, links = (order.build, order.links) if isinstance(order, DrawOrder) else (order, ())
        text = f"{build.recipe.key()} {build.sandbox} {links}"
        return self._directory / f"{hashlib.sha256(text.encode()).hexdigest()}.result"


def main() -> int:
    """`python -m cpubisect.cluster.carrying DIRECTORY HOST`."""
    secrets.withhold()
    place, host = Path(sys.argv[1]), sys.argv[2]
    sent = pickle.loads((place / ORDER).read_bytes())
    answer = carry_out(sent, host, Home.open(), place)
    part = place / f"{ANSWER}.part"
    part.write_bytes(pickle.dumps(answer))
    part.rename(place / ANSWER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
