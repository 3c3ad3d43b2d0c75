"""Builds and probes on other hosts: Dask.distributed behind the interface of `run/bench/orders`. Nothing here is
imported by who works on one host."""
