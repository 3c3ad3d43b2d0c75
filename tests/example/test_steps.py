import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.example.history import STEPS
from cpubisect.example.step import Commit, Merge, append, apply, replace, start


def test_a_change_replaces_the_only_occurrence_and_leaves_the_tree_before_alone() -> None:
    before = {"a": "one two", "b": "two"}
    assert apply(before, (replace("a", "two", "three"),)) == {"a": "one three", "b": "two"}
    assert before == {"a": "one two", "b": "two"}


@pytest.mark.parametrize("content", ["nothing of the kind", "two two"])
def test_a_change_that_does_not_fit_is_an_error(content: str) -> None:
    with pytest.raises(ValueError, match=r"a holds \d times"):
        apply({"a": content}, (replace("a", "two", "three"),))


def test_changes_see_what_the_ones_before_them_made() -> None:
    assert apply({}, (append("a", "x"), append("a", "y"), replace("a", "xy", "z"))) == {"a": "z"}


@given(st.text(min_size=1), st.text(), st.text())
def test_a_change_and_its_opposite_cancel(old: str, head: str, tail: str) -> None:
    marker = "\N{SNOWMAN}"
    before = {"f": f"{head.replace(marker, '')}{marker}{tail.replace(marker, '')}"}
    there = apply(before, (replace("f", marker, f"{marker}{marker}"),))
    assert apply(there, (replace("f", f"{marker}{marker}", marker),)) == before
    assert apply(before, (append("f", old),))["f"] == before["f"] + old


def test_starting_a_release_names_it_in_the_version_header() -> None:
    (change,) = start("1.3.0", "1.2.0").changes
    assert (change.old, change.new) == ("MINIKV_MINOR 2\n", "MINIKV_MINOR 3\n")


def test_labels_are_unique() -> None:
    labels = [
        commit.label
        for step in STEPS
        for commit in (step, *(step.commits if isinstance(step, Merge) else ()))
        if isinstance(commit, Commit | Merge) and commit.label
    ]
    assert len(labels) == len(set(labels))
