"""Our mirrors of repositories that were named by a URL: made once, refreshed, and reused; and the URL of any clone."""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import IO

from cpubisect.base.errors import UserError
from cpubisect.base.git.borrowed import mirror_environment
from cpubisect.base.git.clone import find_clone
from cpubisect.base.home import Home
from cpubisect.base.locks import wait_for
from cpubisect.base.process import Finished, Guarded, run

_URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
CLONE_LIMIT_S = 4 * 3600.0
_TOLD_EVERY_S = 1.0
_LINE_BYTES = 400
_NEXT_STEP = "pass --repo PATH of a clone that you have"


def is_url(name: str) -> bool:
    """True for what git would clone from elsewhere; everything else is a path."""
    return bool(_URL.match(name))


def mirror_of(home: Home, url: str, progress: Callable[[str], None] = lambda text: None) -> Path:
    """Our clone of a URL: made if it is not there yet, which tells its progress. Raises UserError if it can't be.

    It has the commits and directories of all branches and tags, and nothing else: pull requests are most of the refs of
    a public repository, and their commits are in no range; files' contents are fetched when they are read, but for a
    server that only sends all (docs/architecture.md, "Whole or partial").
    """
    target = mirror_path(home, url)
    with wait_for(target.with_suffix(".lock")):
        if target.is_dir():
            return target
        fresh = target.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        done = _clone(url, fresh, progress)
        if done.ok:
            # A bare clone is made to be pushed to: what a later fetch brings must be said.
            words = ["git", "-C", str(fresh), "config", "remote.origin.fetch", "+refs/heads/*:refs/heads/*"]
            done = run(words, env=mirror_environment())
        if not done.ok:
            shutil.rmtree(fresh, ignore_errors=True)
            raise UserError(f"cannot clone {url} ({_first_error(done.output)})", _NEXT_STEP)
        fresh.rename(target)
    return target


def _clone(url: str, target: Path, progress: Callable[[str], None]) -> Finished:
    """Clone, telling what git says of how far it is."""
    words = ["git", "-c", "core.hooksPath=/dev/null", "clone", "--bare", "--progress", "--filter=blob:none"]
    words += ["--", url, str(target)]
    told = ""
    with tempfile.TemporaryFile() as output, Guarded(words, env=mirror_environment(), output=output) as child:
        deadline = time.monotonic() + CLONE_LIMIT_S
        while not child.wait(_TOLD_EVERY_S) and time.monotonic() < deadline:
            line = _last_line(output)
            if line and line != told:
                told = line
                progress(f"cloning {url}: {line}")
        output.seek(0)
        return child.finished(timed_out=time.monotonic() >= deadline, output=output.read().decode(errors="replace"))


def _last_line(output: IO[bytes]) -> str:
    """What git wrote last: it writes over its own line."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _LINE_BYTES))
    lines = [line.strip() for line in output.read().decode(errors="replace").replace("\r", "\n").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def refresh(home: Home, url: str) -> None:
    """Fetch what is new into our clone of a URL; raises UserError if that fails."""
    target = mirror_path(home, url)
    with wait_for(target.with_suffix(".lock")):
        # Every fetch of contents made a pack: git tidies up when they are many, and is waited for.
        words = ["git", "-C", str(target), "-c", "gc.autoDetach=false", "fetch", "--quiet", "--prune", "--tags"]
        done = run(words, env=mirror_environment(), timeout_s=CLONE_LIMIT_S)
    if not done.ok:
        raise UserError(f"cannot fetch from {url} ({_first_error(done.output)})", _NEXT_STEP)


def mirror_path(home: Home, url: str) -> Path:
    """Where our clone of a URL is, or would be."""
    name = re.sub(r"\W+", "-", url.rstrip("/").removesuffix(".git").rpartition("/")[2]) or "clone"
    return home.repositories / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}.git"


def _first_error(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if "fatal" in line or "error" in line), lines[0] if lines else "no reason given"
    )


@lru_cache(maxsize=64)
def public_origin(path: Path) -> str:
    """The URL a clone was made from, without a name or password in it; empty if that was a path, or is not known."""
    try:
        url = find_clone(path).settings.get("remote.origin.url", "")
    except UserError:
        return ""
    return re.sub(r"(?<=://)[^/@]*@", "", url) if is_url(url) and not url.startswith("file:") else ""
