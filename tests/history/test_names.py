"""What a user types: versions, tags, branches, shas, revisions; and what they meant if it is none."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import MYSQL, ROCKSDB, Story, git, mysql_version, partial_clone, rocksdb_version

from cpubisect.base.engine import VersionFile
from cpubisect.base.errors import UserError
from cpubisect.base.version import Version
from cpubisect.builders.recipes.matrix import Matrix
from cpubisect.history.history import History
from cpubisect.history.names import Source
from cpubisect.history.releases import Raise, VersionReader, nearest, ranked_raises
from cpubisect.history.repository import Repository


def test_versions_of_a_partial_clone_come_in_one_go(tmp_path: Path) -> None:
    story = Story()
    for patch in range(1, 9):
        story.commit(mysql_version(f"5.6.{patch}"))
    story.write(tmp_path / "upstream")
    clone = partial_clone(tmp_path / "upstream", tmp_path / "partial.git")
    assert "nearest: 5.6.8" in hint(History(clone, MYSQL), "5.6.99")
    # The clone's own pack, what the tip says, and what all raises of the version say.
    assert len(list(clone.glob("objects/pack/*.pack"))) <= 3


def hint(history: History, name: str) -> str:
    with pytest.raises(UserError) as caught:
        history.resolve(name)
    return str(caught.value)


@pytest.fixture
def tagged(tmp_path: Path) -> tuple[History, dict[int, str]]:
    """A MySQL clone with tags, one of them annotated, and a second branch known from a remote only."""
    story = Story()
    for patch in (10, 11, 50, 51):
        number = story.commit(mysql_version(f"5.6.{patch}"))
        story.tag(f"mysql-5.6.{patch}", number, annotated=patch == 51)
    story.commit(branch="8.0", parents=[1])
    story.tag("mysql-5.5.25a", 2)
    story.tag("mysql-5.7.5-m15", 3)
    shas = story.write(tmp_path / "upstream")
    git(tmp_path, "clone", "--quiet", str(tmp_path / "upstream"), "clone")
    return History(tmp_path / "clone", MYSQL), shas


@pytest.mark.parametrize(
    ("name", "number", "source", "where"),
    [
        ("5.6.51", 4, Source.TAG, "mysql-5.6.51"),
        ("v5.6.10", 1, Source.TAG, "mysql-5.6.10"),
        ("mysql-5.6.11", 2, Source.TAG, "mysql-5.6.11"),
        ("5.5.25a", 2, Source.TAG, "mysql-5.5.25a"),
        ("5.7.5", 3, Source.TAG, "mysql-5.7.5-m15"),
        ("5.7.5-m15", 3, Source.TAG, "mysql-5.7.5-m15"),
        ("main", 4, Source.BRANCH, "main"),
        ("origin/main", 4, Source.BRANCH, "origin/main"),
        ("8.0", 5, Source.BRANCH, "origin/8.0"),
        ("refs/tags/mysql-5.6.50", 3, Source.REVISION, "refs/tags/mysql-5.6.50"),
        ("HEAD", 4, Source.REVISION, "HEAD"),
        ("main~3", 1, Source.REVISION, "main~3"),
        ("mysql-5.6.51^", 3, Source.REVISION, "mysql-5.6.51^"),
    ],
)
def test_names(tagged: tuple[History, dict[int, str]], name: str, number: int, source: Source, where: str) -> None:
    history, shas = tagged
    found = history.resolve(name)
    assert (found.sha, found.name, found.source, found.where) == (shas[number], name, source, where)


def test_shas_full_and_abbreviated(tagged: tuple[History, dict[int, str]]) -> None:
    history, shas = tagged
    for length in (40, 12, 7):
        assert history.resolve(shas[2][:length]).sha == shas[2]
    assert history.resolve(shas[2].upper()).sha == shas[2]


@pytest.mark.parametrize(
    "name", ["nonsense", "main~99", "a..b", "main...8.0", "main:VERSION", "x y", "0" * 40, "ab?*["]
)
def test_names_that_mean_nothing(tagged: tuple[History, dict[int, str]], name: str) -> None:
    assert "names no commit" in hint(tagged[0], name)


def test_a_tag_of_something_else(tagged: tuple[History, dict[int, str]]) -> None:
    history, _ = tagged
    git(history.path, "tag", "a-file", "main:VERSION")
    assert "a-file is no commit" in hint(history, "a-file")


def test_unknown_versions_name_the_nearest(tagged: tuple[History, dict[int, str]]) -> None:
    assert "nearest: 5.6.51, 5.6.50, 5.6.11" in hint(tagged[0], "5.6.99")
    assert "nearest: 5.6.11, 5.6.10, 5.6.50" in hint(tagged[0], "mysql-5.6.12")


def test_a_series_is_not_a_release(tagged: tuple[History, dict[int, str]]) -> None:
    assert "5.6 is a series, not one release: it has from 5.6.10 to 5.6.51" in hint(tagged[0], "5.6")


def test_an_ambiguous_sha_lists_what_it_could_be(tmp_path: Path) -> None:
    story = Story()
    for _ in range(1500):
        story.commit()
    shas = sorted(story.write(tmp_path / "many", bare=True).values())
    beginning, alike = next(
        (key, found) for key, group in groupby(shas, lambda sha: sha[:4]) if len(found := list(group)) > 1
    )
    text = hint(History(tmp_path / "many"), beginning)
    assert f"{beginning} is the beginning of {len(alike)} commits" in text
    assert all(sha[:8] in text for sha in alike)


def test_a_branch_of_two_remotes(tagged: tuple[History, dict[int, str]]) -> None:
    history, shas = tagged
    git(history.path, "update-ref", "refs/remotes/fork/8.0", shas[1])
    assert "say which: fork/8.0, origin/8.0" in hint(history, "8.0")


def test_rocksdb_tag_forms(tmp_path: Path) -> None:
    story = Story()
    for name in ("rocksdb-3.5", "v3.6.1", "rocksdb-3.6.1", "v8.11.4"):
        story.tag(name, story.commit())
    shas = story.write(tmp_path / "rocksdb")
    history = History(tmp_path / "rocksdb", ROCKSDB)
    assert history.resolve("3.5").sha == shas[1]
    assert history.resolve("3.5.0").sha == shas[1]
    assert history.resolve("3.6.1").where == "v3.6.1"
    assert history.resolve("rocksdb-8.11.4").sha == shas[4]


def test_one_milestone_is_not_another(tagged: tuple[History, dict[int, str]]) -> None:
    assert "nearest: 5.7.5-m15" in hint(tagged[0], "5.7.5-m16")


FORKS = {
    "postgres": (("REL_{version}", "REL{version}"), r"^AC_INIT\(\[\w+\], \[(\d+(?:\.\d+)*)"),
    "mariadb": (("mariadb-{version}",), r"^VERSION (.+)"),
    "percona": (("Percona-Server-{version}",), r"^VERSION (.+)"),
}


def of_another(tmp_path: Path, name: str, *tags: str) -> tuple[History, dict[str, str]]:
    """A clone of another project, with a commit for each of its tags; their shas by tag."""
    story = Story()
    numbers = {
        tag: story.commit({"configure.ac": f"AC_INIT([PostgreSQL], [{n}devel], [x])\n"}) for n, tag in enumerate(tags)
    }
    for tag, number in numbers.items():
        story.tag(tag, number)
    shas = story.write(tmp_path / name)
    forms, pattern = FORKS[name]
    engine = replace(ROCKSDB, name=name, tags=forms, version_files=(VersionFile("configure.ac", (pattern,)),))
    return History(tmp_path / name, engine), {tag: shas[number] for tag, number in numbers.items()}


def test_tags_with_underscores(tmp_path: Path) -> None:
    tags = ("REL9_6_24", "REL_16_0", "REL_17_BETA1", "REL_17_BETA2", "REL_17_RC1", "REL_17_0", "REL_17_2")
    history, shas = of_another(tmp_path, "postgres", *tags)
    git(history.path, "update-ref", "refs/remotes/origin/REL_17_STABLE", shas["REL_17_2"])
    for name, tag in (("17.2", "REL_17_2"), ("9.6.24", "REL9_6_24"), ("17.0", "REL_17_0"), ("17_2", "REL_17_2")):
        assert history.resolve(name).where == tag
    for tag in tags:
        assert history.resolve(tag).sha == shas[tag]
    assert history.resolve("REL_17_STABLE").where == "origin/REL_17_STABLE"
    assert str(history.version_at(shas["REL_17_2"])) == "6"
    assert "nearest: 17.2, 17.0" in hint(history, "17.3")


def test_a_beta_is_not_the_release_nor_another_beta(tmp_path: Path) -> None:
    history, shas = of_another(tmp_path, "postgres", "REL_16_0", "REL_17_BETA1")
    assert history.resolve("REL_17_BETA1").sha == shas["REL_17_BETA1"]
    assert "no version 17.0" in hint(history, "17.0")
    assert "no version 17-beta2" in hint(history, "REL_17_BETA2")


@pytest.mark.parametrize(
    ("engine", "tag", "names"),
    [
        ("mariadb", "mariadb-10.11.6", ["10.11.6", "mariadb-10.11.6", "v10.11.6"]),
        ("percona", "Percona-Server-8.0.35-27", ["8.0.35", "8.0.35-27", "Percona-Server-8.0.35-27"]),
    ],
)
def test_tags_of_mysql_s_forks(tmp_path: Path, engine: str, tag: str, names: list[str]) -> None:
    history, shas = of_another(tmp_path, engine, "older", tag)
    for name in names:
        found = history.resolve(name)
        assert (found.sha, found.where) == (shas[tag], tag)


def test_without_an_engine_versions_mean_nothing_but_tags_do(tagged: tuple[History, dict[int, str]]) -> None:
    history = History(tagged[0].path)
    assert history.resolve("mysql-5.6.51").sha == tagged[1][4]
    assert "names no commit" in hint(history, "5.6.51")
    assert history.version_at(tagged[1][4]) is None


def test_the_engine_is_read_off_the_tree(tmp_path: Path, tagged: tuple[History, dict[int, str]]) -> None:
    history = History(tagged[0].path)
    assert history.detect_engine([ROCKSDB, MYSQL]) is MYSQL
    assert history.resolve("5.6.51").sha == tagged[1][4]
    story = Story()
    story.commit({"VERSION": "1.0, of something else\n"})
    story.commit({**rocksdb_version("9.1.0"), "VERSION": None})
    story.write(tmp_path / "other")
    other = History(tmp_path / "other")
    assert other.detect_engine([MYSQL, ROCKSDB]) is ROCKSDB
    git(tmp_path / "other", "checkout", "--quiet", "HEAD~1")
    with pytest.raises(UserError, match="--engine"):
        other.detect_engine([MYSQL, ROCKSDB])


@pytest.mark.parametrize(("more", "expected"), [("", "mysql"), ("SERVER_MATURITY=stable\n", "mariadb")])
def test_a_fork_is_told_from_what_it_came_from(tmp_path: Path, more: str, expected: str) -> None:
    story = Story()
    version = "MYSQL_VERSION_MAJOR=10\nMYSQL_VERSION_MINOR=11\nMYSQL_VERSION_PATCH=18\n"
    story.commit({"VERSION": version + more})
    story.write(tmp_path / "clone")
    assert History(tmp_path / "clone").detect_engine(Matrix.load().engines()).name == expected


def test_versions_by_file(tmp_path: Path) -> None:
    story = Story()
    story.commit({"configure.in": "AC_INIT(sql/mysqld.cc)\nAM_INIT_AUTOMAKE(mysql, 5.0.91)\n"})
    story.commit({"configure.in": "dnl\nAC_INIT([MySQL Server], [5.1.54], [], [mysql])\n"})
    story.commit({"configure.in": None, **mysql_version("5.6.1")})
    story.commit({"MYSQL_VERSION": mysql_version("8.0.36")["VERSION"], "VERSION": "8.0.36, see MYSQL_VERSION"})
    story.commit({"MYSQL_VERSION": None, "VERSION": "none"})
    shas = story.write(tmp_path / "files")
    reader = VersionReader(Repository(tmp_path / "files"), MYSQL.version_files)
    found = reader.versions(shas[number] for number in (1, 2, 3, 4, 5, 1))
    assert [str(version) for version in found.values()] == ["5.0.91", "5.1.54", "5.6.1", "8.0.36", "None"]


class TestWithoutTags:
    """The version file names the next release, so X was cut just before the version was raised from X."""

    def test_release_points_and_tips(self, tmp_path: Path) -> None:
        story = Story()
        for version in ("5.5.7", "5.5.8"):
            story.commit(mysql_version(version))
            story.commit()
        shas = story.write(tmp_path / "clone")
        history = History(tmp_path / "clone", MYSQL)
        found = history.resolve("5.5.7")
        assert (found.sha, found.source, found.where) == (shas[2], Source.RELEASE_POINT, shas[3])
        tip = history.resolve("5.5.8")
        assert (tip.sha, tip.source, tip.where) == (shas[4], Source.BRANCH_TIP, "HEAD")
        assert "nearest: 5.5.8, 5.5.7" in hint(history, "5.5.9")
        assert "5.5 is a series" in hint(history, "5.5")

    def test_a_release_line_that_was_merged_into_the_next_series(self, tmp_path: Path) -> None:
        story = Story()
        story.commit(mysql_version("5.5.8"))
        story.commit(branch="release", parents=[1])
        story.commit(mysql_version("5.5.9"), branch="release", message="Raise version number after cloning 5.5.8")
        story.commit(mysql_version("5.6.1"))
        story.commit(parents=[4, 3])
        shas = story.write(tmp_path / "clone")
        git(tmp_path / "clone", "branch", "-D", "release")
        history = History(tmp_path / "clone", MYSQL)
        assert history.resolve("5.5.8").sha == shas[2]
        assert history.resolve("5.6.1").sha == shas[5]

    def test_a_version_raised_in_the_merge_itself(self, tmp_path: Path) -> None:
        story = Story()
        story.commit(mysql_version("5.6.19"))
        story.commit(mysql_version("5.5.38"), branch="older", parents=[1])
        story.commit(mysql_version("5.6.20"), parents=[1, 2])
        story.commit(mysql_version("5.6.21"))
        shas = story.write(tmp_path / "clone")
        assert History(tmp_path / "clone", MYSQL).resolve("5.6.19").sha == shas[1]

    def test_merging_a_raise_is_not_raising(self, tmp_path: Path) -> None:
        story = Story()
        story.commit(mysql_version("5.6.3"))
        story.commit(branch="feature", parents=[1])
        story.commit()
        story.commit(mysql_version("5.6.4"))
        story.commit(mysql_version("5.6.4"), branch="feature", parents=[2, 4])
        story.commit(mysql_version("5.6.4"), parents=[5, 4])
        shas = story.write(tmp_path / "clone")
        assert History(tmp_path / "clone", MYSQL).resolve("5.6.3").sha == shas[3]

    def test_a_history_converted_twice(self, tmp_path: Path) -> None:
        """The same releases under two sets of shas: each pair is taken from one line that has both of its ends."""
        story = Story()
        for branch, versions in (("main", (10, 11, 12)), ("second", (9, 10, 11, 12, 13))):
            for version in versions:
                story.commit(mysql_version(f"5.6.{version}"), branch=branch)
        shas = story.write(tmp_path / "clone")
        history = History(tmp_path / "clone", MYSQL)
        assert history.resolve("5.6.10").sha == shas[1]
        assert [end.sha for end in history.resolve_pair("5.6.10", "5.6.11")] == [shas[1], shas[2]]
        assert [end.sha for end in history.resolve_pair("5.6.10", "5.6.13")] == [shas[5], shas[8]]
        assert [end.sha for end in history.resolve_pair("5.6.10", "second")] == [shas[5], shas[8]]
        assert [end.sha for end in history.resolve_pair(shas[4], "5.6.11")] == [shas[4], shas[6]]

    def test_ends_that_no_line_has_together(self, tmp_path: Path) -> None:
        story = Story()
        story.commit(mysql_version("5.6.1"))
        story.commit(mysql_version("5.7.1"), branch="next", parents=[1])
        shas = story.write(tmp_path / "clone")
        history = History(tmp_path / "clone", MYSQL)
        git(tmp_path / "clone", "checkout", "--quiet", "--orphan", "empty")
        assert [end.sha for end in history.resolve_pair("5.6.1", "5.7.1")] == [shas[1], shas[2]]
        with pytest.raises(UserError, match=r"no version 5\.8\.0"):
            history.resolve_pair("5.6.1", "5.8.0")


def test_two_tags_need_no_common_line(tagged: tuple[History, dict[int, str]]) -> None:
    history, shas = tagged
    assert [end.sha for end in history.resolve_pair("5.6.10", "8.0")] == [shas[1], shas[5]]


def raised(commit: str, after: str, subject: str = "", committed: int = 0, merge: bool = False) -> Raise:
    return Raise(commit, f"before {commit}", Version.parse("5.5.22"), Version.parse(after), subject, committed, merge)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (raised("a", "5.5.23", "Merge from 5.5.22", merge=True), raised("b", "5.6.0")),
        (raised("a", "5.5.23", "bumped to 5.5.23"), raised("b", "5.5.24", "Raise version after cloning 5.5.22")),
        (raised("a", "5.5.23", "after 5.5.221", 9), raised("b", "5.5.24", "after 5.5.22")),
        (raised("a", "5.6.0", committed=9), raised("b", "5.5.23")),
        (raised("a", "5.5.23", committed=1), raised("b", "5.5.23", committed=2)),
        (raised("b", "5.5.23"), raised("a", "5.5.23")),
    ],
)
def test_the_best_of_several_raises(worse: Raise, better: Raise) -> None:
    version = Version.parse("5.5.22")
    assert ranked_raises([worse, better], version) == ranked_raises([better, worse], version) == [better, worse]
    assert ranked_raises([worse, better], Version.parse("5.5.23")) == []


versions = st.lists(st.integers(0, 12), min_size=3, max_size=3).map(lambda parts: Version(tuple(parts)))


@given(st.lists(versions), versions)
def test_nearest_versions(known: list[Version], wanted: Version) -> None:
    found = nearest(known, wanted)
    assert len(found) == min(3, len(set(known)))
    assert set(found) <= set(known)
    if wanted in known:
        assert found[0] == wanted
    same_series = {version for version in known if version.parts[:2] == wanted.parts[:2]}
    assert set(found) <= same_series or same_series <= set(found)
