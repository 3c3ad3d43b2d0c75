"""A builder of small trees by cmake, with its checks kept as MySQL's are."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cpubisect.base.objects import ObjectFile
from cpubisect.base.tools import Header, Tool
from cpubisect.builders.trees.configure_cache import run_cmake
from cpubisect.builders.trees.shop import Shop


class CmakeBench:
    """The target `db_bench`, built by ninja in `build`; the plan is read and written on the way, as MySQL's is."""

    systems: Mapping[str, Sequence[Tool]] = {"cmake": (Tool("cmake", "cmake", ""), Tool("ninja", "ninja-build", ""))}
    headers: Sequence[Header] = ()

    def configure(self, shop: Shop) -> None:
        run_cmake(shop, ["-G", "Ninja"], shop.tree / "build")
        plan = shop.tree / "build/build.ninja"
        shop.write(plan, shop.read(plan) + "\n# read and written\n")

    def compile(self, shop: Shop) -> None:
        shop.run(["ninja", "-C", str(shop.tree / "build"), "db_bench"])

    def linked(self, shop: Shop) -> Path:
        return shop.tree / "build/db_bench"

    def collect(self, shop: Shop, output: Path) -> None:
        shop.take(self.linked(shop), output / "db_bench")

    def compiled(self, shop: Shop) -> tuple[str, ...]:
        return ()

    def objects(self, shop: Shop) -> Mapping[str, ObjectFile]:
        return {}


BUILDER = CmakeBench()
