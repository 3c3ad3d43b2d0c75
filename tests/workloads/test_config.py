"""The settings file and which of it a server is given."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.version import Version
from cpubisect.workloads.mysql.settings import Flavour, option_words, pinned, settings, sizes

_VERSIONS = st.tuples(st.integers(4, 12), st.integers(0, 9), st.integers(0, 60)).map(Version)
_RELEASES = ["5.0.96", "5.1.73", "5.5.8", "5.5.62", "5.6.10", "5.6.51", "5.7.18", "8.0.11", "8.0.39", "8.4.3", "9.5.0"]


_NO_LONGER_FROM = {
    ("ssl", Flavour.MYSQL): "8.4",
    ("query_cache_type", Flavour.MYSQL): "8.0.3",
    ("query_cache_size", Flavour.MYSQL): "8.0.3",
    ("innodb_log_file_size", Flavour.MYSQL): "8.0.30",
    ("innodb_log_files_in_group", Flavour.MYSQL): "8.0.30",
    ("innodb_buffer_pool_instances", Flavour.MARIADB): "10.5",
    ("innodb_page_cleaners", Flavour.MARIADB): "10.5",
    ("innodb_log_file_size", Flavour.MARIADB): "10.5",
    ("innodb_log_files_in_group", Flavour.MARIADB): "10.5",
    ("innodb_change_buffering", Flavour.MARIADB): "11.0",
    ("innodb_change_buffer_max_size", Flavour.MARIADB): "11.0",
    ("innodb_flush_method", Flavour.MARIADB): "11.0",
}
"""The first release that is not given a setting any more; every other setting, once given, is given for good."""

_EVERY_RELEASE = [
    *(Version((major, minor, patch)) for major, minor, patch in product((5, 8, 9, 10, 11, 12), range(12), range(100))),
    *(Version((major, minor)) for major, minor in product((5, 8, 9, 10, 11), range(12))),
    *map(Version.parse, ("8.0.2.9", "8.0.29.1", "8.3.0.1", "10.4.34.7")),
]


def test_a_setting_is_given_from_its_low_end_to_the_last_release_before_it_went() -> None:
    ended = set()
    for one in settings():
        for flavour, given_to in ((Flavour.MYSQL, one.mysql), (Flavour.MARIADB, one.mariadb)):
            if given_to is None:
                continue
            until = None
            if given_to.high is not None:
                until = Version.parse(_NO_LONGER_FROM[one.name, flavour])
                ended.add((one.name, flavour))
            for version in _EVERY_RELEASE:
                begun = given_to.low is None or given_to.low <= version
                expected = begun and (until is None or version < until)
                assert one.applies(flavour, version) == expected, (one.name, flavour, version)
    assert ended == _NO_LONGER_FROM.keys()


def test_every_setting_says_why_and_for_whom() -> None:
    for one in settings():
        assert one.why
        assert one.mysql or one.mariadb


@pytest.mark.parametrize("flavour", Flavour)
@given(version=_VERSIONS)
def test_no_version_is_given_a_setting_twice(flavour: Flavour, version: Version) -> None:
    names = [one.name for one in settings() if one.applies(flavour, version)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("release", _RELEASES)
def test_what_changed_its_default_is_pinned_in_every_release(release: str) -> None:
    chosen = pinned(Flavour.MYSQL, Version.parse(release))
    assert chosen["character_set_server"] == "latin1"
    assert chosen["sync_binlog"] == "0"
    assert chosen["innodb_flush_log_at_trx_commit"] == "2"
    assert chosen["innodb_adaptive_hash_index"] == "0"
    assert chosen["sql_mode"] == "NO_ENGINE_SUBSTITUTION"


@pytest.mark.parametrize(
    ("name", "releases"),
    [
        ("performance_schema", ["5.5.8", "5.6.51", "5.7.18", "8.0.39", "9.5.0"]),
        ("eq_range_index_dive_limit", ["5.6.10", "5.7.18", "8.0.11", "9.5.0"]),
        ("innodb_checksum_algorithm", ["5.6.10", "5.7.18", "8.4.3"]),
        ("innodb_log_writer_threads", ["8.0.39", "8.4.3", "9.5.0"]),
        ("innodb_redo_log_capacity", ["8.0.39", "9.5.0"]),
        ("skip_log_bin", ["8.0.11", "8.0.39", "9.5.0"]),
        ("gtid_mode", ["5.6.10", "9.5.0"]),
        ("query_cache_size", ["5.0.96", "5.7.18"]),
        ("ssl", ["5.7.18", "8.0.39"]),
    ],
)
def test_given_where_it_exists(name: str, releases: list[str]) -> None:
    for release in releases:
        assert name in pinned(Flavour.MYSQL, Version.parse(release)), release


@pytest.mark.parametrize(
    ("name", "releases"),
    [
        ("performance_schema", ["5.0.96", "5.1.73"]),
        ("query_cache_size", ["8.0.11", "8.0.39", "9.5.0"]),
        ("innodb_log_file_size", ["8.0.39", "9.5.0"]),
        ("innodb_redo_log_capacity", ["5.6.51", "8.0.11"]),
        ("ssl", ["5.6.51", "8.4.3"]),
        ("skip_log_bin", ["5.7.18"]),
        ("gtid_mode", ["5.5.62"]),
        ("binlog_format", ["5.1.73"]),
    ],
)
def test_not_given_where_it_does_not(name: str, releases: list[str]) -> None:
    for release in releases:
        assert name not in pinned(Flavour.MYSQL, Version.parse(release)), release


def test_values_are_those_that_the_oldest_servers_understand() -> None:
    for value in pinned(Flavour.MYSQL, Version.parse("5.0.96")).values():
        assert value not in ("ON", "OFF", "TRUE", "FALSE")


def test_a_server_with_its_own_defaults_is_given_only_what_it_needs() -> None:
    version = Version.parse("8.0.39")
    own = pinned(Flavour.MYSQL, version, fair=False)
    assert own.keys() < pinned(Flavour.MYSQL, version).keys()
    assert "character_set_server" not in own
    assert own["mysqlx"] == "0"


def test_fair_options_are_lenient_and_the_users_are_strict() -> None:
    words = option_words({"a_b": "1", "bare": None, "kept": ""}, {"a-b": "2", "skip-x": ""})
    assert words == ("--loose-bare", "--loose-kept=", "--a-b=2", "--skip-x")


@given(rows=st.integers(1, 10**8), tables=st.integers(1, 8))
def test_the_pool_holds_the_data_several_times(rows: int, tables: int) -> None:
    pool = int(sizes(Flavour.MYSQL, rows, tables)["innodb_buffer_pool_size"] or "")
    assert pool % (128 << 20) == 0
    assert max(256 << 20, rows * tables * 1024) <= pool < max(256 << 20, rows * tables * 1024) + (128 << 20)
