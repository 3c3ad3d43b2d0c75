import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.base.errors import UserError
from cpubisect.base.flags import Flags
from cpubisect.base.version import Version
from cpubisect.builders.build import Edit, RepairRule, Toolchain
from cpubisect.builders.recipes.matrix import Matrix, apt_packages, locate_matrix
from cpubisect.builders.recipes.matrix_file import MatrixFile

ENGINE = {
    "tags": ["v{version}"],
    "version_files": [{"path": "version.h", "patterns": [r"MAJOR (\d+)"]}],
    "builder": "rocksdb",
    "workload": "db_bench",
}

TEXT = """\
engines:
  toy:
    repository: https://example.com/toy.git
    tags: ["v{version}"]
    version_files:
      - path: version.h
        patterns: ['MAJOR (\\d+)', 'MINOR (\\d+)']
    irrelevant: ["*.md"]
    builder: rocksdb
    workload: db_bench
    rules:
      - versions: 1.0 - 1.10
        why: old
        toolchain: [gcc-9, gcc-12]
        system: make
        std: gnu++98
        options: [A=1]
        environment: {OPT: -O2, FLAG: on}
        edits:
          - {file: a.cc, find: 'x+', replace: y}
      - versions: 1.8 -
        why: new
        toolchain: [gcc-12]
        system: make
        options: [B=1]
        environment: {OPT: -O3}
    repairs:
      - diagnostic: multiple definition
        versions: 1.8 -
        why: no-common
        cflags: [-fcommon]
"""


def toolchain(name: str) -> Toolchain:
    return Toolchain(name, name, name.replace("gcc", "g++"), "ar", "ranlib", f"{name} of this host")


def load(directory: Path, text: str) -> Matrix:
    path = directory / "compiler-matrix.yaml"
    path.write_text(text)
    return Matrix.load(path)


def test_later_rules_override_append_and_merge(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT)
    toy = matrix.engine("toy")
    host = [toolchain("gcc-12")]
    old = matrix.recipe(toy, "c0ffee", Version.parse("1.2.3"), host)
    both = matrix.recipe(toy, "c0ffee", Version.parse("1.9"), host)
    new = matrix.recipe(toy, "c0ffee", Version.parse("1.11"), host)
    assert (old.options, both.options, new.options) == (("A=1",), ("A=1", "B=1"), ("B=1",))
    assert (old.std, both.std, new.std) == ("gnu++98", "gnu++98", "")
    assert old.environment == {"OPT": "-O2", "FLAG": "on"}
    assert both.environment == {"OPT": "-O3", "FLAG": "on"}
    assert old.edits == (Edit("a.cc", "x+", "y", "old"),)
    assert old.repairs == ()
    assert new.repairs == (RepairRule("multiple definition", "no-common", cflags=("-fcommon",)),)
    assert (both.engine, both.commit, both.version, both.system) == ("toy", "c0ffee", "1.9", "make")
    assert both.toolchain == toolchain("gcc-12")
    assert len({old.key(), both.key(), new.key()}) == 3


LIBRARY = """\
    libraries:
      - name: part
        wanted: {file: parts.txt, pattern: '^wants (part_\\d+)$'}
        header: part.h
        carried: ["parts/{name}"]
        host: '^#define PART (\\d+)$'
        part: include
        option: PART={path}
        files:
          part_1: {addresses: ["https://example.com/part_1.tar.gz"], sha256: unknown}
"""
WITH_LIBRARY = TEXT.replace("    rules:\n", f"{LIBRARY}    rules:\n")


def test_a_library_whose_digest_is_not_known(tmp_path: Path) -> None:
    matrix = load(tmp_path, WITH_LIBRARY)
    (section,) = matrix.libraries(matrix.engine("toy"))
    assert section.files["part_1"].sha256 == ""
    assert matrix.addresses(matrix.engine("toy"), "part_1") == ("https://example.com/part_1.tar.gz",)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("(part_\\d+)", "part_\\d+", "wanted.pattern: '^wants part_\\\\d+$' must have just one group"),
        ("PART (\\d+)", "(PART) (\\d+)", "host: '^#define (PART) (\\\\d+)$' must have just one group"),
        ("file: parts.txt", "file: /etc/passwd", "wanted.file: '/etc/passwd' is not a path inside the tree"),
        ("option: PART={path}", "option: PART=x", "option: String should match pattern"),
        ("sha256: unknown", "sha256: 47f1", "files.part_1.sha256: String should match pattern"),
        (", sha256: unknown", "", "files.part_1.sha256: this key is required"),
        ("https://example", "file://example", "files.part_1.addresses[0]: String should match pattern"),
        ("part_1: {", "../part_1: {", "String should match pattern"),
        ("        header: part.h\n", "", "libraries[0].header: this key is required"),
    ],
)
def test_a_mistake_in_a_library_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in WITH_LIBRARY
    with pytest.raises(UserError, match=re.escape(complaint)):
        load(tmp_path, WITH_LIBRARY.replace(old, new))


