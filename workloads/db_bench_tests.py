"""The named tests of db_bench and of engines with a driver like it, with their defaults; cost is per operation."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from cpubisect.workloads.db_bench_command import Shape, Unit
from cpubisect.workloads.probe import Test

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "readrandom": Shape("readrandom", Unit.READS),
        "multireadrandom": Shape("multireadrandom", Unit.READS),
        "seekrandom": Shape("seekrandom", Unit.READS),
        "fwdrange": Shape("seekrandom", Unit.READS),
        "revrange": Shape("seekrandom", Unit.READS),
        "readseq": Shape("readseq", Unit.PASSES),
        "readwhilewriting": Shape("readwhilewriting", Unit.READS, background=True),
        "seekrandomwhilewriting": Shape("seekrandomwhilewriting", Unit.READS, background=True),
        "fillseq": Shape("fillseq", Unit.WRITES),
        "fillrandom": Shape("fillrandom", Unit.WRITES),
        "overwrite": Shape("overwrite", Unit.WRITES),
        "mergerandom": Shape("mergerandom", Unit.WRITES),
    }
)

# db_bench changed its own default of some of these between versions (cache_size: 8 MiB, then 32 MiB). One cache shard,
# because keys spread over shards by a random id of the database, which moves the heap by 0.03 % of a seek; one thread
# that opens files, because several race for the heap.
_COMMON = {
    "rows": "20000",
    "clients": "1",
    "repeats": "3",
    "seed": "1",
    "key_size": "16",
    "value_size": "1024",
    "write_buffer_size": "524288",
    "target_file_size_base": "524288",
    "max_bytes_for_level_base": "4194304",
    "level_compaction_dynamic_level_bytes": "false",
    "disable_auto_compactions": "true",
    "level0_slowdown_writes_trigger": "1000",
    "level0_stop_writes_trigger": "1000",
    "compression_type": "none",
    "bloom_bits": "10",
    "block_size": "4096",
    "cache_size": "67108864",
    "cache_numshardbits": "0",
    "open_files": "-1",
    "file_opening_threads": "1",
    "subcompactions": "1",
    "stats_dump_period_sec": "0",
    "stats_persist_period_sec": "0",
    "load.write_buffer_size": "1073741824",
}
_LOADED = {**_COMMON, "load": "filluniquerandom,compact,overwrite:2000"}
# A memtable that never fills while measuring, without a log: each write is flushed exactly once, at the close.
_EMPTY = {
    **{name: value for name, value in _COMMON.items() if not name.startswith("load.")},
    "load": "",
    "rows": "100000",
    "value_size": "400",
    "key_size": "20",
    "write_buffer_size": "268435456",
    "disable_wal": "true",
}
_POINT, _RANGE, _WRITE = "point queries", "range queries", "writes"


def _tests(engine: str) -> Iterator[Test]:
    def test(name: str, group: str, summary: str, base: Mapping[str, str], writes: bool = False, **own: str) -> Test:
        parameters = {**base, **{key.replace("__", "."): value for key, value in own.items()}}
        return Test(name, engine, group, summary, writes, MappingProxyType(parameters))

    yield test(
        "readrandom",
        _POINT,
        "get a random key",
        _LOADED,
        instructions_ops="10000,40000",
        clock_ops="40000,400000",
    )
    yield test(
        "multireadrandom",
        _POINT,
        "get ten random keys in one call (cost is per key)",
        _LOADED,
        instructions_ops="10000,40000",
        clock_ops="40000,400000",
        batch_size="10",
        multiread_batched="true",
    )
    yield test(
        "seekrandom",
        _RANGE,
        "new iterator, seek to a random key, ten nexts",
        _LOADED,
        instructions_ops="2000,8000",
        clock_ops="4000,40000",
        seek_nexts="10",
    )
    yield test(
        "fwdrange",
        _RANGE,
        "new iterator, seek to a random key, a hundred nexts",
        _LOADED,
        instructions_ops="1000,4000",
        clock_ops="2000,20000",
        seek_nexts="100",
    )
    yield test(
        "revrange",
        _RANGE,
        "new iterator, seek to a random key, a hundred prevs",
        _LOADED,
        instructions_ops="1000,4000",
        clock_ops="2000,20000",
        seek_nexts="100",
        reverse_iterator="true",
    )
    yield test(
        "readseq",
        _RANGE,
        "read all rows in key order (cost is per row)",
        _LOADED,
        instructions_ops="20000,200000",
        clock_ops="200000,4000000",
    )
    yield test(
        "readwhilewriting",
        _POINT,
        "get a random key while another thread overwrites random keys",
        _LOADED,
        writes=True,
        instructions_ops="10000,40000",
        clock_ops="40000,400000",
        background_writes="5",
        run__write_buffer_size="268435456",
    )
    yield test(
        "seekrandomwhilewriting",
        _RANGE,
        "seek and ten nexts while another thread overwrites random keys",
        _LOADED,
        writes=True,
        instructions_ops="2000,8000",
        clock_ops="4000,40000",
        background_writes="5",
        seek_nexts="10",
        run__write_buffer_size="268435456",
    )
    yield test(
        "fillseq",
        _WRITE,
        "put keys in order into an empty database, without log",
        _EMPTY,
        writes=True,
        instructions_ops="10000,70000",
        clock_ops="10000,100000",
    )
    yield test(
        "fillrandom",
        _WRITE,
        "put random keys into an empty database, without log",
        _EMPTY,
        writes=True,
        instructions_ops="10000,70000",
        clock_ops="10000,100000",
    )
    yield test(
        "overwrite",
        _WRITE,
        "overwrite random keys, with log",
        _LOADED,
        writes=True,
        instructions_ops="10000,40000",
        clock_ops="10000,100000",
        run__write_buffer_size="268435456",
    )
    yield test(
        "mergerandom",
        _WRITE,
        "merge into random keys of an empty database, without log",
        _EMPTY,
        writes=True,
        instructions_ops="10000,40000",
        clock_ops="10000,100000",
        merge_operator="put",
        merge_keys="10000",
    )


# minikv's driver has no multi-get and no reverse iterator.
_NOT_MINIKV = frozenset(("multireadrandom", "revrange"))

_SHRUNK_BY = {"rows": 10, "instructions_ops": 10, "clock_ops": 4}


def _small(test: Test) -> Test:
    """The same test on less data and with fewer operations: minikv is there to be tried, and loses nothing by it."""
    small = {
        name: ",".join(str(int(part) // divisor) for part in test.parameters[name].split(","))
        for name, divisor in _SHRUNK_BY.items()
    }
    return replace(test, parameters=MappingProxyType({**test.parameters, **small}))


TESTS: tuple[Test, ...] = (
    *_tests("rocksdb"),
    *(_small(test) for test in _tests("minikv") if test.name not in _NOT_MINIKV),
)
