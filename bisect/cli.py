"""The command line: `bisect` and its commands.

What a command needs is imported within it: most of it takes longer to load than `bisect list` may take.
"""

import click

from cpubisect.commands import bisecting, comparing, host, posting, serving, showing
from cpubisect.commands.cluster import cluster_group
from cpubisect.commands.shared import Commands
from cpubisect.commands.store import store_group


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cpubisect")
def main() -> None:
    """Find the commit that made a MySQL or RocksDB query cost more CPU.

    \b
    Examples:
      bisect doctor
      bisect start 5.6.51 5.7.44 --test point-query
      bisect start v8.5.3 v8.8.1 --test seekrandom --repo ~/rocksdb
      bisect report 1 --format markdown
      bisect compare 5.6.51 5.7.44 8.0.39 --test point-query

    Exit codes: 0 done (for start and resume: a verdict was reached), 2 bad input or an unfit host (one line says
    what to do), 4 cancelled, 130 interrupted (`bisect resume` goes on), 1 anything else.
    """


for command in (
    *(bisecting.start, bisecting.resume, bisecting.cancel),
    *(showing.list_bisections, showing.status, showing.log, showing.report_command, showing.suspects),
    posting.attach_command,
    comparing.compare_command,
    *(host.tests, host.doctor, host.artifacts),
    *(serving.serve, serving.worker),
    *(cluster_group, store_group),
):
    main.add_command(command)


if __name__ == "__main__":
    main()
