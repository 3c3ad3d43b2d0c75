"""The executor that has the hosts of a cluster: builds go to any builder with the very compiler, probes to the one host
that a bisection began on, and all that is made comes to the home directory of whoever asks."""

import hashlib
import platform
import random
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from cpubisect.base.disk.scratch import scratch
from cpubisect.base.errors import UserError
from cpubisect.base.git import parcel
from cpubisect.base.git.clone import find_clone
from cpubisect.base.home import Home
from cpubisect.base.metrics import Counter
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.builders.build import Recipe, Toolchain
from cpubisect.builders.shelf import Shelf
from cpubisect.builders.trees.shared import check_confined
from cpubisect.cluster.connection import Connection, HeadLost, Present
from cpubisect.cluster.hosts import (
    Host,
    Need,
    Role,
    least_asked,
    left_over,
    likeness,
    named,
    of_role,
    refusal,
    shared_toolchains,
    working_counters,
)
from cpubisect.cluster.orders import Lacking, Returned, Sent, Tree
from cpubisect.cluster.parcels import Damaged, packed, unpacked
from cpubisect.cluster.program import program
from cpubisect.cluster.remote import Errand, Remote, Result
from cpubisect.records.artifacts import Artifacts
from cpubisect.run.bench.orders import BuildOrder, Built, Drawn, DrawOrder, Handle, Probed, ProbeOrder
from cpubisect.search import events
from cpubisect.search.events import HostThere, Watch


