"""The host's own MariaDB, laid out like a build's output: a real server without compiling one."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cpubisect.base.process import run
from cpubisect.base.version import Version
from cpubisect.workloads.mysql.installation import Installation, Place, initialise, short_directory
from cpubisect.workloads.mysql.server import Server
from cpubisect.workloads.mysql.settings import Flavour, option_words, pinned

_SHARES = (Path("/usr/share/mysql"), Path("/usr/share/mariadb"))
# Small files and a small cache: these tests make many servers.
SMALL = {"innodb_log_file_size": "16777216", "innodb_buffer_pool_size": "67108864"}


def server_binary() -> Path:
    """Where this host has mariadbd."""
    found = shutil.which("mariadbd", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert found, "these tests need mariadb-server-core"
    return Path(found)


def server_version() -> Version:
    """What the host's mariadbd says it is."""
    printed = run([server_binary(), "--no-defaults", "--version"]).output
    match = re.search(r"Ver (\d+\.\d+\.\d+)", printed)
    assert match, printed
    return Version.parse(match[1])


def link_artifact(directory: Path) -> Path:
    """Make `directory` an artifact of links: mysqld, share/, scripts/."""
    share = next(path for path in _SHARES if (path / "mysql_system_tables.sql").is_file())
    (directory / "scripts").mkdir(parents=True)
    (directory / "mysqld").symlink_to(server_binary())
    (directory / "share").symlink_to(share)
    for name in ("mysql_system_tables.sql", "mysql_system_tables_data.sql"):
        (directory / "scripts" / name).symlink_to(share / name)
    return directory


@contextmanager
def logging_server(artifact: Path, directory: Path) -> Iterator[Server]:
    """A running server with a new data directory below `directory`, which writes each statement to `general.log` beside
    its own log."""
    installation = Installation.find(artifact, server_version())
    with short_directory(directory) as sockets:
        place = Place.below(directory, sockets, "one")
        initialise(installation, place, small_options())
        log = place.log.with_name("general.log")
        options = [*small_options(), f"--general-log-file={log}", "--general-log=1"]
        with Server(installation, place, options) as server:
            yield server


def small_options() -> tuple[str, ...]:
    """The fair options for that server, with small files."""
    size = SMALL["innodb_buffer_pool_size"]
    return option_words({**pinned(Flavour.MARIADB, server_version()), "innodb_buffer_pool_size_max": size}, SMALL)
