"""Which flags of db_bench a user may set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.workloads.db_bench_command import accepts
from cpubisect.workloads.db_bench_flags import refusal
from cpubisect.workloads.db_bench_tests import TESTS

# Those of db_bench 4.0 to 10 that take a path, an address or the name of a file.
_REFUSED = [
    "backup_dir", "block_cache_trace_file", "cache_uri", "env_uri", "flashcache_dev", "fs_uri", "hdfs",
    "leader_path", "open_as_follower", "options_file", "read_cache_path", "report_file",
    "report_file_operations", "restore_dir", "secondary_cache_uri", "secondary_path", "simulate_hybrid_fs_file",
    "trace_file", "truth_db", "use_secondary_db", "wal_dir", "flagfile", "fromenv", "tryfromenv", "help",
    "version",
]  # fmt: skip
_HARMLESS = [
    "write_buffer_size", "target_file_size_base", "target_file_size_multiplier", "blob_file_size",
    "enable_blob_files", "open_files", "open_files_async", "file_opening_threads", "max_manifest_file_size",
    "level0_file_num_compaction_trigger", "mmap_read", "use_direct_reads", "report_open_timing",
    "stats_dump_period_sec", "dump_malloc_stats", "block_size", "cache_size", "bloom_bits", "compression_type",
    "memtablerep", "delete_obsolete_files_period_micros", "log_readahead_size", "trace_replay_threads",
]  # fmt: skip


@pytest.mark.parametrize("flag", _REFUSED)
@pytest.mark.parametrize("form", ["{}", "run.{}", "load.{}", "no{}", "run.no{}"])
def test_what_names_a_place_is_refused_however_it_is_written(flag: str, form: str) -> None:
    assert refusal(form.format(flag))


@pytest.mark.parametrize("flag", _HARMLESS)
@pytest.mark.parametrize("form", ["{}", "run.{}", "load.{}"])
def test_numbers_and_switches_may_be_set(flag: str, form: str) -> None:
    assert refusal(form.format(flag)) == ""


@given(
    st.lists(st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True), min_size=1, max_size=4),
    st.sampled_from(["dir", "uri", "path"]),
)
def test_flags_that_are_not_known_are_told_by_their_last_word(words: list[str], last: str) -> None:
    assert refusal("_".join([*words, last]))


def test_what_the_tests_set_themselves_is_harmless() -> None:
    for test in TESTS:
        assert [name for name in test.parameters if refusal(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "db",
        "use_existing_db",
        "nouse_existing_db",
        "run.nouse_existing_db",
        "benchmarks",
        "undefok",
        "num",
        "a-b",
        "DB",
    ],
)
def test_what_the_probe_sets_itself_is_no_parameter(name: str) -> None:
    assert not accepts(TESTS[0], name)
