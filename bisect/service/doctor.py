"""What this host can build and how well it can measure: all is looked for that builds and tests of any engine need."""

from itertools import chain
from pathlib import Path

from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.workloads.catalog import workload_of
from cpubisect.workloads.host.host import Check, examine


def diagnose(root: Path) -> list[Check]:
    """Every finding about this host, in 5–10 s; `root` is where builds and databases go. Raises UserError for a mistake
    in the matrix."""
    matrix = Matrix.load()
    builders = [builder_of(engine) for engine in matrix.engines()]
    programs = [workload_of(engine).programs for engine in matrix.engines()]
    tools = [*chain.from_iterable(chain(*builder.systems.values()) for builder in builders), *chain(*programs)]
    headers = dict.fromkeys(chain.from_iterable(builder.headers for builder in builders))
    return examine(root, matrix.preferences(), tools, list(headers))
