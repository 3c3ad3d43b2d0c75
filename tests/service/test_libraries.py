"""A bisection of trees that want a library: fetched once, shared, and named in the report."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from file_server import FileServer, serving, tarball
from small_bisections import QUICK, ask, cost, history, tree, verdict_of

from cpubisect.cli import main
from cpubisect.records.comparisons import Comparisons

FILE = tarball({"part_7/include/part.h": "#define PART 1\n", "part_7/big.bin": "not wanted"})
DIGEST = hashlib.sha256(FILE).hexdigest()
MAKEFILE = "db_bench: small_bench.c cost.h\n\t$(CC) -O1 -w -I$(PART)/include -include cost.h -o $@ small_bench.c\n"
MATRIX = """\
engines:
  minikv:
    tags: ["v{{version}}"]
    version_files:
      - path: include/minikv/version.h
        patterns: ['MINIKV_MAJOR\\s+(\\d+)', 'MINIKV_MINOR\\s+(\\d+)', 'MINIKV_PATCH\\s+(\\d+)']
    builder: rocksdb
    workload: db_bench
    libraries:
      - name: part
        wanted: {{file: parts.txt, pattern: '^wants (\\S+)$'}}
        header: include/part.h
        host: '^#define PART_RELEASE (\\d+)$'
        part: include
        option: PART={{path}}
        files:
          part_7: {{addresses: ["{address}/part_7.tar.gz"], sha256: {digest}}}
    rules:
      - versions: "*"
        why: Anything.
        system: make
        toolchain: [gcc-12]
"""


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving({"/part_7.tar.gz": FILE}) as known:
        yield known


@pytest.fixture
def shas(tmp_path: Path) -> dict[int, str]:
    """A clone whose trees want the library, and which step is slow."""
    first = {**tree(1000), "Makefile": MAKEFILE, "parts.txt": "wants part_7\n"}
    slow = cost(1200, "#include <part.h>\n")
    return dict(history(first, {"docs/cost.md": "x"}, slow).write(tmp_path / "kv"))


def matrix(directory: Path, server: FileServer, digest: str = DIGEST) -> str:
    path = directory / "own.yaml"
    path.write_text(MATRIX.format(address=server.address, digest=digest))
    return str(path)


def refused(*words: str, command: str = "start") -> str:
    result: Result = CliRunner().invoke(main, [command, *words, "--test", "readrandom", "--quiet", *QUICK])
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def test_it_is_fetched_once_and_named_with_its_digest(
    home: Path, tmp_path: Path, server: FileServer, shas: dict[int, str]
) -> None:
    for _ in range(2):
        report = ask(tmp_path / "kv", shas[1], "main", "--matrix", matrix(tmp_path, server), home=home)
        assert [culprit["sha"] for culprit in verdict_of(report)["culprits"]] == [shas[3]]
    assert server.asked == ["/part_7.tar.gz"]
    assert {name for commit in report["commits"] for name in commit["recipe"]["libraries"]} == {
        f"part_7, SHA-256 {DIGEST}"
    }
    text = CliRunner().invoke(main, ["report", "1"], catch_exceptions=False).stdout
    assert f"part_7,SHA-256{DIGEST}" in re.sub(r"\s+", "", text)


def test_without_network_the_bisection_stops_with_the_next_step_and_goes_on_from_it(
    home: Path, tmp_path: Path, shas: dict[int, str]
) -> None:
    with serving({}) as empty:
        own = matrix(tmp_path, empty)
        said = refused(shas[1], "main", "--repo", str(tmp_path / "kv"), "--matrix", own)
    place = home / "libraries/part_7.tar.gz"
    assert "part_7 is not here and cannot be fetched" in said
    assert f"put the file with SHA-256 {DIGEST} at {place}" in said
    place.write_bytes(FILE)
    done = CliRunner().invoke(main, ["resume", "1", "--quiet"], catch_exceptions=False)
    assert done.exit_code == 0
    assert shas[3][:12] in done.stdout


def test_one_without_a_digest_is_missed_before_anything_begins(
    home: Path, tmp_path: Path, server: FileServer, shas: dict[int, str]
) -> None:
    own = matrix(tmp_path, server, "unknown")
    words = (shas[1], "main", "--repo", str(tmp_path / "kv"), "--matrix", own)
    for command in ("start", "compare"):
        said = refused(*words, command=command)
        assert "part_7, which the tree wants, is not here, and the matrix has no digest of it" in said
        assert f"put {home}/libraries/part_7.tar.gz in place, from {server.address}/part_7.tar.gz for example" in said
    assert CliRunner().invoke(main, ["list", "--json"]).stdout.strip() == "[]"
    assert Comparisons.open().all() == []
    assert server.asked == []
    (home / "libraries/part_7.tar.gz").write_bytes(FILE)
    report = ask(tmp_path / "kv", shas[1], "main", "--matrix", own, home=home)
    assert report["commits"][0]["recipe"]["libraries"] == [f"part_7, SHA-256 {DIGEST}"]


def test_a_tree_that_carries_it_fetches_nothing(home: Path, tmp_path: Path, server: FileServer) -> None:
    carried = {"deep/part_7/include/part.h": "#define PART 1\n", "parts.txt": "wants part_7\n", "Makefile": MAKEFILE}
    shas = history({**tree(1000), **carried}, cost(1200, "#include <part.h>\n")).write(tmp_path / "kv")
    own = Path(matrix(tmp_path, server))
    own.write_text(
        own.read_text().replace("        part: include", '        carried: ["deep/{name}"]\n        part: include')
    )
    report = ask(tmp_path / "kv", shas[1], "main", "--matrix", str(own), home=home)
    assert verdict_of(report)["kind"] == "culprit"
    assert report["commits"][0]["recipe"]["libraries"] == ["part_7 of the tree, deep/part_7"]
    assert server.asked == []
