"""What this host can build and how well it can measure: all is looked for that builds and tests of any engine need."""

from itertools import chain
from pathlib import Path

from cpubisect.base.home import Home
from cpubisect.builders.catalog import builder_of
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.recipes.matrix_file import LibrarySection
from cpubisect.builders.shelf import Shelf
from cpubisect.builders.trees.linker import PACKAGE, why_no_redraws
from cpubisect.service import sandboxing
from cpubisect.workloads.catalog import workload_of
from cpubisect.workloads.host.host import Check, Status, examine


def diagnose(root: Path) -> list[Check]:
    """Every finding about this host, in 5–10 s; `root` is where builds and databases go. Raises UserError for a mistake
    in the matrix."""
    matrix = Matrix.load()
    builders = [builder_of(engine) for engine in matrix.engines()]
    programs = [workload_of(engine).programs for engine in matrix.engines()]
    tools = [*chain.from_iterable(chain(*builder.systems.values()) for builder in builders), *chain(*programs)]
    headers = dict.fromkeys(chain.from_iterable(builder.headers for builder in builders))
    shelf = Shelf(Home(root).libraries)
    libraries = [_library(one, shelf) for engine in matrix.engines() for one in matrix.libraries(engine)]
    return [*examine(root, matrix.preferences(), tools, list(headers)), *libraries, sandboxing.check(), _redraws()]


def _library(section: LibrarySection, shelf: Shelf) -> Check:
    """Which files of a library are here, and which to put where if they cannot be fetched."""
    lacking = {name: file for name, file in section.files.items() if not shelf.digest(name)}
    here = f"{len(section.files) - len(lacking)} of {len(section.files)} releases are in {shelf.directory}"
    if not lacking:
        return Check(section.name, Status.OK, here)
    found = f"{here}; the others are fetched when a tree wants them and neither it nor the host has them"
    if unknown := [name for name, file in lacking.items() if not file.sha256]:
        found += f", but for {', '.join(unknown)}, of which no digest is known"
    sources = (f"{shelf.file(name).name} from {file.addresses[0]}" for name, file in lacking.items() if file.addresses)
    return Check(section.name, Status.WARN, found, f"without network, put into {shelf.directory}: {', '.join(sources)}")


def _redraws() -> Check:
    """Whether builds can be linked in other orders."""
    if why := why_no_redraws():
        found = f"{why.partition(':')[0]}; needed for telling code layout from code on CPU time"
        return Check("links in other orders", Status.WARN, found, f"apt-get install -y {PACKAGE}")
    return Check("links in other orders", Status.OK, "code layout can be told from code on CPU time")
