"""Whether builds and probes run in a sandbox: what was asked for, and what this host can do, which is tried."""

import os
import shutil
import tempfile
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.process import SandboxFailed, run
from cpubisect.base.sandbox.policy import Kind, Wish
from cpubisect.base.sandbox.surroundings import PROGRAM, confined
from cpubisect.builders.trees import cache
from cpubisect.search import events
from cpubisect.search.events import Watch
from cpubisect.workloads.check import Check, Status

PACKAGE = "bubblewrap"
_NAME = "sandbox"
_SAYS = 'echo seen >"$1/made" && [ ! -e "$2" ] && [ "$(cd /proc && echo [0-9]*)" = "1 2" ]'


def problem() -> str:
    """Why commands cannot be run in a sandbox here, in one line; empty if they can. One is: it must write where it may,
    not see what it must not, and be alone. Takes a fifth of a second."""
    if shutil.which(PROGRAM) is None:
        return f"{PACKAGE} is not installed"
    with tempfile.TemporaryDirectory() as scratch:
        given, hidden = Path(scratch, "given"), Path(scratch, "hidden")
        given.mkdir()
        hidden.write_text("secret")
        log = Path(scratch, "log")
        words = ["sh", "-c", _SAYS, "sh", str(given), str(hidden)]
        try:
            tried = run(words, env={"PATH": os.defpath}, log=log, timeout_s=60.0, sandbox=confined(writable=(given,)))
        except SandboxFailed:
            said = log.read_text(errors="replace").strip().splitlines()
            return said[0] if said else f"{PROGRAM} makes none"
        if not tried.ok or not (given / "made").is_file():
            return "a command in one does not see what it should, or sees more"
    return cache.problem()


def settled(wish: Wish, watch: Watch) -> Kind:
    """What builds and probes run in; where a wish for one that need not be cannot be fulfilled, `watch` is told so.
    Raises UserError where it must be."""
    if wish is Wish.OFF:
        return Kind.NONE
    why = problem()
    if not why:
        return Kind.BUBBLEWRAP
    if wish is Wish.REQUIRE:
        raise UserError(
            f"there is no sandbox here ({why})", f"apt-get install -y {PACKAGE}, see `bisect doctor`; or --sandbox off"
        )
    watch(events.Notice(text=f"no sandbox ({why}): what is built and measured runs with all your rights"))
    return Kind.NONE


def check() -> Check:
    """What `bisect doctor` says of it."""
    if why := problem():
        found = f"{why}; builds and probes run with all your rights, and `bisect serve` runs none"
        return Check(_NAME, Status.WARN, found, f"apt-get install -y {PACKAGE}")
    return Check(_NAME, Status.OK, f"builds and probes run in {PACKAGE}: own files, no network")
