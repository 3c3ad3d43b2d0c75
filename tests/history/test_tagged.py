"""Which release a commit is, by the tags of a clone."""

from dataclasses import replace
from pathlib import Path

from repositories import MYSQL, Story, git

from cpubisect.history.history import History
from cpubisect.history.repository import Repository
from cpubisect.history.tagged import release_tags


def test_tags_of_the_engines_forms_are_releases(tmp_path: Path) -> None:
    story = Story()
    numbers = [story.commit() for _ in range(6)]
    story.tag("mysql-5.6.51", numbers[0])
    story.tag("mysql-5.7.16", numbers[1], annotated=True)
    story.tag("before-the-merge", numbers[2])
    story.tag("v5.7.17", numbers[3])
    story.tag("mysql-cluster-7.4.1", numbers[4])
    for tag in ("mysql-5.7.20-rc", "mysql-cluster-7.5.8", "mysql-5.7.21", "mysql-5.7.20"):
        story.tag(tag, numbers[5])
    shas = story.write(tmp_path / "clone")
    engine = replace(MYSQL, tags=("mysql-{version}", "mysql-cluster-{version}"))
    history = History(tmp_path / "clone", engine)
    names = [history.release(shas[number]) for number in numbers]
    assert names == ["mysql-5.6.51", "mysql-5.7.16", "", "", "mysql-cluster-7.4.1", "mysql-5.7.20"]
    assert History(tmp_path / "clone").release(shas[1]) == "", "an engine says which tags are releases"


def test_tags_of_anything_else_are_none(tmp_path: Path) -> None:
    path = tmp_path / "clone"
    story = Story()
    story.commit()
    shas = story.write(path)
    git(path, "tag", "mysql-5.6.1", f"{shas[1]}^{{tree}}")
    git(path, "tag", "mysql-5.6.2", shas[1])
    assert release_tags(Repository(path), MYSQL.tags)[shas[1]] == "mysql-5.6.2"
    assert release_tags(Repository(path), ()) == {}
