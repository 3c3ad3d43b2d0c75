"""A real server: started, asked, stopped, killed, and gone with whoever started it."""

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest
from mariadb_artifact import SMALL, link_artifact, server_version, small_options
from pymysql.cursors import Cursor

from cpubisect.base.version import Version
from cpubisect.workloads.addresses import fixed_addresses
from cpubisect.workloads.counters import clock
from cpubisect.workloads.mysql.installation import (
    Installation,
    Place,
    environment,
    initialise,
    short_directory,
    telling_line,
)
from cpubisect.workloads.mysql.server import Server
from cpubisect.workloads.mysql.settings import Flavour, pinned
from cpubisect.workloads.probe import ProbeError


@dataclass(frozen=True)
class _Prepared:
    installation: Installation
    place: Place


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Prepared]:
    directory = tmp_path_factory.mktemp("s")
    installation = Installation.find(link_artifact(directory / "artifact"), server_version())
    with short_directory(directory) as sockets:
        place = Place.below(directory, sockets, "one")
        initialise(installation, place, small_options())
        yield _Prepared(installation, place)


def _start(prepared: _Prepared, *more: str) -> Server:
    return Server(prepared.installation, prepared.place, [*small_options(), *more], launcher=fixed_addresses())


def _ends(pidfd: int, timeout_s: float = 30.0) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def test_the_flavour_is_what_the_binary_says(prepared: _Prepared) -> None:
    assert prepared.installation.flavour is Flavour.MARIADB
    assert not prepared.installation.modern


def test_it_answers_on_its_socket_only_and_stops_in_order(prepared: _Prepared) -> None:
    with _start(prepared) as server:
        assert server.alive
        variables = server.variables()
        assert variables["skip_networking"] == "ON"
        assert variables["socket"] == str(prepared.place.socket)
        server.execute(["CREATE DATABASE IF NOT EXISTS kept"], database=None)
        server.stop()
        assert not server.alive
    with _start(prepared) as again, again.cursor() as cursor:
        assert cursor.execute("SHOW DATABASES LIKE 'kept'") == 1


def test_it_rests_once_nothing_is_running(prepared: _Prepared) -> None:
    with _start(prepared) as server, ThreadPoolExecutor(1) as pool:
        before = clock.cpu_ns(server.pid)
        working = pool.submit(server.execute, ["DO BENCHMARK(5000000, MD5('x'))"], None)
        while clock.cpu_ns(server.pid) < before + 50_000_000:
            assert not working.done()
        server.rest(60.0)
        with server.cursor() as cursor:
            assert cursor.execute("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'DO BENCH%'") == 0
        working.result()


def test_the_server_has_the_values_that_the_settings_pin(prepared: _Prepared) -> None:
    with _start(prepared) as server:
        variables = server.variables()
    wanted = {
        name: _plain(value)
        for name, value in pinned(Flavour.MARIADB, server_version()).items()
        if name in variables and name not in SMALL and value is not None
    }
    assert len(wanted) > 30
    assert {name: _plain(variables[name]) for name in wanted} == wanted


def _plain(value: str) -> str:
    """One spelling of a value: servers print 1 as ON and 90 as 90.000000."""
    if re.fullmatch(r"\d+\.0+", value):
        return value.partition(".")[0]
    return {"ON": "1", "YES": "1", "OFF": "0", "NO": "0"}.get(value, value.lower())


def test_an_unknown_option_is_named(prepared: _Prepared) -> None:
    with pytest.raises(ProbeError, match=r"unknown variable 'no_such_option=1'") as caught:
        _start(prepared, "--no_such_option=1")
    assert caught.value.log == prepared.place.log


def test_a_crash_is_told_by_the_servers_own_words(prepared: _Prepared) -> None:
    with _start(prepared) as server:
        os.kill(server.pid, signal.SIGSEGV)
        error = server.failure("the client lost its connection")
    assert re.search(r"the server crashed: .*got signal 11", str(error))