RELEASE = TEXT.replace(
    "        options: [B=1]\n",
    "        options: [B=1]\n        cflags: [-O2, -march=haswell]\n"
    "        release: {options: [C=1], cflags: [-march=haswell], environment: {OPT: ''}}\n",
)


def test_a_release_takes_the_place_of_what_is_pinned_and_leaves_the_rest(tmp_path: Path) -> None:
    matrix = load(tmp_path, RELEASE)
    toy, host = matrix.engine("toy"), [toolchain("gcc-12")]
    pinned, release = (
        matrix.recipe(toy, "c0ffee", Version.parse("1.9"), host, flags=flags) for flags in (Flags.PINNED, Flags.RELEASE)
    )
    assert (pinned.options, release.options) == (("A=1", "B=1"), ("A=1", "C=1"))
    assert (pinned.cflags, release.cflags) == (("-O2", "-march=haswell"), ("-march=haswell",))
    assert (pinned.environment, release.environment) == ({"OPT": "-O3", "FLAG": "on"}, {"OPT": "", "FLAG": "on"})
    assert (pinned.std, pinned.edits) == (release.std, release.edits)
    assert pinned.key() != release.key()


def test_equal_flags_of_a_release_make_another_recipe_all_the_same(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT.replace("        options: [A=1]\n", "        options: [A=1]\n        release: {}\n"))
    toy, version = matrix.engine("toy"), Version.parse("1.0")
    pinned = matrix.recipe(toy, "c0ffee", version, [toolchain("gcc-12")])
    release = matrix.recipe(toy, "c0ffee", version, [toolchain("gcc-12")], flags=Flags.RELEASE)
    assert release == replace(pinned, flags=Flags.RELEASE)
    assert release.key() != pinned.key()


def test_a_release_that_no_rule_describes_is_refused(tmp_path: Path) -> None:
    matrix = load(tmp_path, RELEASE)
    with pytest.raises(UserError, match=r"says how a release of toy 1\.0 is built: add `release:` to one"):
        matrix.recipe(matrix.engine("toy"), "c0ffee", Version.parse("1.0"), [toolchain("gcc-12")], flags=Flags.RELEASE)


def test_engines_are_as_the_file_says(tmp_path: Path) -> None:
    (toy,) = load(tmp_path, TEXT).engines()
    assert (toy.name, toy.repository, toy.tags) == ("toy", "https://example.com/toy.git", ("v{version}",))
    assert toy.version_files[0].patterns == (r"MAJOR (\d+)", r"MINOR (\d+)")
    assert (toy.irrelevant, toy.builder, toy.workload) == (("*.md",), "rocksdb", "db_bench")


def test_bundled_libraries_are_no_part_of_a_recipe(tmp_path: Path) -> None:
    more = TEXT.replace("    workload", "    bundled: [/extra/*/, /zlib/]\n    workload")
    few, many = load(tmp_path, TEXT), load(tmp_path, more)
    toy = many.engine("toy")
    assert (few.engine("toy").bundled, toy.bundled) == ((), ("/extra/*/", "/zlib/"))
    host, release = [toolchain("gcc-12")], Version.parse("1.9")
    assert few.recipe(toy, "c0ffee", release, host).key() == many.recipe(toy, "c0ffee", release, host).key()


def test_a_version_without_rule_names_the_ranges_there_are(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT)
    with pytest.raises(UserError, match=r"no rule .* holds for toy 0\.9: there are rules for 1\.0 - 1\.10, 1\.8 -"):
        matrix.recipe(matrix.engine("toy"), "c0ffee", Version.parse("0.9"), [toolchain("gcc-12")])


