"""The named tests of db_bench and of engines with a driver like it, with their defaults; cost is per operation."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from cpubisect.workloads.db_bench_command import Shape, Unit
from cpubisect.workloads.probe import Test
from cpubisect.workloads.repeatability import spread_percent

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
_NO_FLUSH = {"run.write_buffer_size": "268435456"}


class _Entry(NamedTuple):
    """A row of the catalogue; `own` are its parameters beside those of `base`."""

    name: str
    shape: Shape
    group: str
    summary: str
    base: Mapping[str, str]
    own: Mapping[str, str]

    def test(self, engine: str) -> Test:
        writes = self.shape.unit is Unit.WRITES or self.shape.background
        parameters = MappingProxyType({**self.base, **self.own})
        spread = spread_percent(engine, self.name)
        return Test(self.name, engine, self.group, self.summary, writes, parameters, spread)


def _ops(instructions: str, clock: str) -> dict[str, str]:
    return {"instructions_ops": instructions, "clock_ops": clock}


_CATALOGUE = (
    _Entry(
        "readrandom", Shape("readrandom", Unit.READS), _POINT, "get a random key",
        _LOADED, _ops("10000,40000", "40000,400000"),
    ),
    _Entry(
        "multireadrandom", Shape("multireadrandom", Unit.READS), _POINT,
        "get ten random keys in one call (cost is per key)",
        _LOADED, {**_ops("10000,40000", "40000,400000"), "batch_size": "10", "multiread_batched": "true"},
    ),
    _Entry(
        "seekrandom", Shape("seekrandom", Unit.READS), _RANGE, "new iterator, seek to a random key, ten nexts",
        _LOADED, {**_ops("2000,8000", "4000,40000"), "seek_nexts": "10"},
    ),
    _Entry(
        "fwdrange", Shape("seekrandom", Unit.READS), _RANGE, "new iterator, seek to a random key, a hundred nexts",
        _LOADED, {**_ops("1000,4000", "2000,20000"), "seek_nexts": "100"},
    ),
    _Entry(
        "revrange", Shape("seekrandom", Unit.READS), _RANGE, "new iterator, seek to a random key, a hundred prevs",
        _LOADED, {**_ops("1000,4000", "2000,20000"), "seek_nexts": "100", "reverse_iterator": "true"},
    ),
    _Entry(
        "readseq", Shape("readseq", Unit.PASSES), _RANGE, "read all rows in key order (cost is per row)",
        _LOADED, _ops("20000,400000", "200000,4000000"),
    ),
    _Entry(
        "readwhilewriting", Shape("readwhilewriting", Unit.READS, background=True), _POINT,
        "get a random key while another thread overwrites random keys",
        _LOADED, {**_ops("10000,40000", "40000,400000"), "background_writes": "5", **_NO_FLUSH},
    ),
    _Entry(
        "seekrandomwhilewriting", Shape("seekrandomwhilewriting", Unit.READS, background=True), _RANGE,
        "seek and ten nexts while another thread overwrites random keys",
        _LOADED, {**_ops("2000,8000", "4000,40000"), "background_writes": "5", "seek_nexts": "10", **_NO_FLUSH},
    ),
    _Entry(
        "fwdrangewhilewriting", Shape("seekrandomwhilewriting", Unit.READS, background=True), _RANGE,
        "what seekrandomwhilewriting does, by the name that benchmark.sh has for it",
        _LOADED, {**_ops("2000,8000", "4000,40000"), "background_writes": "5", "seek_nexts": "10", **_NO_FLUSH},
    ),
    _Entry(
        "revrangewhilewriting", Shape("seekrandomwhilewriting", Unit.READS, background=True), _RANGE,
        "seek and ten prevs while another thread overwrites random keys",
        _LOADED, {
            **_ops("2000,8000", "4000,40000"), "background_writes": "5", "seek_nexts": "10",
            "reverse_iterator": "true", **_NO_FLUSH,
        },
    ),
    _Entry(
        "fillseq", Shape("fillseq", Unit.WRITES), _WRITE, "put keys in order into an empty database, without log",
        _EMPTY, _ops("10000,70000", "10000,100000"),
    ),
    _Entry(
        "fillseq-vector", Shape("fillseq", Unit.WRITES), _WRITE,
        "put keys in order into an empty database whose memtable is a vector, without log",
        _EMPTY, {
            **_ops("10000,70000", "10000,100000"),
            "memtablerep": "vector", "allow_concurrent_memtable_write": "false",
        },
    ),
    _Entry(
        "fillrandom", Shape("fillrandom", Unit.WRITES), _WRITE, "put random keys into an empty database, without log",
        _EMPTY, _ops("10000,70000", "10000,100000"),
    ),
    _Entry(
        "overwrite", Shape("overwrite", Unit.WRITES), _WRITE, "overwrite random keys, with log",
        _LOADED, {**_ops("10000,40000", "10000,100000"), **_NO_FLUSH},
    ),
    _Entry(
        "overwritesome", Shape("overwrite", Unit.WRITES), _WRITE,
        "overwrite the first tenth of the keys of a database that was just filled, with log",
        _LOADED, {
            **_ops("2500,10000", "2500,10000"), "rows": "100000", "load": "filluniquerandom,compact", **_NO_FLUSH,
        },
    ),
    _Entry(
        "overwriteandwait", Shape("overwrite", Unit.WRITES, then="compact"), _WRITE,
        "overwrite random keys, with log, then flush and compact them (cost of both)",
        _LOADED, {**_ops("10000,40000", "10000,100000"), **_NO_FLUSH},
    ),
    _Entry(
        "mergerandom", Shape("mergerandom", Unit.WRITES), _WRITE,
        "merge into random keys of an empty database, without log",
        _EMPTY, {**_ops("10000,40000", "10000,100000"), "merge_operator": "put", "merge_keys": "10000"},
    ),
)  # fmt: skip

SHAPES: Mapping[str, Shape] = MappingProxyType({entry.name: entry.shape for entry in _CATALOGUE})


# minikv's driver has no multi-get, no reverse iterator and one kind of memtable; the others are much like tests it has.
_NOT_MINIKV = frozenset(
    (
        "multireadrandom",
        "revrange",
        "fwdrangewhilewriting",
        "revrangewhilewriting",
        "fillseq-vector",
        "overwritesome",
        "overwriteandwait",
    )
)

_SHRUNK_BY = {"rows": 10, "instructions_ops": 10, "clock_ops": 4}


def _small(test: Test) -> Test:
    """The same test on less data and with fewer operations: minikv is there to be tried, and loses nothing by it."""
    small = {
        name: ",".join(str(int(part) // divisor) for part in test.parameters[name].split(","))
        for name, divisor in _SHRUNK_BY.items()
    }
    return replace(test, parameters=MappingProxyType({**test.parameters, **small}))


TESTS: tuple[Test, ...] = (
    *(entry.test("rocksdb") for entry in _CATALOGUE),
    *(_small(entry.test("minikv")) for entry in _CATALOGUE if entry.name not in _NOT_MINIKV),
)
