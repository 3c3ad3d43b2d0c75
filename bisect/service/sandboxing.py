"""Whether builds and probes run in a sandbox: what was asked for, and what this host can do, which is tried."""

import os
import shutil
from dataclasses import dataclass

from cpubisect.base.disk.scratch import temporary
from cpubisect.base.errors import UserError
from cpubisect.base.process import SandboxFailed, run
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.base.sandbox.surroundings import PROGRAM, Held, confined, held
from cpubisect.builders.trees import cache
from cpubisect.search import events
from cpubisect.search.events import Watch
from cpubisect.workloads.check import Check, Status

PACKAGE = "bubblewrap"
_NAME = "sandbox"
_INSTALL = f"apt-get install -y {PACKAGE}"
_ALLOW = "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000, or a container that allows them"
_ANOTHER_USER = "run it as another user, or where control groups of processes can be made"
_TRIAL = """
echo made >"$1/made" && [ ! -e "$2" ] || exit 1
count=0
for process in /proc/[0-9]*; do count=$((count + 1)); done
[ $count = 2 ]
"""


@dataclass(frozen=True)
class Problem:
    """Why commands cannot be run in a sandbox here, in one line, and a command that mends it."""

    why: str
    fix: str


_WORKED: set[str] = set()
"""Programs that made a sandbox in this process: what is asked before a start need not be tried again at the start."""


def problem() -> Problem | None:
    """Why there is no sandbox here; None if there is. What has worked once in this process is not tried again."""
    program = shutil.which(PROGRAM)
    if program is None:
        return Problem(f"{PACKAGE} is not installed", _INSTALL)
    if program not in _WORKED:
        if lacking := _tried():
            return lacking
        _WORKED.add(program)
    return Problem(why, "apt-get install -y ccache") if (why := cache.problem()) else None


def _tried() -> Problem | None:
    """Why no command can be run in a sandbox. One is tried, in a fifth of a second: it must write where it may, not see
    what it must not, and be alone with its guard."""
    with temporary("sandbox") as scratch:
        given, hidden = scratch / "given", scratch / "hidden"
        given.mkdir()
        hidden.write_text("secret")
        log = scratch / "log"
        words = ["sh", "-c", _TRIAL, "sh", str(given), str(hidden)]
        try:
            tried = run(words, env={"PATH": os.defpath}, log=log, timeout_s=60.0, sandbox=confined([given]))
        except SandboxFailed:
            said = log.read_text(errors="replace").strip().splitlines()
            return Problem(said[0] if said else f"{PROGRAM} makes none", _ALLOW)
        if not tried.ok or not (given / "made").is_file():
            return Problem("a command in one does not see what it should, or sees more", _INSTALL)
    return None


def settled(wish: Wish, watch: Watch) -> Kind:
    """What builds and probes run in; where a wish for one that need not be cannot be fulfilled, `watch` is told so.
    Raises UserError where it must be."""
    if wish is Wish.OFF:
        return Kind.NONE
    found = problem()
    if not found:
        return Kind.BUBBLEWRAP
    if wish is Wish.REQUIRE:
        raise UserError(f"there is no sandbox here ({found.why})", f"{found.fix}; or --sandbox off")
    watch(events.Notice(text=f"no sandbox ({found.why}): what is built and measured runs with all your rights"))
    return Kind.NONE


def check() -> Check:
    """What `bisect doctor` says of it."""
    if lacking := problem():
        found = f"{lacking.why}; builds and probes run with all your rights, and `bisect serve` runs none"
        return Check(_NAME, Status.WARN, found, lacking.fix)
    found = f"builds and probes run in {PACKAGE}: own files, no network; {held()}"
    if held() is Held.NOTHING:
        return Check(_NAME, Status.WARN, found, _ANOTHER_USER)
    return Check(_NAME, Status.OK, found)
