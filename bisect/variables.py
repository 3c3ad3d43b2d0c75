"""PURE: how the variables of two servers differ, as far as that may say something about cost."""

from collections.abc import Mapping
from dataclasses import dataclass

IGNORED_VARIABLES = (
    "basedir",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "gtid",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_version",
    "last_insert",
    "lc_messages",
    "license",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "protocol_version",
    "pseudo_",
    "rand_seed",
    "relay_log",
    "secure_file",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "system_time_zone",
    "timestamp",
    "tls_version",
    "tmpdir",
    "version",
    "wsrep",
)
"""Prefixes of variables that differ between any two servers or say nothing about cost."""


@dataclass(frozen=True)
class ChangedVariable:
    """A server variable with another value than before; None where the server has none of that name."""

    name: str
    before: str | None
    after: str | None


def changed_variables(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[ChangedVariable, ...]:
    """What differs between the variables of two servers, by name; nothing where one of them has not been read."""
    if not before or not after:
        return ()
    return tuple(
        ChangedVariable(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name) and not name.lower().startswith(IGNORED_VARIABLES)
    )
