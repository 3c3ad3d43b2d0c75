"""What lies between good and bad: first-parent paths, fork points, and the insides of merges."""

from pathlib import Path

import pytest
from repositories import Story, git

from cpubisect.base.errors import UserError
from cpubisect.history.candidates import Candidates
from cpubisect.history.history import History


def between(history: History, shas: dict[int, str], good: int, bad: int) -> Candidates:
    return history.candidates(shas[good], shas[bad])


def numbers(shas: dict[int, str], found: Candidates) -> list[int]:
    by_sha = {sha: number for number, sha in shas.items()}
    return [by_sha[commit.sha] for commit in found.commits]


def written(story: Story, tmp_path: Path) -> tuple[History, dict[int, str]]:
    shas = story.write(tmp_path / "clone", bare=True)
    return History(tmp_path / "clone"), shas


def test_a_straight_line(tmp_path: Path) -> None:
    story = Story()
    for subject in ("one", "two", "three\n\nwith a text", "vier für fünf"):
        story.commit(message=subject)
    history, shas = written(story, tmp_path)
    found = between(history, shas, 1, 4)
    assert (found.good, found.commits[-1].sha, found.start, found.fork) == (shas[1], shas[4], shas[1], None)
    assert [commit.subject for commit in found.commits] == ["two", "three", "vier für fünf"]
    assert [commit.parent for commit in found.commits] == [shas[1], shas[2], shas[3]]
    assert not any(commit.is_merge for commit in found.commits)


def test_ends_that_make_no_question(tmp_path: Path) -> None:
    story = Story()
    for _ in range(3):
        story.commit()
    story.commit(branch="island")
    history, shas = written(story, tmp_path)
    with pytest.raises(UserError, match="the same commit"):
        between(history, shas, 2, 2)
    with pytest.raises(UserError, match=r"swap them.*--find improvement"):
        between(history, shas, 3, 1)
    with pytest.raises(UserError, match="no common history"):
        between(history, shas, 1, 4)


def test_a_merge_is_one_candidate_and_its_commits_are_inside_it(tmp_path: Path) -> None:
    story = Story()
    story.commit()  # 1
    story.commit()  # 2
    story.commit({"feature.c": "a"}, branch="feature", parents=[1])  # 3
    story.commit({"feature.c": "b"}, branch="feature")  # 4
    story.commit({"feature.c": "b"}, parents=[2, 4])  # 5
    story.commit()  # 6
    history, shas = written(story, tmp_path)
    found = between(history, shas, 2, 6)
    assert numbers(shas, found) == [5, 6]
    merge = found.commits[0]
    assert merge.is_merge
    (inside,) = history.inside_merge(merge.sha, merge.parent)
    assert (inside.good, inside.start, inside.fork) == (shas[2], shas[1], shas[1])
    assert numbers(shas, inside) == [3, 4]
    assert not any(commit.is_merge for commit in inside.commits)
    (other_side,) = history.inside_merge(merge.sha, shas[4])
    assert (numbers(shas, other_side), other_side.good, other_side.start) == ([2], shas[4], shas[1])


def test_merges_inside_merges(tmp_path: Path) -> None:
    story = Story()
    story.commit()  # 1
    story.commit(branch="topic", parents=[1])  # 2
    story.commit(branch="detail", parents=[2])  # 3
    story.commit(branch="detail")  # 4
    story.commit(branch="topic", parents=[2, 4])  # 5
    story.commit(parents=[1, 5])  # 6
    history, shas = written(story, tmp_path)
    found = between(history, shas, 1, 6)
    assert numbers(shas, found) == [6]
    (outer,) = history.inside_merge(shas[6], shas[1])
    assert (numbers(shas, outer), outer.start) == ([2, 5], shas[1])
    (inner,) = history.inside_merge(shas[5], outer.commits[1].parent)
    assert (numbers(shas, inner), inner.start) == ([3, 4], shas[2])


def test_a_merge_from_the_other_side(tmp_path: Path) -> None:
    """Who merges the main line into local work becomes its first parent; the main line's commits are then inside."""
    story = Story()
    for _ in range(4):
        story.commit()  # 1 … 4
    story.commit(branch="local", parents=[2])  # 5
    story.commit(parents=[5, 4])  # 6
    history, shas = written(story, tmp_path)
    found = between(history, shas, 3, 6)
    assert numbers(shas, found) == [5, 6]
    assert (found.start, found.fork) == (shas[2], shas[2])
    (inside,) = history.inside_merge(shas[6], shas[5])
    assert (numbers(shas, inside), inside.start) == ([3, 4], shas[2])


