"""Which options of a server a user may set: by full names known to be harmless, however they are written."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mariadb_artifact import server_binary

from cpubisect.base.process import run
from cpubisect.workloads.mysql.options import is_dangerous, known_options, refusal
from cpubisect.workloads.mysql.settings import settings

_KNOWN = known_options()
_REFUSED = st.sampled_from(sorted(_KNOWN.refused))
_HARMLESS = st.sampled_from(sorted(_KNOWN.harmless))
_PREFIXES = st.lists(st.sampled_from(["loose", "skip", "enable", "disable", "maximum"]), max_size=3)
_OLDER = {
    "innodb_change_buffering": "innodb_change_buffering_debug",
    "innodb_doublewrite": "innodb_doublewrite_dir",
    "server_id": "server_id_bits",
}
"""Harmless names that a refused one begins with: there is no server with the latter and without the former."""


def _respelt(draw: st.DrawFn, name: str) -> str:
    """With `-` for some `_`, and some of what a server drops before it."""
    name = "_".join([*draw(_PREFIXES), name])
    return "".join(draw(st.sampled_from("-_")) if letter == "_" else letter for letter in name)


@st.composite
def _spellings_of_refused(draw: st.DrawFn) -> str:
    """A refused option in any of the ways that a server takes it in, abbreviated too."""
    full = draw(_REFUSED)
    short = full[: draw(st.integers(1, len(full)))]
    return _respelt(draw, full if _KNOWN.is_harmless(short) else short)


@st.composite
def _spellings_of_harmless(draw: st.DrawFn) -> str:
    return _respelt(draw, draw(_HARMLESS))


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("skip_networking", "is about the network"),
        ("skip-networking", "is about the network"),
        ("networking", "is about the network"),
        ("enable_networking", "is about the network"),
        ("loose_skip_networking", "is about the network"),
        ("skip-netw", "can stand for skip_networking, which is about the network"),
        ("bind_address", "is about the network"),
        ("bind-addr", "can stand for bind_address"),
        ("bind", "can stand for bind_address"),
        ("loose-maximum-port", "is about the network"),
        ("mysqlx", "is about the network"),
        ("mysqlx_port", "is about the network"),
        ("socket", "is about the network"),
        ("report_host", "is about the network"),
        ("secure_file_priv", "is about files"),
        ("secure-f", "is about files"),
        ("innodb_data_h", "can stand for innodb_data_home_dir, which is about files"),
        ("datadir", "is about files"),
        ("tmp", "can stand for tmpdir"),
        ("lc_messages", "is about files"),
        ("pid-file", "is about files"),
        ("plugin_dir", "is about plugins"),
        ("plugin_load_add", "is about plugins"),
        ("early-plugin-load", "is about plugins"),
        ("early", "can stand for early_plugin_load"),
        ("general_log_file", "is about logging"),
        ("log_bin", "is about logging"),
        ("general-log-f", "can stand for general_log_file, which is about logging"),
        ("general_log", "is about logging"),
        ("slow_query_log_file", "is about logging"),
        ("log", "is about logging"),
        ("init_file", "is about how the server starts"),
        ("init_connect", "is about how the server starts"),
        ("defaults_extra_file", "is about files"),
        ("skip_grant_tables", "is about users and their rights"),
        ("user", "is about users and their rights"),
        ("chroot", "is about users and their rights"),
        ("u", "can stand for"),
        ("Bind_Address", "is about the network"),
        ("JOIN_BUFFER_SIZE", "no server variable known to be harmless"),
        ("join_buffer", "no server variable known to be harmless (did you mean join_buffer_size"),
        ("no_such_option", "no server variable known to be harmless"),
        ("inodb_doublewrite", "did you mean innodb_doublewrite"),
        ("", "no server variable"),
        ("-", "no server variable"),
        ("loose_", "no server variable"),
        ("--port", "no server variable"),
        ("port\n", "no server variable"),
        ("ünicode", "no server variable"),
    ],
)
def test_what_is_not_known_to_be_harmless_is_refused(option: str, says: str) -> None:
    assert says in refusal(option)


@pytest.mark.parametrize(
    "option",
    [
        "innodb_adaptive_hash_index", "innodb-adaptive-hash-index", "loose_innodb_adaptive_hash_index",
        "skip_innodb_adaptive_hash_index", "maximum-join-buffer-size", "innodb_log_file_size", "innodb_file_per_table",
        "performance_schema_max_file_handles", "optimizer_switch", "query_cache_size", "skip_log_bin", "binlog_format",
        "innodb_flush_method", "sql_mode", "key_buffer_size", "thread_pool_size",
    ],
)  # fmt: skip
def test_what_only_changes_what_is_measured_may_be_set(option: str) -> None:
    assert refusal(option) == ""
    assert not is_dangerous(option)


@given(_spellings_of_refused())
def test_no_spelling_of_a_refused_option_gets_through(option: str) -> None:
    # The one option that begins like a prefix: it only switches logging off.
    assume(not option.replace("-", "_").endswith("skip_log_bin"))
    assert refusal(option)


@given(_spellings_of_harmless())
def test_every_spelling_of_a_harmless_option_gets_through(option: str) -> None:
    assert refusal(option) == ""


@given(st.text())
def test_whatever_is_asked_has_an_answer(option: str) -> None:
    assert not (is_dangerous(option) and refusal(option) == "")


def test_no_server_can_take_a_harmless_name_for_a_refused_one() -> None:
    for harmless in _KNOWN.harmless:
        longer = {full for full in _KNOWN.refused if full.startswith(harmless)}
        assert longer <= {_OLDER.get(harmless)}, harmless
    for family in _KNOWN.families:
        assert not [full for full in _KNOWN.refused if full.startswith(family) or family.startswith(full)]


def test_the_lists_have_nothing_in_common_and_names_as_they_are_compared() -> None:
    assert not _KNOWN.harmless & _KNOWN.refused.keys()
    for name in (*_KNOWN.harmless, *_KNOWN.families, *_KNOWN.refused):
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), name


_TELLING = re.compile(
    r"(^|_)(dir|dirs|directory|path|paths|file|filename|socket|port|host|address|user|password|plugin|url)$"
)


def test_no_harmless_name_ends_like_one_of_a_file_or_an_address() -> None:
    assert [name for name in _KNOWN.harmless if _TELLING.search(name)] == []


def test_what_a_server_itself_lists_with_such_an_ending_is_refused() -> None:
    printed = run([server_binary(), "--no-defaults", "--verbose", "--help"], timeout_s=60).output
    names = set(re.findall(r"^\s*(?:-\w, )?--([a-z][\w-]+)", printed, re.MULTILINE))
    telling = [name for name in names if _TELLING.search(name.replace("-", "_"))]
    assert len(telling) > 20
    assert [name for name in telling if not refusal(name)] == []


def test_every_setting_that_we_make_is_harmless_or_ours_alone() -> None:
    ours = {one.name for one in settings() if refusal(one.name)}
    assert ours == {
        "mysqlx", "ssl", "auto_generate_certs", "sha256_password_auto_generate_rsa_keys",
        "caching_sha2_password_auto_generate_rsa_keys",
    }  # fmt: skip
