import pytest

from cpubisect.search.costs import Cost
from cpubisect.search.signature import HAS, Signature


def cost(**functions: float) -> Cost:
    return Cost(sum(functions.values()), functions)


BEFORE = cost(parse=40.0, seek=50.0, next=30.0, log=5.0)
AFTER = cost(parse=40.0, seek=70.0, next=38.0, log=5.5)


def test_both_ends_show_none_and_all_of_it() -> None:
    signature = Signature.of(BEFORE, AFTER, 1)
    assert signature is not None
    assert signature.share(BEFORE) == 0.0
    assert signature.share(AFTER) == pytest.approx(1.0)
    assert "log" not in signature.growth, "a trifle tells nothing"


def test_what_else_a_branch_lacks_or_has_does_not_matter() -> None:
    signature = Signature.of(BEFORE, AFTER, 1)
    assert signature is not None
    branch = {"parse": 90.0, "log": 1.0, "other": 300.0}
    assert signature.share(cost(**branch, seek=51.0, next=30.0)) < HAS
    assert signature.share(cost(**branch, seek=69.0, next=37.0)) > HAS


def test_cost_that_only_moved_is_no_part_of_it() -> None:
    moved = cost(parse=1.0, parse_one=39.0, seek=70.0, next=30.0, log=5.0)
    signature = Signature.of(BEFORE, moved, 1)
    assert signature is not None
    assert {*signature.growth} == {"seek"}


def test_improvements_have_one_too() -> None:
    signature = Signature.of(AFTER, BEFORE, -1)
    assert signature is not None
    assert signature.share(BEFORE) == pytest.approx(1.0)
    assert Signature.of(AFTER, BEFORE, 1) is None


def test_without_functions_there_is_none() -> None:
    assert Signature.of(Cost(100.0), AFTER, 1) is None