def test_a_missing_compiler_comes_with_its_package(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT)
    with pytest.raises(UserError, match=r"for toy 1\.0 is installed \(gcc-9, gcc-12\): apt install g\+\+-9"):
        matrix.recipe(matrix.engine("toy"), "c0ffee", Version.parse("1.0"), [toolchain("gcc-11")])
    with pytest.raises(UserError, match=r"\(clang-18\): apt install clang-18 llvm-18"):
        matrix.recipe(matrix.engine("toy"), "c0ffee", Version.parse("1.0"), [toolchain("gcc-12")], prefer="clang-18")
    assert apt_packages("gcc") == "g++"


def test_the_user_may_prefer_another_compiler(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT)
    host = [toolchain("gcc-12"), toolchain("gcc-11")]
    recipe = matrix.recipe(matrix.engine("toy"), "c0ffee", Version.parse("1.0"), host, prefer="gcc-11")
    assert recipe.toolchain.name == "gcc-11"


def test_a_range_is_built_with_one_compiler_if_one_suits(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT)
    toy, versions = matrix.engine("toy"), [Version.parse("1.0"), Version.parse("1.11")]
    assert matrix.shared_toolchain(toy, versions, [toolchain("gcc-9"), toolchain("gcc-12")]) == "gcc-12"
    assert matrix.shared_toolchain(toy, versions[:1], [toolchain("gcc-9"), toolchain("gcc-12")]) == "gcc-9"
    assert matrix.shared_toolchain(toy, versions, [toolchain("gcc-9")]) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        (
            "versions: 1.8 -\n        why: new",
            "versions: 1.8 ~\n        why: new",
            21,
            "rules[1].versions: '1.8 ~' is not",
        ),
        ("toolchain: [gcc-12]", "toolchain: gcc-12", 23, "rules[1].toolchain: Input should be a valid tuple"),
        ("toolchain: [gcc-12]", "toolchain: [gcc12]", 23, "rules[1].toolchain[0]: String should match pattern"),
        ("why: new", "reason: new", 22, "rules[1].reason: there is no such key"),
        ("why: new\n", "\n", 21, "rules[1].why: this key is required"),
        ("find: 'x+'", "find: 'x('", 20, "rules[0].edits[0].find: 'x(' is not a regular expression"),
        ("replace: y", "replace: '\\1'", 20, r"rules[0].edits[0]: '\\1' does not fit 'x+': invalid group reference 1"),
        ("file: a.cc", "file: ../a.cc", 20, "rules[0].edits[0].file: '../a.cc' is not a path inside the tree"),
        ("cflags: [-fcommon]", "include: <a>\n        patch: b", 28, "repairs[0]: a repair is just one of"),
        ("std: gnu++98", "system: cmake", 16, "rules[0].system: the key stands twice in the same map"),
        ("{OPT: -O3}", "{OPT: -O3}\n        release: {std: c++11}", 27, "rules[1].release.std: there is no such key"),
        ("{OPT: -O3}", "[OPT]", 26, "rules[1].environment: Input should be a valid dictionary"),
        ("builder: rocksdb\n", "\n", 2, "builder: this key is required"),
        ("builder: rocksdb\n", "builder: rocksbd\n", 9, "gives toy the builder 'rocksbd', which does not exist"),
        ("builder: rocksdb\n", "builder: matrix\n", 9, "gives toy the builder 'matrix', which does not exist"),
        (
            "    workload",
            "    screening: mysql\n    workload",
            10,
            "the screening builder 'mysql', which",
        ),
        (
            "make\n        std",
            "cmake\n        std",
            15,
            "the system 'cmake', which its builder does not know",
        ),
        ("    workload", "    bundled: [extra/*/]\n    workload", 10, "bundled[0]: String should match pattern"),
        ("    workload", "    bundled: [/extra/*]\n    workload", 10, "bundled[0]: String should match pattern"),
        ("    workload", "    bundled: /zlib/\n    workload", 10, "bundled: Input should be a valid tuple"),
        ("{OPT: -O3}", "{OPT: -O3", 27, "expected ',' or '}'"),
    ],
)
def test_errors_name_line_and_key(tmp_path: Path, old: str, new: str, line: int, complaint: str) -> None:
    assert old in TEXT
    with pytest.raises(UserError) as caught:
        load(tmp_path, TEXT.replace(old, new))
    assert caught.value.problem.startswith(f"compiler-matrix.yaml:{line}: ")
    assert complaint in caught.value.problem


def test_a_missing_or_empty_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        Matrix.load(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="the file is empty"):
        load(tmp_path, "# nothing\n")
    with pytest.raises(UserError, match=r"has no engine 'oracle': it has toy"):
        load(tmp_path, TEXT).engine("oracle")


