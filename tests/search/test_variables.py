"""Which server variables changed, of those that may say something about cost."""

from cpubisect.search.ends import ChangedVariable, changed_variables


def test_changed_added_and_gone_variables_are_told_by_name() -> None:
    before = {"b_limit": "10", "gone": "1", "same": "x", "socket": "/a"}
    after = {"b_limit": "200", "a_new": "", "same": "x", "socket": "/b"}
    assert changed_variables(before, after) == (
        ChangedVariable("a_new", None, ""),
        ChangedVariable("b_limit", "10", "200"),
        ChangedVariable("gone", "1", None),
    )


def test_what_was_not_read_did_not_change() -> None:
    assert changed_variables({}, {"a": "1"}) == ()
    assert changed_variables({"a": "1"}, {}) == ()
