"""The commands `bisect cluster`: they start Dask's own scheduler and workers, and show which hosts there are."""

import json
from pathlib import Path
from typing import Any

import click

from cpubisect.commands.shared import say

_CERTIFICATES = click.option(
    "--certificates", type=click.Path(path_type=Path), metavar="DIR",
    help="This host's certificates [default: $CPUBISECT_CERTIFICATES, else certificates/ in the home directory].",
)  # fmt: skip


@click.group("cluster")
def cluster_group() -> None:
    """Build and measure on several hosts: docs/cluster.md says how to begin.

    \b
    Examples:
      bisect cluster certificates ~/certificates head b1 b2 db7
      bisect cluster head --port 8786 --tls
      bisect cluster worker tls://head:8786 --role build --slots 2
      bisect cluster worker tls://head:8786 --role probe
      bisect cluster hosts tls://head:8786
      bisect start 5.6.51 5.7.44 --test point-query --cluster tls://head:8786
    """


@cluster_group.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8786, show_default=True)
@click.option("--host", help="The address to listen on [default: all with --tls, else this host's own].")
@click.option("--tls", is_flag=True, help="Encrypt, and let in only who has a certificate.")
@_CERTIFICATES
@click.option("--artifacts", default="", metavar="URL",
              help="Where all hosts can put and get what was built: file:///SHARED/FOLDER, s3://, sftp://, as fsspec "
              "knows them [default: it goes through the head].")  # fmt: skip
@click.option("--cache", default="", metavar="URL",
              help="A compiler cache that all builders share: redis://HOST or file:///SHARED/FOLDER.")  # fmt: skip
def head(port: int, host: str | None, tls: bool, certificates: Path | None, artifacts: str, cache: str) -> None:
    """Run the head of a cluster until Ctrl-C: hosts and bisections find each other there."""
    from cpubisect.base.home import Home
    from cpubisect.service.executors import certificates_at, needs_cluster

    needs_cluster()
    from cpubisect.builders.trees.shared import check
    from cpubisect.cluster.certificates import Pair
    from cpubisect.cluster.serving import serve_head

    encrypted = tls or certificates is not None
    pair = Pair.of(certificates_at(certificates), Home.open()) if encrypted else None
    check(cache)
    serve_head(port, host, pair, artifacts, cache, say)


@cluster_group.command()
@click.argument("address")
@click.option("--role", type=click.Choice(["build", "probe"]), required=True,
              help="What this host does; a probe host builds nothing.")  # fmt: skip
@click.option("--slots", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="So many builds at once, each with as many compilations as the bisection's --jobs.")  # fmt: skip
@click.option("--name", help="What this host is called [default: its own name].")
@click.option("--host", help="The address to listen on [default: all if the head's is tls://, else this host's own].")
@_CERTIFICATES
def worker(address: str, role: str, slots: int, name: str | None, host: str | None, certificates: Path | None) -> None:
    """Carry out builds or probes for the head at ADDRESS until Ctrl-C.

    A worker needs no clone: trees, patches and libraries are sent to it.
    """
    from cpubisect.base.home import Home
    from cpubisect.service.executors import certificates_at, needs_cluster

    needs_cluster()
    from cpubisect.cluster.address import Address
    from cpubisect.cluster.certificates import Pair
    from cpubisect.cluster.hosts import Role
    from cpubisect.cluster.serving import serve_worker
    from cpubisect.service.hosting import findings, own_host

    home, at = Home.open(), Address.read(address)
    pair = Pair.of(certificates_at(certificates), home) if at.encrypted else None
    own = own_host(Role(role), slots, name, home)
    for check in findings(own.role, home):
        say(f"{check.name}: {check.found}" + (f" (fix: {check.fix})" if check.fix else ""))
    serve_worker(at, host, pair, own, home, say)


@cluster_group.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("hosts", nargs=-1, required=True)
def certificates(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make a folder with certificates below DIRECTORY for each of HOSTS.

    Copy DIRECTORY/HOST to that host, as ~/.local/share/cpubisect/certificates say, and keep DIRECTORY/authority to
    yourself: it lets in whom it signs. More hosts can be added later.
    """
    from cpubisect.service.executors import needs_cluster

    needs_cluster()
    from cpubisect.cluster.certificates import make

    for made in make(directory, hosts):
        click.echo(made)


@cluster_group.command("hosts")
@click.argument("address", required=False)
@_CERTIFICATES
@click.option("--json", "as_json", is_flag=True)
def hosts_command(address: str | None, certificates: Path | None, as_json: bool) -> None:
    """List the hosts of the head at ADDRESS (default: $CPUBISECT_CLUSTER)."""
    from cpubisect.base.home import Home
    from cpubisect.service.present import present_at

    found = present_at(Home.open(), address, certificates)
    if as_json:
        click.echo(json.dumps([_plain(one) for one in found], indent=2))
        return
    if not found:
        click.echo("no hosts yet; `bisect cluster worker --help` shows how to begin")
    for one in found:
        host = one.host
        compilers = ", ".join(toolchain.name for toolchain in host.toolchains)
        doing = f"{one.orders} orders" if one.orders else "idle"
        about = ", ".join(str(word) for word in (host.fingerprint.get("cpu"), compilers, host.sandbox) if word)
        click.echo(f"{host.name:<16} {host.role:<6} {host.slots:>2}  {doing:<9}  {about}")


def _plain(one: Any) -> dict[str, Any]:
    return {**json.loads(one.host.to_json()), "address": one.address, "orders": one.orders}
