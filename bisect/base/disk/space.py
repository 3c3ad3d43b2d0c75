"""Whether a disk has no space left, and which."""

import errno
import re
import shutil
import tempfile
from pathlib import Path

from cpubisect.base.home import Home

LEAST_BYTES = 1 << 20
"""With less than that free, what failed did so for want of space, as far as can be known: what it said of that may have
been for a file on the same disk."""

_SAYS = re.compile(r"No space left on device|Disk quota exceeded")


def is_scarce(place: Path) -> bool:
    """Whether next to nothing can be written to a directory any more."""
    return shutil.disk_usage(place).free < LEAST_BYTES


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or one that it comes from, says that a disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if _SAYS.search(str(error)):
            return True
        error = error.__cause__
    return False


def scarcest(home: Home) -> Path:
    """Which of the places that builds and probes write to has the least space left."""
    places = (home.root, home.ccache, Path(tempfile.gettempdir()))
    return min((place for place in places if place.exists()), key=lambda place: shutil.disk_usage(place).free)