def test_a_living_server_is_not_blamed(prepared: _Prepared) -> None:
    with _start(prepared) as server:
        assert str(server.failure("sysbench: no such test")) == "sysbench: no such test"
        with pytest.raises(ProbeError, match="SELECT nonsense"):
            server.execute(["SELECT nonsense"], database=None)


def test_an_old_snapshot_is_open_for_as_long_as_its_block(prepared: _Prepared) -> None:
    with _start(prepared) as server, server.cursor() as cursor:
        with server.old_snapshot():
            assert _read_views(cursor) == 1
        while _read_views(cursor) != 0:
            assert server.alive


def _read_views(cursor: Cursor) -> int:
    cursor.execute("SHOW ENGINE INNODB STATUS")
    row = cursor.fetchone()
    assert row is not None
    found = re.search(r"(\d+) read views open", row[2])
    assert found, row[2]
    return int(found[1])


def test_leaving_the_block_leaves_nothing(prepared: _Prepared) -> None:
    with _start(prepared) as server:
        pidfd = os.pidfd_open(server.pid)
    assert _ends(pidfd)
    os.close(pidfd)
    assert not prepared.place.socket.exists()
    with pytest.raises(pymysql.MySQLError):
        pymysql.connect(unix_socket=str(prepared.place.socket), user="root")


_PARENT = """
import sys
from pathlib import Path
from cpubisect.base.version import Version
from cpubisect.workloads.mysql.installation import Installation, Place
from cpubisect.workloads.mysql.server import Server
artifact, version, data, temporary, socket, log, *options = sys.argv[1:]
installation = Installation.find(Path(artifact), Version.parse(version))
place = Place(Path(data), Path(temporary), Path(socket), Path(log))
with Server(installation, place, options) as server:
    print(server.pid, flush=True)
    sys.stdin.read()
"""


def test_killing_whoever_started_it_kills_the_server(prepared: _Prepared) -> None:
    place, installation = prepared.place, prepared.installation
    words = [installation.artifact, installation.version, place.data, place.temporary, place.socket, place.log]
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, *map(str, words), *small_options()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    server = int(parent.stdout.readline())
    pidfd = os.pidfd_open(server)
    assert not _ends(pidfd, 0)
    parent.kill()
    parent.communicate()
    assert _ends(pidfd)
    os.close(pidfd)


def test_an_artifact_without_a_server(tmp_path: Path) -> None:
    (tmp_path / "mysqld").write_text("#!/bin/sh\necho cannot execute: no luck; exit 1\n")
    (tmp_path / "mysqld").chmod(0o755)
    with pytest.raises(ProbeError, match="mysqld --version fails: cannot execute: no luck"):
        Installation.find(tmp_path, Version.parse("5.6.51"))


def test_an_artifact_without_bootstrap_scripts(tmp_path: Path) -> None:
    artifact = link_artifact(tmp_path / "artifact")
    (artifact / "scripts" / "mysql_system_tables_data.sql").unlink()
    place = Place.below(tmp_path, tmp_path, "one")
    with pytest.raises(ProbeError, match=r"no bootstrap script .*mysql_system_tables_data\.sql"):
        initialise(Installation.find(artifact, server_version()), place, ())


def test_a_data_directory_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    installation = Installation.find(link_artifact(tmp_path / "artifact"), server_version())
    place = Place.below(tmp_path, tmp_path, "one")
    with pytest.raises(ProbeError, match=r"makes no data directory: .*unknown variable 'nonsense=1'"):
        initialise(installation, place, ["--nonsense=1"])


@pytest.mark.parametrize(
    ("version", "flavour", "messages"),
    [
        ("5.1.73", Flavour.MYSQL, "--language=/a/share/english"),
        ("5.5.8", Flavour.MYSQL, "--lc-messages-dir=/a/share"),
        ("10.11.6", Flavour.MARIADB, "--lc-messages-dir=/a/share"),
    ],
)
def test_the_command_line_follows_the_version(version: str, flavour: Flavour, messages: str) -> None:
    installation = Installation(Path("/a"), Version.parse(version), flavour, modern=False)
    words = installation.command(Path("/d"), Path("/t"), ["--last"])
    assert words[:2] == ("/a/mysqld", "--no-defaults")
    assert messages in words