def test_good_on_a_release_branch(tmp_path: Path) -> None:
    story = Story()
    for _ in range(3):
        story.commit()  # 1 2 3
    story.commit(branch="release", parents=[2])  # 4
    history, shas = written(story, tmp_path)
    found = between(history, shas, 4, 3)
    assert (numbers(shas, found), found.start, found.fork) == ([3], shas[2], shas[2])


def test_a_release_branch_merged_again_and_again(tmp_path: Path) -> None:
    """The main line since it parted from the release branch is searched, not one step that holds all of it."""
    story = Story()
    story.commit()  # 1
    main, release = 1, 1
    for _ in range(3):
        release = story.commit(branch="release", parents=[release])
        main = story.commit(parents=[main])
        main = story.commit(parents=[main, release])
    last = story.commit()
    history, shas = written(story, tmp_path)
    found = between(history, shas, 8, last)
    assert numbers(shas, found) == [3, 4, 6, 7, 9, 10, 11]
    assert found.fork == shas[1]


def test_dates_that_run_backwards_do_not_mislead(tmp_path: Path) -> None:
    story = Story()
    for number in range(60):
        story.commit(day=1000 - 10 * number)
    story.commit(branch="work", parents=[30], day=5)
    story.commit(parents=[61, 60], day=3)
    history, shas = written(story, tmp_path)
    assert numbers(shas, between(history, shas, 10, 60)) == list(range(11, 61))
    found = between(history, shas, 45, 62)
    assert (numbers(shas, found), found.start) == ([61, 62], shas[30])


def test_an_octopus_has_one_list_for_each_merged_line(tmp_path: Path) -> None:
    story = Story()
    story.commit()  # 1
    story.commit()  # 2
    story.commit(branch="a", parents=[1])  # 3
    story.commit(branch="b", parents=[2])  # 4
    story.commit(branch="b")  # 5
    story.commit(parents=[2, 3, 5])  # 6
    history, shas = written(story, tmp_path)
    inside = history.inside_merge(shas[6], shas[2])
    assert [numbers(shas, line) for line in inside] == [[3], [4, 5]]
    assert [line.start for line in inside] == [shas[1], shas[2]]


def test_commits_with_nothing_inside(tmp_path: Path) -> None:
    story = Story()
    story.commit()  # 1
    story.commit()  # 2
    story.commit(parents=[2, 1])  # 3, a merge of what it has
    story.commit(branch="island")  # 4
    story.commit(parents=[3, 4])  # 5, a merge of another history
    history, shas = written(story, tmp_path)
    for number, parent in ((1, 1), (2, 1), (3, 2), (3, 4), (5, 3)):
        assert history.inside_merge(shas[number], shas[parent]) == ()


def test_a_line_that_began_elsewhere_is_followed_through_the_parents_that_contain_good(tmp_path: Path) -> None:
    story = Story()
    story.commit()  # 1
    story.commit()  # 2
    story.commit()  # 3
    story.commit({"other.c": "x"}, branch="island")  # 4, another root
    story.commit(branch="island", parents=[4, 2])  # 5
    story.commit(branch="island")  # 6
    history, shas = written(story, tmp_path)
    on_it = between(history, shas, 1, 6)
    assert (numbers(shas, on_it), on_it.start, on_it.fork) == ([2, 5, 6], shas[1], None)
    assert [commit.parent for commit in on_it.commits] == [shas[1], shas[2], shas[5]]
    beside_it = between(history, shas, 3, 6)
    assert (numbers(shas, beside_it), beside_it.fork) == ([5, 6], shas[2])


def test_questions_do_not_touch_each_other(tmp_path: Path) -> None:
    story = Story()
    story.commit()
    story.commit()
    story.commit(branch="side", parents=[1])
    history, shas = written(story, tmp_path)
    assert numbers(shas, history.candidates(shas[1], shas[2])) == [2]
    assert numbers(shas, history.candidates(shas[1], shas[3])) == [3]
    assert history.candidates(shas[2], shas[3]).fork == shas[1]


def test_a_long_history_is_listed_whole_and_in_order(tmp_path: Path) -> None:
    story = Story()
    for number in range(5000):
        story.commit({"number": f"{number}"})
    history, shas = written(story, tmp_path)
    found = between(history, shas, 1, 5000)
    assert numbers(shas, found) == list(range(2, 5001))
    assert [commit.subject for commit in found.commits] == [f"commit {number}" for number in range(2, 5001)]
    listed = git(history.path, "rev-list", "--first-parent", "--reverse", f"{shas[1]}..{shas[5000]}").split()
    assert [commit.sha for commit in found.commits] == listed
