"""Our mirrors of repositories that were named by a URL: made once, refreshed, and reused; and the URL of any clone."""

import hashlib
import re
import shutil
from functools import lru_cache
from pathlib import Path

from cpubisect.base.errors import UserError
from cpubisect.base.home import Home
from cpubisect.base.locks import wait_for
from cpubisect.base.process import run

_URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
CLONE_LIMIT_S = 4 * 3600.0
_NEXT_STEP = "pass --repo PATH of a clone that you have"


def is_url(name: str) -> bool:
    """True for what git would clone from elsewhere; everything else is a path."""
    return bool(_URL.match(name))


def mirror_of(home: Home, url: str) -> Path:
    """Our clone of a URL: made if it is not there yet; raises UserError if it can't be cloned."""
    target = mirror_path(home, url)
    with wait_for(target.with_suffix(".lock")):
        if target.is_dir():
            return target
        fresh = target.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        done = run(
            ["git", "-c", "core.hooksPath=/dev/null", "clone", "--mirror", "--quiet", "--", url, fresh],
            timeout_s=CLONE_LIMIT_S,
        )
        if not done.ok:
            shutil.rmtree(fresh, ignore_errors=True)
            raise UserError(f"cannot clone {url} ({_first_error(done.output)})", _NEXT_STEP)
        fresh.rename(target)
    return target


def refresh(home: Home, url: str) -> None:
    """Fetch what is new into our clone of a URL; raises UserError if that fails."""
    target = mirror_path(home, url)
    with wait_for(target.with_suffix(".lock")):
        done = run(["git", "-C", target, "fetch", "--quiet", "--prune", "--tags"], timeout_s=CLONE_LIMIT_S)
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
    done = run(["git", "-C", path, "config", "--get", "remote.origin.url"], timeout_s=30)
    url = done.output.strip()
    return re.sub(r"(?<=://)[^/@]*@", "", url) if done.ok and is_url(url) and not url.startswith("file:") else ""
