"""Which releases stand for their series, and a matrix that builds them as cheaply as can be."""

from pathlib import Path

import series

from cpubisect.base.version import Version
from cpubisect.builders.recipes.matrix import Matrix


def test_the_last_release_of_each_series_is_taken() -> None:
    tags = ["v6.10.1", "v6.2.4", "v6.10.2", "v6.2.10", "v6.10.3-rc1", "v5.18.4", "blob_v6.11.0", "v6.2.9", "v5.17.2"]
    assert series.last_of_each(tags, Version.parse("5.18")) == ["v5.18.4", "v6.2.10", "v6.10.2"]


def test_its_matrix_is_one_and_optimises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cheap.yaml"
    path.write_text(series.cheap_matrix())
    matrix = Matrix.load(path)
    engine = matrix.engine(series.ENGINE)
    assert (engine.builder, engine.screening) == ("rocksdb_screening", "")
    for release in ("5.18.4", "11.8.1"):
        *_, rule = matrix.rules(engine, Version.parse(release))
        assert rule.options == ("OPT=-g0 -DNDEBUG -O0",)
