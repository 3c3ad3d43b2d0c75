"""Address randomisation, off for every probe: counts would vary with hash tables keyed by pointers, and with RocksDB's
skip lists, which are seeded with a thread's address (their heights decide where a level-0 file ends)."""

from functools import cache

from cpubisect.base.process import run


@cache
def fixed_addresses() -> tuple[str, ...]:
    """The command prefix that switches address randomisation off, or nothing where the host forbids that, as many
    containers do."""
    prefix = ("setarch", "-R")
    return prefix if run([*prefix, "true"], timeout_s=30).ok else ()


OWN_HEAPS = {"MALLOC_ARENA_MAX": "4096"}
"""The variable that gives each thread of a process a heap of its own. By default glibc has eight for each core: where
there are more threads, it depends on who comes first which of them share one, and so what allocating costs."""
