"""PURE: the configuration a probe's server ran with, read off its command line."""

from collections.abc import Sequence

NO_FILE = "--no-defaults"
"""What the command line of every server we start has after its program: it reads no configuration file."""

PLACES = frozenset(
    (
        *("basedir", "datadir", "tmpdir", "socket", "loose-secure-file-priv", "lc-messages-dir", "language"),
        *("character-sets-dir", "user", "skip-networking", "skip-grant-tables"),
    )
)
"""Options that say where a probe's private server lives and who may come in: nobody wants those."""


def of_commands(commands: Sequence[str]) -> str:
    """A my.cnf for the last server among the command lines of a probe, the one whose CPU time was measured; empty if
    there is none. An option that holds spaces is taken to end before the next ` --`."""
    servers = [command for command in commands if f" {NO_FILE} " in command]
    if not servers:
        return ""
    options = servers[-1].partition(f" {NO_FILE} ")[2].removeprefix("--").split(" --")
    pairs = [option.partition("=") for option in options]
    kept = [f"{name}{equals}{value}" for name, equals, value in pairs if name not in PLACES]
    return "\n".join(("# as given on the command line of the measured server", "[mysqld]", *kept, ""))
