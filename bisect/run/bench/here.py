"""Builds and probes carried out on this host, one at a time, by whoever waits for them."""

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, Self, TypeVar

from cpubisect.base.disk.scratch import scratch
from cpubisect.base.disk.space import is_scarce
from cpubisect.base.engine import Engine
from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import wait_for
from cpubisect.base.metrics import Counter
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.builders.build import BuildResult, BuildSettings, Outcome, Toolchain
from cpubisect.builders.carry import carry_out
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.toolchain import installed_toolchains
from cpubisect.builders.redraw import draw_again
from cpubisect.builders.shelf import Shelf
from cpubisect.builders.trees.linker import why_no_redraws
from cpubisect.records.artifacts import Artifacts
from cpubisect.run.bench.orders import BuildOrder, Built, Cancelled, Drawn, DrawOrder, Handle, Probed, ProbeOrder
from cpubisect.search import events
from cpubisect.search.events import HostThere, Watch
from cpubisect.workloads.catalog import workload_of
from cpubisect.workloads.counters.choice import examine
from cpubisect.workloads.host.host import fingerprint
from cpubisect.workloads.probe import ProbeError, ProbeRequest, Samples, SettingRefused, was_killed

KILLED_ATTEMPTS = 3
"""So often in a row a build or a probe is begun that is killed from outside, as by a host that is short of memory:
what was compiled until then is in the cache."""

_FULL = re.compile(r"No space left on device|Disk quota exceeded")

Result = TypeVar("Result")


class Deferred(Generic[Result]):
    """Work that is done in the thread of whoever waits for it first: there is no other, so that nothing runs beside
    what is measured."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._result: list[Result] = []
        self._error: Exception | None = None

    def done(self) -> bool:
        """Whether it was carried out, or cancelled."""
        return bool(self._result) or self._error is not None

    def wait(self, timeout_s: float | None = None) -> bool:
        """Carry it out, unless it was; however long that takes. Interruptions are raised, and it can be begun again."""
        if not self.done():
            try:
                self._result.append(self._work())
            except Exception as error:
                self._error = error
        return True

    def result(self) -> Result:
        """What came of it; raises what it raised, or Cancelled."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def cancel(self) -> None:
        """Never begin it, unless it was carried out."""
        if not self.done():
            self._error = Cancelled()


@dataclass(frozen=True)
class InProcess:
    """The executor that has this host alone: all is made and kept in `home`, and `settled` decides about sandboxes."""

    home: Home
    settled: Callable[[Wish, Watch], Kind]

    @property
    def here(self) -> bool:
        """It is."""
        return True

    @property
    def toolchains(self) -> Sequence[Toolchain]:
        """Those that are installed."""
        return installed_toolchains()

    @property
    def redraws(self) -> str:
        """As this host's linker says."""
        return why_no_redraws()

    @property
    def builders(self) -> int:
        """One: what runs beside a build has other figures."""
        return 1

    def hosts(self) -> Sequence[HostThere]:
        """None."""
        return ()

    @property
    def fingerprint(self) -> Mapping[str, str | int]:
        """This host's."""
        return fingerprint()

    def at(self, host: Mapping[str, str | int]) -> Self:
        """The same; raises UserError for what began on a host of a cluster."""
        if name := host.get("name"):
            raise UserError(f"it measures on {name}, a host of a cluster", "go on with --cluster ADDRESS")
        return self

    def counters(self) -> Mapping[Counter, str]:
        """They are tried."""
        return examine()

    def sandbox(self, wish: Wish, tell: Watch) -> Kind:
        """It is tried."""
        return self.settled(wish, tell)

    def build(self, order: BuildOrder, tell: Watch) -> Handle[Built]:
        """A build that is made when it is waited for."""
        return Deferred(partial(build_here, order, self.home, tell))

    def draw(self, order: DrawOrder, tell: Watch) -> Handle[Drawn]:
        """Redraws that are made when they are waited for."""
        return Deferred(partial(draw_here, order, self.home, tell))

    def probe(self, order: ProbeOrder, tell: Watch) -> Handle[Probed]:
        """A probe that is made when it is waited for."""
        return Deferred(partial(probe_here, order, self.home, tell))

    def close(self) -> None:
        """There is nothing to let go of."""


def build_here(order: BuildOrder, home: Home, tell: Watch) -> Built:
    """Carry a recipe out, once more if it is killed, and keep the artifact in a home directory; raises UserError."""
    provide(order, home, tell)
    started = time.time()
    with scratch(home.work) as work:
        for attempt in range(KILLED_ATTEMPTS):
            result = _carried_out(order, home, work, tell)
            if result.outcome is not Outcome.OUT_OF_MEMORY or attempt == KILLED_ATTEMPTS - 1:
                break
            tell(events.Killed(sha=order.recipe.commit, what="build", why=result.first_error))
        digest = Artifacts(home.artifacts).put(result.output) if result.output else None
    return Built(replace(result, output=None), digest, started)


