"""Which options a server of some version is started with: the fair ones from `config/mysqld.yaml`, then the user's."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter

from cpubisect.base.ranges import VersionRange
from cpubisect.base.version import Version

_FILE = Path(__file__).parent.parent / "config" / "mysqld.yaml"


class Flavour(StrEnum):
    """Whose server it is; their version numbers do not compare."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


Range = Annotated[VersionRange | None, BeforeValidator(VersionRange.parse)]


class Setting(BaseModel):
    """One server setting: `value` is None for an option that takes none; `mysql` and `mariadb` are the versions it is
    given to; a `needed` one is given even to a server that is to keep its own defaults, and an `own` one whatever the
    user says."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: str
    value: str | None = None
    why: str
    mysql: Range = None
    mariadb: Range = None
    needed: bool = False
    own: bool = False

    def applies(self, flavour: Flavour, version: Version) -> bool:
        """True if a server of that flavour and version is given this setting."""
        versions = self.mysql if flavour is Flavour.MYSQL else self.mariadb
        return versions is not None and versions.holds(version)


@cache
def settings() -> tuple[Setting, ...]:
    """All settings of the file, in its order; raises pydantic's ValidationError if one is malformed."""
    return tuple(TypeAdapter(list[Setting]).validate_python(yaml.safe_load(_FILE.read_text())))


def pinned(flavour: Flavour, version: Version, *, fair: bool = True) -> dict[str, str | None]:
    """The settings for one server by name; without `fair` only those it could not be probed without."""
    chosen = [one for one in settings() if one.applies(flavour, version) and (fair or one.needed)]
    return {one.name: one.value for one in chosen}


def own_words(flavour: Flavour, version: Version) -> tuple[str, ...]:
    """The settings of one server that nobody may change, as the last command line words."""
    chosen = [one for one in settings() if one.own and one.applies(flavour, version)]
    return tuple(_word(f"--loose-{one.name}", one.value) for one in chosen)


def option_words(settings_: Mapping[str, str | None], overrides: Mapping[str, str]) -> tuple[str, ...]:
    """Command line words: the settings as `--loose-NAME=VALUE`, then the user's own `overrides` as `--NAME=VALUE`.

    An override takes the place of a setting of its name (`-` and `_` are the same); being strict, a misspelt one
    keeps the server from starting. An override's empty value gives the option without a value.
    """
    taken = {name.replace("-", "_") for name in overrides}
    loose = [_word(f"--loose-{name}", value) for name, value in settings_.items() if name not in taken]
    strict = [_word(f"--{name}", value or None) for name, value in overrides.items()]
    return (*loose, *strict)


def sizes(flavour: Flavour, rows: int, tables: int) -> dict[str, str | None]:
    """A buffer pool several times larger than the tables: 1 KiB a row (a row and its index entry take about 300 bytes
    in half-filled pages), 256 MiB at least, in whole 128 MiB chunks."""
    chunk = 128 << 20
    pool = str(max(2, -(-rows * tables * 1024 // chunk)) * chunk)
    chosen: dict[str, str | None] = {"innodb_buffer_pool_size": pool}
    if flavour is Flavour.MARIADB:
        # By default it reserves 8 TiB of addresses to grow into, more than valgrind has.
        chosen["innodb_buffer_pool_size_max"] = pool
    return chosen


def _word(option: str, value: str | None) -> str:
    return option if value is None else f"{option}={value}"
