"""What this host tells a cluster of itself, after it was looked whether it can do what it offers."""

import platform
import shutil

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.builders.recipes.toolchain import find_ccache, installed_toolchains
from cpubisect.builders.trees.linker import why_no_redraws
from cpubisect.cluster.hosts import Host, Role
from cpubisect.cluster.program import program
from cpubisect.service import sandboxing
from cpubisect.workloads.check import Check, Files, Status
from cpubisect.workloads.counters.choice import every_counter, examine
from cpubisect.workloads.host import knobs
from cpubisect.workloads.host.host import fingerprint


def own_host(role: Role, slots: int, name: str | None, home: Home) -> Host:
    """This host, in a role; raises UserError if it lacks what every order of that role needs, or is to do what a host
    of that role does not."""
    if role is Role.PROBE and slots != 1:
        raise UserError(f"a probe host makes one probe at a time, not {slots}", "leave out --slots")
    if role is Role.BUILD:
        _check_builder()
    return Host(
        name=name or platform.node(),
        role=role,
        slots=slots,
        program=program(),
        toolchains=tuple(installed_toolchains()) if role is Role.BUILD else (),
        fingerprint=fingerprint(),
        no_sandbox=lacking.why if (lacking := sandboxing.problem()) else "",
        no_redraws=why_no_redraws() if role is Role.BUILD else "",
        counters={counter.value: why for counter, why in examine().items()} if role is Role.PROBE else {},
        libraries=tuple(sorted(file.name.removesuffix(".tar.gz") for file in home.libraries.glob("*.tar.gz"))),
    )


def _check_builder() -> None:
    find_ccache()
    if shutil.which("git") is None:
        raise UserError("git cannot be run", "install git and see that it is on the PATH")
    if not installed_toolchains():
        raise UserError("there is no compiler here to build with", "`bisect doctor` says which are wanted")


def findings(role: Role, home: Home) -> list[Check]:
    """What `bisect doctor` says of this host that matters for a role, without what is as it should be."""
    checks = [knobs.disk(home.root), sandboxing.check()]
    if role is Role.PROBE:
        checks += [knob(Files()) for knob in (knobs.governor, knobs.turbo, knobs.load)]
        checks += [counter.check(Files()) for counter in every_counter()]
    return [check for check in checks if check.status is not Status.OK]
