"""Where plain and lean builds differ, by function."""

from lean import by_function, differing

KEY = ("mysql", "5.7.33", "gcc-12")
EARLIER = ("mysql", "5.7.4", "gcc-12")


def test_functions_that_differ_come_largest_first_and_rare_ones_do_not() -> None:
    plain = {"query()": 100.0, "strcmp": 66.0, "gone": 2.0, "rare": 0.001}
    lean = {"query()": 100.0, "strcmp": 60.0, "come": 2.5}
    assert differing(plain, lean) == [("strcmp", -6.0), ("come", 2.5), ("gone", -2.0)]


def test_releases_and_tests_that_both_have_get_a_row_in_the_order_of_versions() -> None:
    plain = {(KEY, "scan"): (1, {"a|b": 10.0}), (EARLIER, "scan"): (2, {"f": 1.0}), (KEY, "insert"): (1, {"f": 1.0})}
    lean = {(KEY, "scan"): (7, {"a|b": 8.0}), (EARLIER, "scan"): (5, {"f": 1.0})}
    assert list(by_function(plain, lean))[2:] == [
        "| mysql | 5.7.4 | scan | 1.0 | 1.0 |  |",
        "| mysql | 5.7.33 | scan | 10.0 | 8.0 | `a\\|b` -2.0 |",
    ]