def _carried_out(order: BuildOrder, home: Home, work: Path, tell: Watch) -> BuildResult:
    return carry_out(
        order.recipe,
        builder_of(order.engine, order.recipe.variant),
        order.repository,
        work,
        _settings(order, home),
        log=order.log,
        progress=lambda text: tell(events.Progress(text=text)),
    )


def draw_here(order: DrawOrder, home: Home, tell: Watch) -> Drawn:
    """Link a build in other orders, and keep what came of it in a home directory; raises UserError."""
    build = order.build
    provide(build, home, tell)
    with scratch(home.work) as work:
        drawn = draw_again(
            build.recipe,
            builder_of(build.engine, build.recipe.variant),
            build.repository,
            work,
            _settings(build, home),
            order.links,
            log=build.log,
            progress=lambda text: tell(events.Progress(text=text)),
        )
        artifacts = {link: Artifacts(home.artifacts).put(made) for link, made in drawn.outputs.items()}
    return Drawn(
        outcome=drawn.outcome,
        artifacts=artifacts,
        wall_seconds=drawn.wall_seconds,
        first_error=drawn.first_error,
        cache_hits=drawn.cache_hits,
        cache_misses=drawn.cache_misses,
        code=drawn.code,
    )


def _settings(order: BuildOrder, home: Home) -> BuildSettings:
    """What a build in a home directory has."""
    return BuildSettings(
        ccache_dir=home.ccache,
        patches_dir=order.patches_dir,
        jobs=order.jobs,
        unread=order.engine.unread,
        bundled=order.engine.bundled,
        libraries=home.libraries,
        sandbox=order.sandbox,
        origin=order.origin,
        shared_cache=order.shared_cache,
    )


def provide(order: BuildOrder, home: Home, tell: Watch) -> None:
    """Have the libraries of a recipe in a home directory; raises LibraryMissing."""
    shelf = Shelf(home.libraries)
    for library in order.recipe.libraries:
        addresses = order.addresses.get(library.name, ())
        shelf.provide(library, addresses, lambda text: tell(events.Progress(text=text)))


def probe_here(order: ProbeOrder, home: Home, tell: Watch) -> Probed:
    """Make a probe, once more if it is killed, as soon as no other one runs on this host; raises UserError if the
    artifact is not in the home directory."""
    with only_probe(home):
        tell(events.ProbeStarted(sha=order.sha, purpose=order.purpose))
        for attempt in range(KILLED_ATTEMPTS):
            probed = _probed(order, home)
            if probed.error is None or not was_killed(probed.error) or attempt == KILLED_ATTEMPTS - 1:
                break
            tell(events.Killed(sha=order.sha, what="probe", why=probed.error))
    return probed


def _probed(order: ProbeOrder, home: Home) -> Probed:
    started, began = time.time(), time.monotonic()
    samples, error, refused, full = None, None, False, False
    artifact = Artifacts(home.artifacts).path(order.artifact)
    if artifact is None:
        raise UserError(f"the artifact of {order.sha[:12]} was pruned while in use", "begin it again")
    with scratch(home.work) as work:
        request = ProbeRequest(
            artifact=artifact,
            version=order.version,
            test=order.test,
            parameters=order.parameters,
            counter=order.counter,
            scratch=work,
            instructions=order.instructions,
            clock=order.clock,
            simulations=order.simulations,
            profiled=order.profiled,
            sandbox=order.sandbox,
        )
        try:
            samples = (asked if order.only_asks else measure)(order.engine, request)
        except ProbeError as failure:
            error, refused = str(failure), isinstance(failure, SettingRefused)
            full = bool(_FULL.search(error)) or is_scarce(work)
    return Probed(samples, error, started, time.monotonic() - began, refused=refused, full=full)


def measure(engine: Engine, request: ProbeRequest) -> Samples:
    """What the engine's workload measures; raises ProbeError."""
    return workload_of(engine).probe(request)


def asked(engine: Engine, request: ProbeRequest) -> Samples:
    """No samples, but the variables of what would be measured; raises ProbeError."""
    started = time.monotonic()
    variables = workload_of(engine).variables(request)
    return Samples({}, request.counter, request.parameters, time.monotonic() - started, variables=variables)


@contextlib.contextmanager
def only_probe(home: Home) -> Iterator[None]:
    """Held while a probe runs: one at a time per host, across all bisections and comparisons."""
    with wait_for(home.root / "probe.lock"):
        yield