def test_no_option_overrides_where_the_files_are_or_who_can_connect() -> None:
    installation = Installation(Path("/a"), Version.parse("8.0.39"), Flavour.MYSQL, modern=True)
    given = ["--skip-networking=0", "--datadir=/x", "--tmpdir=/x", "--secure-file-priv=/x", "--plugin-dir=/x",
             "--mysqlx=1", "--basedir=/x", "--lc-messages-dir=/x", "--character-sets-dir=/x", "--user=x"]  # fmt: skip
    words = installation.command(Path("/d"), Path("/t"), given)
    last = {word.removeprefix("--").removeprefix("loose-").partition("=")[0]: word for word in words[1:]}
    assert not set(last.values()) & set(given if os.geteuid() == 0 else given[:-1])
    assert last["mysqlx"] == "--loose-mysqlx=0"


def test_a_running_server_keeps_to_itself_whatever_it_is_given(prepared: _Prepared, tmp_path: Path) -> None:
    given = ("--skip-networking=0", "--bind-address=127.0.0.1", "--port=0", f"--sock={tmp_path}/s",
             f"--secure-file-priv={tmp_path}", f"--plugin-d={tmp_path}", f"--tmpdir={tmp_path}",
             f"--datad={tmp_path}", "--skip-grant-tables=0")  # fmt: skip
    with _start(prepared, *given) as server:
        variables = server.variables()
        inodes = {link.readlink().name for link in Path(f"/proc/{server.pid}/fd").iterdir() if link.is_symlink()}
        listening = [
            line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
        ]
    assert variables["skip_networking"] == "ON"
    assert variables["socket"] == str(prepared.place.socket)
    assert variables["datadir"].rstrip("/") == str(prepared.place.data)
    assert variables["tmpdir"] == str(prepared.place.temporary)
    assert variables["secure_file_priv"].rstrip("/") == str(prepared.place.temporary)
    assert str(tmp_path) not in variables["plugin_dir"]
    assert not {f"socket:[{line[9]}]" for line in listening if line[3] == "0A"} & inodes


def test_how_data_is_made_follows_what_the_server_knows(tmp_path: Path) -> None:
    for knows, given in ((True, "--initialize-insecure"), (False, "--bootstrap")):
        artifact = link_artifact(tmp_path / f"artifact-{knows}")
        (artifact / "mysqld").unlink()
        (artifact / "mysqld").write_text(f'#!/bin/sh\n[ $# = 2 ] || echo "$@"\nexit $(($# - 2)) # {given}\n')
        (artifact / "mysqld").chmod(0o755)
        place = Place.below(tmp_path / str(knows), tmp_path, "one")
        installation = Installation.find(artifact, Version.parse("5.7.6"))
        with pytest.raises(ProbeError, match=given):
            initialise(installation, place, ())


def test_sockets_stay_short_however_deep_the_scratch_directory_is(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    with short_directory(deep) as outside:
        place = Place.below(deep, outside, "count")
        assert len(str(place.socket)) < 108
        assert outside.is_dir()
    assert not outside.exists()
    with short_directory(Path("/tmp")) as inside:
        assert inside == Path("/tmp/run")
    inside.rmdir()


def test_the_environment_is_the_same_for_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_HOST", "elsewhere")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    found = environment(tmp_path)
    assert "MYSQL_HOST" not in found
    assert (found["LC_ALL"], found["TMPDIR"]) == ("C", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "it printed nothing"),
        ("one\n\n two \n", "two"),
        ("[Note] starting\n[ERROR] InnoDB: no space\nAborting\n", "[ERROR] InnoDB: no space"),
        ("[Warning] unknown variable 'loose-x=1'\n11:00:00 UTC - mysqld got signal 11 ;\nThis could be\n", "signal 11"),
        ("mysqld: error while loading shared libraries: libx.so\n", "error while loading shared libraries"),
    ],
)
def test_the_telling_line(text: str, line: str) -> None:
    assert line in telling_line(text)
