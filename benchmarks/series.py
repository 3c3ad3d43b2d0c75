"""Which releases of RocksDB show that everything builds, and the cheapest build that shows it.

    python benchmarks/series.py releases REPOSITORY [--since 5.18]
    python benchmarks/series.py matrix > cheap.yaml
    python benchmarks/series.py releases rocksdb.git | xargs -n 8 bisect compare --repo rocksdb.git \\
        --matrix cheap.yaml --test readseq --rounds 2

`releases` prints the tag of the last release of every minor series. `matrix` prints the compiler matrix with all of
RocksDB compiled without optimisation and its library in chunks: what tells whether a release compiles and runs, and
nothing else of it. `benchmarks/built.py` gives such builds a table of their own.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from cpubisect.base.version import Version
from cpubisect.builders.recipes.matrix import locate_matrix
from cpubisect.builders.trees.idle import WITHOUT_OPTIMISATION
from cpubisect.history.repository import Repository
from cpubisect.history.tagged import by_form

ENGINE = "rocksdb"
FORM = "v{version}"
"""Tags of releases; RocksDB's other form, rocksdb-{version}, ended before 5.18."""


def last_of_each(tags: Iterable[str], since: Version) -> list[str]:
    """The tag of the highest version of each series of two numbers, from `since` on, lowest first; no milestones."""
    last: dict[tuple[int, ...], tuple[Version, str]] = {}
    for tag in tags:
        found = by_form(FORM, tag)
        if found is None or found[1].suffix or found[1] < since:
            continue
        series = found[1].parts[:2]
        last[series] = max(last.get(series, (found[1], tag)), (found[1], tag))
    return [tag for _, tag in sorted(last.values())]


def cheap_matrix() -> str:
    """The compiler matrix with the screening builder in the ordinary one's place, and no optimisation."""
    matrix: dict[str, Any] = yaml.load(locate_matrix().read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    section = matrix["engines"][ENGINE]
    section["builder"] = section.pop("screening")
    why = "Only whether it compiles and runs is asked."
    section["rules"].append({"versions": "*", "why": why, "options": [f"OPT=-g0 -DNDEBUG {WITHOUT_OPTIMISATION}"]})
    return yaml.safe_dump(matrix, sort_keys=False, width=120)


def main() -> None:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("matrix")
    releases = words.add_parser("releases")
    releases.add_argument("repository", type=Path)
    releases.add_argument("--since", type=Version.parse, default=Version.parse("5.18"))
    asked = parser.parse_args()
    if asked.word == "matrix":
        print(cheap_matrix(), end="")
    else:
        print(*last_of_each(Repository(asked.repository).text("tag", "--list").split(), asked.since))


if __name__ == "__main__":
    main()
