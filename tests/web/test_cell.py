"""What is behind a cell of a comparison."""

from cpubisect.web.views.cell import Grown, grown


def test_a_function_whose_signature_changed_is_one_function() -> None:
    before = {"row_store(char*, ulong const*)": 20.0, "rec_init(ulong*)": 5.0, "same()": 1.0}
    after = {"row_store(char*, dict_index_t const*)": 25.0, "rec_init(ulong*)": 5.05, "same()": 1.0, "new(int)": 9.0}
    assert grown(before, after) == (Grown("new", 0.0, 9.0), Grown("row_store", 20.0, 25.0))
