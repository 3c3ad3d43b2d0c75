"""RocksDB's db_bench, and that of engines whose Makefile takes the same variables."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.base.objects import ObjectFile
from cpubisect.base.tools import Header, Tool
from cpubisect.builders.trees.dependencies import Places, compiled_sources, objects_of
from cpubisect.builders.trees.idle import scripts
from cpubisect.builders.trees.idle.makefile import idle_objects
from cpubisect.builders.trees.precompiled import prefix, share_headers
from cpubisect.builders.trees.progress import compile_lines
from cpubisect.builders.trees.shop import Builder, Shop

TARGET = "db_bench"

DEPENDENCIES = "$(if $@,-MMD)"
"""Only where a recipe makes something: a Makefile that tries the compiler while it is read, with /dev/null as output,
would have it write to /dev/null.d, which fails."""

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_IDLE = "bisect-idle.mk"
_ARCHIVER = "bisect-idle-archiver"


class MakeDbBench:
    """Builds the target `db_bench` with make in the source tree.

    Flags go into EXTRA_CFLAGS and EXTRA_CXXFLAGS, which the Makefile appends to its own; by DEPENDENCIES the compiler
    writes down what each object was made from. The recipe's options are arguments of make.
    """

    systems: Mapping[str, Sequence[Tool]] = {"make": (Tool("make", "make", "building"),)}
    headers: Sequence[Header] = (Header("gflags/gflags.h", "libgflags-dev", "RocksDB's db_bench"),)

    def configure(self, shop: Shop) -> None:
        """There is nothing to configure: prepare, and count the compilations to come."""
        shop.compiles.expected = compile_lines(self.prepare(shop))

    def prepare(self, shop: Shop) -> str:
        """See which sources are idle and which headers are shared; the plan that comes of it."""
        plan = self.plan(shop)
        if idle := idle_objects(plan, shop.recipe.idle, scripts.Company(shop.tree), scripts.FOLDER):
            scripts.put_marks(shop, shop.tree)
            scripts.put_joined(shop, shop.tree, (one for one, _ in idle.joined))
            shop.write(shop.tree / _ARCHIVER, idle.archiver(shop.environment["AR"]))
            (shop.tree / _ARCHIVER).chmod(0o755)
            joining = scripts.joining(shop.tree, shlex.split(shop.environment["CXX"])[-1])
            shop.write(shop.tree / _IDLE, idle.rules(TARGET, joining))
            plan = self.plan(shop)
        if shop.shares_headers:
            share_headers(shop, plan, shop.tree, shop.tree)
        return plan

    def compile(self, shop: Shop) -> None:
        """Compile and link db_bench."""
        environment = {**self._environment(shop), **prefix(shop.tree)}
        shop.run(self._command(shop, f"-j{shop.settings.jobs}"), extra_environment=environment)

    def linked(self, shop: Shop) -> Path:
        """db_bench, at the root of the tree."""
        return shop.tree / TARGET

    def collect(self, shop: Shop, output: Path) -> None:
        """Just the binary."""
        shop.take(self.linked(shop), output / TARGET)

    def compiled(self, shop: Shop) -> tuple[str, ...]:
        """From the dependency files that -MMD left beside the objects."""
        found = compiled_sources(shop.tree, shop.tree)
        return tuple(name for name in found if not name.startswith(f"{scripts.FOLDER}/"))

    def objects(self, shop: Shop) -> Mapping[str, ObjectFile]:
        """From the same; make does not tell how long each took."""
        files = {file: shop.tree for file in sorted(shop.tree.rglob("*.d")) if shop.has(file)}
        return objects_of(Places(shop.tree), files)

    def plan(self, shop: Shop) -> str:
        """All commands that make would run, one a line."""
        command = self._command(shop, "--dry-run")
        return shop.run(command, extra_environment=self._environment(shop), silent=True).output

    def _command(self, shop: Shop, how: str) -> list[str]:
        tools = {name: shop.environment[name] for name in ("CC", "CXX", "AR", "RANLIB")}
        read: list[str] = []
        if shop.has(shop.tree / _IDLE):
            tools["AR"] = str(shop.tree / _ARCHIVER)
            read = ["-f", next(name for name in _MAKEFILES if shop.has(shop.tree / name)), "-f", _IDLE]
        return [
            "make",
            how,
            *read,
            TARGET,
            *(f"{name}={program}" for name, program in tools.items()),
            *shop.options,
            f"EXTRA_CFLAGS={' '.join((*shop.cflags, DEPENDENCIES))}",
            f"EXTRA_CXXFLAGS={' '.join((*shop.cxxflags, DEPENDENCIES))}",
        ]

    def _environment(self, shop: Shop) -> dict[str, str]:
        """RocksDB's Makefile creates a directory of its own in shared memory unless it is told of one."""
        return {"TEST_TMPDIR": shop.environment["TMPDIR"]}


BUILDER: Builder = MakeDbBench()
