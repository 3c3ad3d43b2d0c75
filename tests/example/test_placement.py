"""The commits after the example's last release: they move code, and change none that runs."""

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from small_trees import TOOLCHAINS, recipe_for, settings_in

from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.example.history import Generated, generate
from cpubisect.example.placement import LAST, LOOP

pytestmark = pytest.mark.xdist_group("minikv")

LINE = 64


@pytest.fixture
def placed(tmp_path: Path) -> Generated:
    return generate(tmp_path / "minikv", placement=True)


def test_they_follow_a_history_that_is_the_same_without_them(example: Generated, placed: Generated) -> None:
    before = len(example.main_line)
    assert placed.main_line[:before] == example.main_line
    assert placed.main_line[before:] == tuple(placed.labelled[name] for name in (LOOP, *_moved()))
    assert (placed.good, placed.bad, placed.branches) == (example.good, example.bad, example.branches)


@pytest.mark.long
def test_the_loop_lies_across_two_lines_after_one_of_them(
    placed: Generated, tmp_path: Path, compiler_cache: Path
) -> None:
    found = {name: functions(placed, placed.labelled[name], tmp_path, compiler_cache) for name in (LOOP, *_moved())}
    (loop,) = (name for name in found[LOOP] if "IsText" in name)
    assert {found[name][loop][0] % LINE for name in _moved()} == {0, 16, 32, 48}
    sizes = {name: {function: size for function, (_, size) in found[name].items()} for name in found}
    for before, after in zip((LOOP, *_moved()), _moved(), strict=False):
        assert sizes[before].items() < sizes[after].items()
        (added,) = sizes[after].keys() - sizes[before].keys()
        assert "Property" in added


def _moved() -> tuple[str, ...]:
    return tuple(f"moved {number}" for number in range(1, int(LAST.split()[1]) + 1))


def functions(placed: Generated, sha: str, directory: Path, cache: Path) -> dict[str, tuple[int, int]]:
    """Address and size of the functions of a commit's db_bench that have names of the engine."""
    recipe = recipe_for(sha, toolchain=TOOLCHAINS[0], cxxflags=())
    settings = settings_in(directory, ccache_dir=cache)
    built = carry_out(recipe, BUILDER, placed.path, directory / "work", settings)
    assert built.output, built.first_error
    with (built.output / "db_bench").open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = [one for one in table.iter_symbols() if one["st_info"]["type"] == "STT_FUNC" and one["st_size"]]
        return {one.name: (one["st_value"], one["st_size"]) for one in symbols if "minikv" in one.name}