@dataclass(frozen=True)
class Hosts:
    """The executor: `home` is the head's, where all is kept; `probes_on` is the name of the host that a bisection's
    clock is read on, and `like` what those must be alike that count for it; empty if neither was chosen yet."""

    connection: Connection
    home: Home
    probes_on: str = ""
    like: str = ""
    _handles: "weakref.WeakSet[Remote[object]]" = field(default_factory=weakref.WeakSet, repr=False, compare=False)

    @property
    def here(self) -> bool:
        """It is not."""
        return False

    def at(self, host: Mapping[str, str | int]) -> "Hosts":
        """The same for a bisection that began on a host; raises UserError if that was none of a cluster."""
        if "name" not in host:
            raise UserError("it was begun without a cluster, and its probes belong to one host", "leave out --cluster")
        return replace(self, probes_on=str(host["name"]), like=likeness(host))

    @cached_property
    def toolchains(self) -> Sequence[Toolchain]:
        """Those of the builders that are there when it is asked first; raises UserError if there are none."""
        return shared_toolchains(self._able(Role.BUILD))

    @property
    def redraws(self) -> str:
        """Why no builder can link in other orders; empty if one can."""
        reasons = [host.no_redraws for host in self._able(Role.BUILD)]
        return "" if "" in reasons else reasons[0]

    @property
    def builders(self) -> int:
        """The slots of all builders that no other bisection has ordered."""
        own = sum(one.is_under_way and one.role is Role.BUILD for one in self._handles)
        return left_over(self._with_orders(Role.BUILD), own)

    def hosts(self) -> Sequence[HostThere]:
        """Those that run this program."""
        present = [host for host in self._present() if host.program == program()]
        return [HostThere(host.name, host.role.value, host.slots) for host in present]

    @property
    def fingerprint(self) -> Mapping[str, str | int]:
        """The probe host's, with its name; raises UserError if there is none."""
        return named(self._probe_host)

    def counters(self) -> Mapping[Counter, str]:
        """What works on the probe host."""
        return working_counters(self._probe_host)

    def sandbox(self, wish: Wish, tell: Watch) -> Kind:
        """A sandbox if all hosts have one, or if there must be one: then those without are not asked."""
        if wish is Wish.OFF:
            return Kind.NONE
        hosts = [*self._able(Role.BUILD), self._probe_host]
        without = [f"{host.name} has none ({host.no_sandbox})" for host in hosts if host.no_sandbox]
        if not without:
            check_confined(self._cache)
            return Kind.BUBBLEWRAP
        if wish is Wish.REQUIRE:
            for need in (self._need(Role.BUILD, sandbox=True), self._need(Role.PROBE, sandbox=True)):
                if why := refusal(self._present(), need):
                    raise UserError(f"there is no sandbox ({why})", "`bisect doctor` there says more; or --sandbox off")
            check_confined(self._cache)
            return Kind.BUBBLEWRAP
        text = f"no sandbox ({'; '.join(without)}): what is built and measured runs with all rights of its worker"
        tell(events.Notice(text=text))
        return Kind.NONE

    def build(self, order: BuildOrder, tell: Watch) -> Handle[Built]:
        """A build on any builder that has the recipe's compiler."""
        return self._made(
            Errand(
                what=f"the build of {order.recipe.commit[:12]}",
                need=self._need_of(order),
                sent=lambda: self._with_tree(order, order),
                supply=partial(self._supplied, order.recipe),
                finish=partial(self._built, order),
                tell=tell,
            )
        )

    def draw(self, order: DrawOrder, tell: Watch) -> Handle[Drawn]:
        """Redraws on any builder that has the recipe's compiler, and a linker for them."""
        return self._made(
            Errand(
                what=f"the linking of {order.build.recipe.commit[:12]}",
                need=replace(self._need_of(order.build), redraws=True),
                sent=lambda: self._with_tree(order, order.build),
                supply=partial(self._supplied, order.build.recipe),
                finish=partial(self._drawn, order.build),
                tell=tell,
            )
        )

    def probe(self, order: ProbeOrder, tell: Watch) -> Handle[Probed]:
        """A probe on the bisection's host; one that only counts or asks may be on any other that is like it."""
        host = self.probes_on or self._probe_host.name
        need = self._need(Role.PROBE, sandbox=order.sandbox is Kind.BUBBLEWRAP)
        clocks = order.clock and not order.only_asks
        need = replace(need, host=host) if clocks or not self.like else replace(need, like=self.like)
        return self._made(
            Errand(
                what=f"the probe of {order.sha[:12]}",
                need=need,
                sent=lambda: Sent("", order, self.connection.carrier()),
                supply=partial(self._with_artifact, order),
                finish=_probed,
                tell=tell,
            )
        )

    def close(self) -> None:
        """Cancel what has not ended, and let go of the head."""
        for handle in list(self._handles):
            handle.cancel()
        self.connection.close()

    def _made(self, errand: Errand[Result]) -> Remote[Result]:
        handle = Remote(self.connection, errand)
        self._handles.add(handle)  # type: ignore[arg-type]
        return handle

    def _present(self) -> list[Host]:
        return [one.host for one in self._listed()]

    def _with_orders(self, role: Role) -> list[tuple[Host, int]]:
        """The hosts of a role that run this program, each with how many orders it has."""
        listed = self._listed()
        orders = {one.host.name: one.orders for one in listed}
        return [(host, orders[host.name]) for host in of_role((one.host for one in listed), role, program())]

    def _listed(self) -> list[Present]:
        try:
            return self.connection.hosts()
        except HeadLost as error:
            raise UserError(str(error), "is `bisect cluster head` still running there?") from error

    def _able(self, role: Role) -> list[Host]:
        """The hosts of a role that run this program; raises UserError if there are none."""
        present = self._present()
        if found := of_role(present, role, program()):
            return found
        why = refusal(present, self._need(role))
        raise UserError(
            f"{self.connection.address}: {why}",
            f"start one with `bisect cluster worker {self.connection.address} --role {role}`",
        )

    @cached_property
    def _probe_host(self) -> Host:
        """The one that was chosen, or one of those that have the fewest orders, by lot: those that begin while nothing
        is probed would all choose the same one else."""
        able = self._able(Role.PROBE)
        known = next((host for host in able if host.name == self.probes_on), None)
        return known or random.choice(least_asked(self._with_orders(Role.PROBE)) or able)

    @property
    def _cache(self) -> str:
        return self.connection.settings().get("cache", "")

    @staticmethod
    def _need(role: Role, *, sandbox: bool = False) -> Need:
        return Need(role, program(), sandbox=sandbox)

    def _need_of(self, order: BuildOrder) -> Need:
        return replace(
            self._need(Role.BUILD, sandbox=order.sandbox is Kind.BUBBLEWRAP), toolchain=order.recipe.toolchain
        )

    def _with_tree(self, order: BuildOrder | DrawOrder, build: BuildOrder) -> Sent:
        """An order with the tree that it is about, packed now."""
        recipe, carrier = build.recipe, self.connection.carrier()
        with scratch(self.home.work) as work:
            object_format = parcel.pack(build.repository, recipe.commit, work / "pack", build.engine.unread)
            pack = carrier.send((work / "pack").read_bytes())
        names = (*recipe.patches, *(rule.patch for rule in recipe.repairs if rule.patch))
        patches = {name: (build.patches_dir / name).read_bytes() for name in dict.fromkeys(names)}
        tree = Tree(pack, object_format, _origin(build.repository))
        return Sent("", order, carrier, tree, patches, cache=self._cache)

    def _supplied(self, recipe: Recipe, sent: Sent, lacking: Lacking) -> Sent:
        """An order with the file of a library that the worker can neither find nor fetch."""
        shelf = Shelf(self.home.libraries)
        (wanted,) = [one for one in recipe.libraries if one.name == lacking.library]
        order = sent.order
        assert isinstance(order, BuildOrder | DrawOrder)
        build = order.build if isinstance(order, DrawOrder) else order
        shelf.provide(wanted, build.addresses.get(wanted.name, ()))
        file = sent.carrier.send(shelf.file(wanted.name).read_bytes())
        return replace(sent, libraries={**sent.libraries, wanted.name: file})

    def _with_artifact(self, order: ProbeOrder, sent: Sent, lacking: Lacking) -> Sent:
        artifact = Artifacts(self.home.artifacts).path(order.artifact)
        if artifact is None:
            raise UserError(f"the artifact of {order.sha[:12]} was pruned while in use", "begin it again")
        return replace(sent, artifact=sent.carrier.send(packed(artifact)))

    def _built(self, order: BuildOrder, returned: Returned) -> Built:
        built = returned.result
        assert isinstance(built, Built)
        self._receive(returned)
        order.log.parent.mkdir(parents=True, exist_ok=True)
        order.log.write_bytes(returned.log)
        # The worker had a copy: what was built is this clone's, as if it had been built here.
        return replace(built, result=replace(built.result, origin=find_clone(order.repository).identity))

    def _drawn(self, order: BuildOrder, returned: Returned) -> Drawn:
        drawn = returned.result
        assert isinstance(drawn, Drawn)
        self._receive(returned)
        order.log.parent.mkdir(parents=True, exist_ok=True)
        order.log.write_bytes(returned.log)
        return drawn

    def _receive(self, returned: Returned) -> None:
        """Keep what was made; raises Damaged if something is not what it was when it was sent."""
        artifacts, carrier = Artifacts(self.home.artifacts), self.connection.carrier()
        for digest, sent in returned.artifacts.items():
            if artifacts.sound(digest):
                continue
            with scratch(self.home.work) as work:
                unpacked(carrier.fetch(sent), work / "artifact", digest)
                artifacts.put(work / "artifact")


def _probed(returned: Returned) -> Probed:
    probed = returned.result
    if not isinstance(probed, Probed):
        raise Damaged("it is no probe")
    return probed


def _origin(repository: Path) -> str:
    """What a clone of this host is known by on others: its identity is of a place here."""
    place = f"{platform.node()}:{find_clone(repository).identity}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]
