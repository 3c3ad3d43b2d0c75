"""What can be asked: the tests, compilers and public repositories that the matrix of this installation knows."""

from dataclasses import dataclass
from functools import lru_cache

from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.workloads.catalog import tests_of
from cpubisect.workloads.probe import Test


@dataclass(frozen=True)
class Askable:
    """`tests` are in the order of their engines; `repositories` maps engines to the URLs of those that have a public
    one; `toolchains` are all compilers that the matrix names."""

    tests: tuple[Test, ...]
    repositories: dict[str, str]
    toolchains: tuple[str, ...]


@lru_cache(maxsize=1)
def askable() -> Askable:
    """Read once; raises UserError for a matrix that cannot be read."""
    matrix = Matrix.load()
    engines = matrix.engines()
    return Askable(
        tests=tuple(test for engine in engines for test in tests_of(engine)),
        repositories={engine.name: engine.repository for engine in engines if engine.repository},
        toolchains=matrix.toolchain_names(),
    )