def test_versions_are_text_not_numbers(tmp_path: Path) -> None:
    matrix = load(tmp_path, TEXT.replace("1.0 - 1.10", "1.10"))
    assert matrix.preference(matrix.engine("toy"), Version.parse("1.10.2")) == ("gcc-12",)
    with pytest.raises(UserError, match="no rule"):
        matrix.preference(matrix.engine("toy"), Version.parse("1.1"))


def test_the_shipped_matrix_knows_its_engines() -> None:
    matrix = Matrix.load()
    assert {"rocksdb", "minikv", "mysql"} <= {engine.name for engine in matrix.engines()}
    rocksdb = matrix.engine("rocksdb")
    assert matrix.preference(rocksdb, Version.parse("8.8.1"))[0] == "gcc-12"
    assert matrix.preference(rocksdb, Version.parse("6.29.5"))[:2] == ("gcc-11", "gcc-12")
    assert "clang-14" not in matrix.preference(rocksdb, Version.parse("5.18.4"))
    with pytest.raises(UserError, match="no rule"):
        matrix.preference(rocksdb, Version.parse("5.17.2"))
    assert matrix.patches_dir.name == "patches"


def test_an_installed_matrix_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(
        "cpubisect.builders.recipes.matrix.__file__", str(tmp_path / "lib" / "builders" / "recipes" / "matrix.py")
    )
    with pytest.raises(UserError, match="there is no"):
        locate_matrix()
    installed = tmp_path / "share" / "cpubisect" / "compiler-matrix.yaml"
    installed.parent.mkdir(parents=True)
    installed.write_text(TEXT)
    assert locate_matrix() == installed


rules = st.fixed_dictionaries(
    {"versions": st.sampled_from(["*", "1.0 -", "- 1.0", "2.0 -"]), "why": st.just("why")},
    optional={
        "std": st.sampled_from(["", "c++11", "c++17"]),
        "toolchain": st.lists(st.sampled_from(["gcc-11", "gcc-12", "clang-14"]), min_size=1, max_size=3),
        "options": st.lists(st.text("ab", max_size=2), max_size=3),
        "environment": st.dictionaries(st.sampled_from("AB"), st.text("xy", max_size=2)),
    },
)


@given(st.lists(rules, max_size=5))
def test_merging_keeps_the_order_of_the_file(given_rules: list[dict[str, object]]) -> None:
    first = {"versions": "*", "why": "first", "system": "make", "toolchain": ["gcc-12"]}
    every = [first, *given_rules]
    matrix = Matrix(MatrixFile.model_validate({"engines": {"toy": {**ENGINE, "rules": every}}}), Path("matrix.yaml"))
    host = [toolchain(name) for name in ("gcc-11", "gcc-12", "clang-14")]
    recipe = matrix.recipe(matrix.engine("toy"), "c0ffee", Version.parse("1.0"), host)
    holding = [rule for rule in every if rule["versions"] != "2.0 -"]
    assert recipe.options == tuple(option for rule in holding for option in rule.get("options", []))
    assert recipe.std == ([rule["std"] for rule in holding if "std" in rule] or [""])[-1]
    assert recipe.toolchain.name == [rule["toolchain"] for rule in holding if "toolchain" in rule][-1][0]
    merged: dict[str, str] = {}
    for rule in holding:
        merged.update(rule.get("environment", {}))
    assert recipe.environment == merged


def test_an_edited_patch_makes_a_new_recipe(tmp_path: Path) -> None:
    path = tmp_path / "compiler-matrix.yaml"
    path.write_text(
        "engines:\n"
        "  kv:\n"
        "    tags: ['v{version}']\n"
        "    version_files: [{path: VERSION, patterns: ['(.+)']}]\n"
        "    builder: rocksdb\n"
        "    workload: db_bench\n"
        "    rules:\n"
        "      - {versions: '*', why: all, tried: true, system: make, toolchain: [gcc-12], patches: [kv/a.patch]}\n"
    )
    patch = tmp_path / "patches" / "kv" / "a.patch"
    patch.parent.mkdir(parents=True)
    keys = []
    for text in ("one", "two", "one"):
        patch.write_text(text)
        matrix = Matrix.load(path)
        toolchain = Toolchain("gcc-12", "gcc-12", "g++-12", "ar", "ranlib", "12.2.0")
        keys.append(matrix.recipe(matrix.engine("kv"), "c0ffee", Version.parse("1.0"), [toolchain]).key())
    assert keys[0] == keys[2] != keys[1]
