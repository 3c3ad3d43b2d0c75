"""Where plain and lean builds differ, by function."""

from lean import Profiled, by_function, differing, own_change

KEY = ("mysql", "5.7.33", "gcc-12")
EARLIER = ("mysql", "5.7.4", "gcc-12")


def test_functions_that_differ_come_largest_first_and_rare_ones_do_not() -> None:
    plain = {"query()": 100.0, "strcmp": 66.0, "gone": 2.0, "rare": 0.001}
    lean = {"query()": 100.0, "strcmp": 60.0, "come": 2.5}
    assert differing(plain, lean) == [("strcmp", -6.0), ("come", 2.5), ("gone", -2.0)]


def test_releases_and_tests_that_both_have_get_a_row_in_the_order_of_versions() -> None:
    own, gone = frozenset({"a|b"}), frozenset[str]()
    plain = {
        (KEY, "scan"): Profiled(1.0, {"a|b": 10.0}, own),
        (EARLIER, "scan"): Profiled(2.0, {"f": 1.0}, gone),
        (KEY, "insert"): Profiled(1.0, {"f": 1.0}, own),
    }
    lean = {(KEY, "scan"): Profiled(7.0, {"a|b": 8.0}, own), (EARLIER, "scan"): Profiled(5.0, {"f": 1.0}, own)}
    assert list(by_function(plain, lean))[2:] == [
        "| mysql | 5.7.4 | scan | 1.0 | 1.0 |  |  |",
        "| mysql | 5.7.33 | scan | 10.0 | 8.0 | -20.000 % | `a\\|b` -2.0 |",
    ]


def test_what_a_library_of_the_host_takes_is_not_the_programs_own() -> None:
    plain = Profiled(1.0, {"query()": 90.0, "gone()": 4.0, "strcmp": 106.0}, frozenset({"query()", "gone()"}))
    lean = Profiled(2.0, {"query()'2": 91.0, "come()": 2.0, "strcmp": 40.0}, frozenset({"query()", "come()"}))
    assert own_change(plain, lean) == -0.5
