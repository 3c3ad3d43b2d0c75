"""Libraries that a tree does not carry: which, from where, and one copy for all builds."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from file_server import serving, tarball
from hypothesis import given
from hypothesis import strategies as st
from small_trees import GOOD, commit, recipe_for, settings_in

from cpubisect.base.errors import UserError
from cpubisect.base.version import Version
from cpubisect.builders.build import Library, Outcome
from cpubisect.builders.carry import carry_out
from cpubisect.builders.libraries import libraries
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.builders.rocksdb import BUILDER
from cpubisect.builders.shelf import LibraryMissing, Shelf

MATRIX = Matrix.load()
MATRIX_NEWEST = Version.parse("9.9")
MYSQL = MATRIX.engine("mysql")
SECTIONS = MATRIX.libraries(MYSQL)
NAME = "boost_1_59_0"
OPTION = "-DWITH_BOOST={path}"
WANTS = 'SET(BOOST_PACKAGE_NAME "{}")\n'
HEADER = "boost/version.hpp"
WHOLE = {
    f"{NAME}/{HEADER}": '#define BOOST_LIB_VERSION "1_59"\n',
    f"{NAME}/boost/geometry/all.hpp": "// all\n",
    f"{NAME}/libs/thread.cpp": "not wanted\n",
    "elsewhere/boost/x.hpp": "not wanted\n",
}
FILE = tarball(WHOLE)
DIGEST = hashlib.sha256(FILE).hexdigest()
ON_SHELF = Library(NAME, OPTION, sha256=DIGEST, part="boost")


@dataclass(frozen=True)
class Files:
    """A tree of some files."""

    files: Mapping[str, str]

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def holds(self, path: str) -> bool:
        return path in self.files


def wanting(name: str, *more: str) -> Files:
    return Files({"cmake/boost.cmake": f"# Boost\n{WANTS.format(name)}", **dict.fromkeys(more, "")})


def found(tree: Files, shelf: Path, host: Path) -> tuple[Library, ...]:
    return libraries(SECTIONS, tree, Shelf(shelf), [host])


@pytest.mark.parametrize("carried", [f"boost/{NAME}", f"include/{NAME}", f"extra/boost/{NAME}"])
def test_the_tree_s_own_copy_is_taken(tmp_path: Path, carried: str) -> None:
    own = found(wanting(NAME, f"{carried}/{HEADER}"), tmp_path, tmp_path)
    assert own == (Library(NAME, OPTION, carried=carried),)


@pytest.mark.parametrize("other", ["boost/boost_1_58_0/boost/version.hpp", f"include/{NAME}/patches/boost/x.hpp"])
def test_another_release_or_patches_alone_are_no_copy(tmp_path: Path, other: str) -> None:
    (own,) = found(wanting(NAME, other), tmp_path, tmp_path)
    assert (own.carried, own.sha256) == ("", SECTIONS[0].files[NAME].sha256)


@pytest.mark.parametrize(("says", "taken"), [("1_59", True), ("1_59_0", True), ("1_59_1", False), ("1_74", False)])
def test_the_host_s_copy_is_taken_if_it_is_that_release(tmp_path: Path, says: str, taken: bool) -> None:
    header = tmp_path / "include" / HEADER
    header.parent.mkdir(parents=True)
    header.write_text(f'#define BOOST_VERSION 105900\n#define BOOST_LIB_VERSION "{says}"\n')
    (own,) = found(wanting(NAME), tmp_path, tmp_path / "include")
    assert (own.host == str(tmp_path / "include")) is taken
    assert bool(own.sha256) is not taken


@pytest.mark.parametrize("text", ["", "SET(BOOST 1)\n", '# SET(BOOST_PACKAGE_NAME "boost_1_59_0")\n'])
def test_a_tree_that_wants_none_gets_none(tmp_path: Path, text: str) -> None:
    assert found(Files({"cmake/boost.cmake": text}), tmp_path, tmp_path) == ()
    assert found(Files({}), tmp_path, tmp_path) == ()


@pytest.mark.parametrize("name", ["boost_1_65_0", "boost_1_99_0"])
def test_without_a_published_digest_the_file_must_be_put_in_place_and_is_known_by_its_own(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(LibraryMissing, match="the matrix has no digest") as caught:
        found(wanting(name), tmp_path, tmp_path)
    assert str(tmp_path / f"{name}.tar.gz") in caught.value.hint
    assert ("archives.boost.io" in caught.value.hint) == (name == "boost_1_65_0")
    (tmp_path / f"{name}.tar.gz").write_bytes(b"one")
    (first,) = found(wanting(name), tmp_path, tmp_path)
    assert first.sha256 == hashlib.sha256(b"one").hexdigest()
    (tmp_path / f"{name}.tar.gz").write_bytes(b"another")
    (second,) = found(wanting(name), tmp_path, tmp_path)
    assert second.sha256 == hashlib.sha256(b"another").hexdigest()


def test_what_a_tree_names_can_be_no_other_path(tmp_path: Path) -> None:
    wanted = SECTIONS[0].wanted.model_copy(update={"pattern": '"(.*)"'})
    section = SECTIONS[0].model_copy(update={"wanted": wanted})
    with pytest.raises(UserError, match="cannot be the name of a file"):
        libraries([section], wanting("../../etc/x"), Shelf(tmp_path), [tmp_path])


def test_the_matrix_knows_boost_by_digest_from_two_places() -> None:
    files = SECTIONS[0].files
    assert {"boost_1_59_0", "boost_1_73_0", "boost_1_77_0"} <= set(files)
    assert [name for name, file in files.items() if not file.sha256] == ["boost_1_65_0"]
    digests = [file.sha256 for file in files.values() if file.sha256]
    assert len(digests) == len(set(digests))
    for name, file in files.items():
        assert all(address.startswith("https://") and address.endswith(f"{name}.tar.gz") for address in file.addresses)
        assert MATRIX.addresses(MYSQL, name) == file.addresses
    assert MATRIX.addresses(MYSQL, "boost_1_99_0") == ()


def test_no_recipe_lets_a_build_download() -> None:
    rules = [rule for engine in MATRIX.engines() for rule in MATRIX.rules(engine, MATRIX_NEWEST)]
    options = [option for rule in rules for option in rule.options]
    assert not [option for option in options if "DOWNLOAD" in option and not option.endswith("=OFF")]


def test_a_file_is_fetched_once_verified_and_unpacked_for_all(tmp_path: Path) -> None:
    shelf, told = Shelf(tmp_path / "libraries"), list[str]()
    with serving({"/boost.tar.gz": FILE}) as server:
        for _ in range(2):
            shelf.provide(ON_SHELF, [f"{server.address}/boost.tar.gz"], told.append)
        assert server.asked == ["/boost.tar.gz"]
    place = ON_SHELF.unpacked(shelf.directory)
    files = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    assert files == ["boost/geometry/all.hpp", HEADER]
    assert (place / HEADER).read_text() == WHOLE[f"{NAME}/{HEADER}"]
    assert shelf.digest(NAME) == DIGEST
    assert told == [f"unpacking {NAME}"]
    left = sorted(path.name for path in shelf.directory.iterdir())
    assert left == [f"{NAME}-{DIGEST[:16]}", f"{NAME}.lock", f"{NAME}.tar.gz"]


def test_a_file_in_place_needs_no_network(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.tar.gz").write_bytes(FILE)
    Shelf(tmp_path).provide(ON_SHELF, [])
    assert (ON_SHELF.unpacked(tmp_path) / HEADER).is_file()


def test_the_next_address_is_tried_and_what_is_not_the_file_is_not_kept(tmp_path: Path) -> None:
    with serving({"/good": FILE, "/bad": b"<html>moved</html>"}) as server:
        addresses = [f"{server.address}/{name}" for name in ("none", "bad", "good")]
        with pytest.raises(LibraryMissing) as caught:
            Shelf(tmp_path).provide(ON_SHELF, addresses[:2])
        assert not Shelf(tmp_path).file(NAME).exists()
        Shelf(tmp_path).provide(ON_SHELF, addresses)
        assert server.asked == ["/none", "/bad", "/none", "/bad", "/good"]
    assert f"{addresses[0]}: the server answers 404; {addresses[1]}: another file" in caught.value.problem
    assert caught.value.hint == f"put the file with SHA-256 {DIGEST} at {tmp_path / NAME}.tar.gz"


def test_without_network_it_says_which_file_to_put_where(tmp_path: Path) -> None:
    with serving({}) as server:
        closed = server.address
    with pytest.raises(LibraryMissing, match=r"cannot be fetched .*ConnectionError") as caught:
        Shelf(tmp_path).provide(ON_SHELF, [f"{closed}/boost.tar.gz"])
    assert f"{NAME}.tar.gz" in caught.value.hint
    with pytest.raises(LibraryMissing, match="no address is known"):
        Shelf(tmp_path).provide(ON_SHELF, [])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no archive at all", "cannot be unpacked"),
        (FILE[: len(FILE) // 2], "cannot be unpacked"),
        (b"", "cannot be unpacked"),
        (tarball({"boost_1_60_0/boost/version.hpp": "x"}), f"has nothing below {NAME}/boost"),
        (tarball({}), f"has nothing below {NAME}/boost"),
    ],
    ids=["no archive", "cut off", "empty file", "another release", "empty archive"],
)
def test_a_file_of_the_user_s_that_is_none(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / f"{NAME}.tar.gz").write_bytes(content)
    with pytest.raises(LibraryMissing, match=says):
        Shelf(tmp_path).provide(replace(ON_SHELF, sha256=hashlib.sha256(content).hexdigest()), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{NAME}.lock", f"{NAME}.tar.gz"]


def test_another_file_in_place_is_neither_taken_nor_replaced(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.tar.gz").write_bytes(b"another")
    with serving({"/boost": FILE}) as server:
        with pytest.raises(LibraryMissing, match="is not the file that is meant"):
            Shelf(tmp_path).provide(ON_SHELF, [f"{server.address}/boost"])
        assert server.asked == []
    assert (tmp_path / f"{NAME}.tar.gz").read_bytes() == b"another"


@given(st.lists(st.sampled_from(["..", "boost", NAME, ".", "x", "/etc"]), min_size=1, max_size=5))
def test_nothing_is_written_beside_the_library(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    top = tmp_path_factory.mktemp("shelf")
    shelf, name = top / "a" / "b" / "libraries", f"{NAME}/boost/{'/'.join(parts)}/file.hpp"
    content = tarball({**WHOLE, name: "hostile"}, {f"{NAME}/boost/link": "/etc"})
    shelf.mkdir(parents=True)
    (shelf / f"{NAME}.tar.gz").write_bytes(content)
    library = replace(ON_SHELF, sha256=hashlib.sha256(content).hexdigest())
    Shelf(shelf).provide(library, [])
    inside = library.unpacked(shelf)
    assert not [path for path in top.rglob("*") if path.is_symlink()]
    written = [path for path in top.rglob("file.hpp") if path.is_file()]
    assert all(path.resolve().is_relative_to(inside / "boost") for path in written)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_shelf_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(LibraryMissing, match="cannot be kept"):
        Shelf(tmp_path).provide(ON_SHELF, [])


MAKEFILE = "db_bench: main.cc\n\t$(CXX) $(EXTRA_CXXFLAGS) -I$(BOOST) -o $@ main.cc\n"
MAIN = "#include <boost/version.hpp>\n#include <cstdio>\nint main() { puts(BOOST_LIB_VERSION); }\n"


@pytest.mark.parametrize("where", ["tree", "host", "shelf"])
def test_a_build_finds_it_wherever_it_is(tmp_path: Path, where: str) -> None:
    text = WHOLE[f"{NAME}/{HEADER}"]
    own = {f"boost/{NAME}/{HEADER}": text} if where == "tree" else {}
    sha = commit(tmp_path / "clone", {**GOOD, "Makefile": MAKEFILE, "main.cc": MAIN, **own})
    (tmp_path / "host/boost").mkdir(parents=True)
    (tmp_path / "host" / HEADER).write_text(text)
    settings = settings_in(tmp_path, libraries=tmp_path / "libraries")
    library = {
        "tree": Library(NAME, "BOOST={path}", carried=f"boost/{NAME}"),
        "host": Library(NAME, "BOOST={path}", host=str(tmp_path / "host")),
        "shelf": replace(ON_SHELF, option="BOOST={path}"),
    }[where]
    with serving({"/boost": FILE}) as server:
        Shelf(settings.libraries).provide(library, [f"{server.address}/boost"])
        assert server.asked == (["/boost"] if where == "shelf" else [])

    result = carry_out(recipe_for(sha, libraries=(library,)), BUILDER, tmp_path / "clone", tmp_path / "work", settings)

    assert (result.outcome, result.first_error) == (Outcome.BUILT, "")
    plain = recipe_for(sha)
    assert result.recipe.key() != plain.key()
    assert replace(result.recipe, libraries=()).key() == plain.key()
