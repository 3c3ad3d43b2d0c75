"""What the environment of this program holds and no child of it needs, tokens above all: taken out of it at the start.

A process shows its environment, as it was given it, to others of the same user in /proc/PID/environ. So what is taken
out is overwritten there too, and kept in memory for those parts of the program that ask for it.
"""

import ctypes
import os
import re
from collections.abc import Iterable, Mapping

NEEDED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR"
    r"|TMPDIR|XDG_\w+|CPUBISECT_(?:HOME|CLUSTER|CERTIFICATES)|CCACHE_\w+|GIT_\w+|SSH_\w+|(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY"
    r"|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|PYTHON\w*|VIRTUAL_ENV|LD_LIBRARY_PATH|LD_PRELOAD"
    r"|OMP_NUM_THREADS|OPENBLAS_NUM_THREADS|MALLOC_\w+|DISPLAY|WAYLAND_DISPLAY|DBUS_SESSION_BUS_ADDRESS"
)
"""The names of what this program, git and what else it starts on its own account may want."""

_withheld: dict[str, str] = {}


def superfluous(names: Iterable[str]) -> list[str]:
    """PURE: those of some variables' names that are not needed."""
    return [name for name in names if not NEEDED.fullmatch(name)]


def withhold() -> None:
    """Take out of this process's environment what is not needed; done once, before there are other threads."""
    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    for name in superfluous(os.environ):
        value = os.environb[os.fsencode(name)]
        place = library.getenv(os.fsencode(name))
        if place:
            ctypes.memset(place, 0, len(value))
        _withheld[name] = os.fsdecode(value)
        del os.environ[name]


def environment() -> Mapping[str, str]:
    """The whole environment, with what was taken out of it: for those who need a token, and never for a child."""
    return {**_withheld, **os.environ}
