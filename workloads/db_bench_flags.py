"""PURE: which flags of db_bench a user may set, told by the words that their names are made of."""

import re

_SAFE = re.compile(
    r"(target|blob|blob_db|max_manifest)_file_size\w*|blob_file_\w+|(ingest_external_file_)?file_opening_threads|"
    r"file_checksum|level0_file_num_compaction_trigger|num_file_reads_for_auto_readahead|charge_file_metadata|"
    r"ingest_external_file_(batch_size|fill_cache|num_batches|prefetch_\w+|use_file_info)|universal_reduce_file_locking|"
    r"fifo_compaction_max_(data|table)_files_size_mb|enable_blob_files|open_files(_async)?|max_open_files|"
    r"delete_obsolete_files_period_micros|report_bg_io_stats|report_open_timing|report_interval_seconds|"
    r"log_readahead_size|trace_replay_(threads|fast_forward)|block_cache_trace_(sampling_frequency|max_trace_file_size\w*)|"
    r"use_stderr_info_logger|stats_dump_period_sec|dump_malloc_stats|use_cache_jemalloc_no_dump_allocator|"
    r"writable_file_max_buffer_size|use_uint64_comparator"
)
"""Flags with such words that name nothing: numbers and switches."""

_TOPICS = {
    "files": "dir dirs directory file files filename path paths trace report log logs dev export dump uri",
    "plugins": "plugin plugins library lib object comparator customizable",
    "the network": "hdfs env host port address url server rpc zookeeper leader follower",
    "where flags come from": "flagfile fromenv tryfromenv undefok helpmatch helpon tab",
}
_WORDS = {word: topic for topic, words in _TOPICS.items() for word in words.split()}
"""What a flag is about in whose name such a word is: `env_uri` and `fs_uri` say where all files are."""

_WHOLE = {
    "truth_db": "files",
    "use_secondary_db": "files",
    "help": "where flags come from",
    "version": "where flags come from",
}
"""Flags whose words do not tell."""


def refusal(parameter: str) -> str:
    """Why a user may not set a flag, `NAME`, `load.NAME` or `run.NAME`; empty for a harmless one.

    gflags takes no abbreviations; `noNAME` is `NAME=false`.
    """
    name = parameter.rpartition(".")[2].lower()
    for form in (name, name.removeprefix("no")):
        if _SAFE.fullmatch(form):
            return ""
        if form in _WHOLE:
            return f"is about {_WHOLE[form]}"
        if topics := [_WORDS[word] for word in form.split("_") if word in _WORDS]:
            return f"is about {topics[-1]}"
    return ""
