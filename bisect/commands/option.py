"""Options that several commands have, each with one name, one meaning and one help."""

import os
from pathlib import Path

import click

from cpubisect.commands.shared import MOST_JOBS, WISHES, file, something

repository = click.option(
    "--repo", callback=something, help="Path or URL of the repository [default: a public one per engine, cloned once]."
)
engine = click.option("--engine", help="mysql, rocksdb, … [default: told by the repository or the test].")
unsafe_settings = click.option(
    "--unsafe-settings",
    is_flag=True,
    help="Let --set set what it refuses by name: options about network, files, plugins, logging, users and the like.",
)
rows = click.option("--rows", type=click.IntRange(1), help="Rows or keys of the data; same as --set rows=N.")
defaults = click.option("--defaults", type=click.Choice(["pinned", "server"]),
              help="MySQL: one set of settings for all servers, or each server's own [default: pinned].")  # fmt: skip
toolchain = click.option(
    "--toolchain", help="Build everything with this one, e.g. gcc-12 [default: the matrix chooses]."
)
matrix = click.option("--matrix", type=click.Path(path_type=Path), help="Your own compiler-matrix.yaml.")
jobs = click.option(
    "--jobs", type=click.IntRange(1, MOST_JOBS), default=lambda: os.cpu_count() or 1, help="Compile so many at once."
)
sandbox = click.option(
    "--sandbox", type=click.Choice(WISHES), default="auto", show_default=True,
    help="Build and measure in a sandbox: where it works, or not without one, or without one.",
)  # fmt: skip
output = click.option(
    "--output", callback=file, metavar="FILE",
    help="Write there instead of to standard output; below a directory, a name is chosen.",
)  # fmt: skip
quiet = click.option("--quiet", is_flag=True, help="No progress on standard error.")
