import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.workloads.counters.attribution import attribute, is_library

ENGINE = "/opt/db/mysqld"


@pytest.mark.parametrize(
    ("function", "binary", "expected"),
    [
        ("anything", "/lib/x86_64-linux-gnu/libc.so.6", True),
        ("_dl_fixup", "/lib64/ld-linux-x86-64.so.2", True),
        ("malloc", ENGINE, True),
        ("_int_malloc", ENGINE, True),
        ("__memcpy_avx_unaligned_erms", ENGINE, True),
        ("operator new(unsigned long)", ENGINE, True),
        ("operator delete[](void*)", ENGINE, True),
        ("std::string::append(char const*)", ENGINE, True),
        ("void std::vector<kv::Handle, std::allocator<kv::Handle> >::_M_realloc_insert<int>(int)", ENGINE, True),
        ("std::pair<int, bool> std::_Rb_tree<int, kv::Less<2> >::_M_insert(kv::Handle (*)(int))", ENGINE, True),
        ("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)", ENGINE, True),
        ("bool std::operator< <int>(std::vector<int> const&, std::vector<int> const&)", ENGINE, True),
        ("std::unique_ptr<kv::Table> kv::Open<kv::Table>(std::string const&)", ENGINE, False),
        ("kv::Table::operator()(std::string const&) const", ENGINE, False),
        ("kv::Table::operator<(kv::Table const&) const", ENGINE, False),
        ("kv::(anonymous namespace)::Seek(std::string)", ENGINE, False),
        ("my_malloc", ENGINE, False),
        ("mem_heap_alloc", ENGINE, False),
        ("mallocator", ENGINE, False),
        ("row_search_for_mysql", ENGINE, False),
    ],
)
def test_what_counts_as_library(function: str, binary: str, expected: bool) -> None:
    assert is_library(function, binary) is expected


@pytest.mark.parametrize(
    ("functions", "calls", "expected"),
    [
        pytest.param({"get": 5, "malloc": 8}, {("get", "malloc"): 8}, {"get": 13}, id="one caller"),
        pytest.param(
            {"get": 5, "put": 1, "malloc": 8},
            {("get", "malloc"): 2, ("put", "malloc"): 6},
            {"get": 7, "put": 7},
            id="in proportion",
        ),
        pytest.param(
            {"get": 1, "std::new": 4, "malloc": 8, "_int_malloc": 16},
            {("get", "std::new"): 28, ("std::new", "malloc"): 24, ("malloc", "_int_malloc"): 16},
            {"get": 29},
            id="a chain",
        ),
        pytest.param(
            {"get": 1, "put": 1, "std::new": 4, "malloc": 8},
            {("get", "std::new"): 8, ("std::new", "malloc"): 4, ("put", "malloc"): 4},
            {"get": 9, "put": 5},
            id="a chain and beside it",
        ),
        pytest.param(
            {"get": 1, "std::erase": 9},
            {("get", "std::erase"): 9, ("std::erase", "std::erase"): 700},
            {"get": 10},
            id="recursion",
        ),
        pytest.param(
            {"get": 1, "std::sort": 3, "std::merge": 4},
            {("get", "std::sort"): 7, ("std::sort", "std::merge"): 6, ("std::merge", "std::sort"): 2},
            {"get": 8},
            id="two that call each other",
        ),
        pytest.param(
            {"get": 1, "std::sort": 3, "std::merge": 4},
            {("std::sort", "std::merge"): 6, ("std::merge", "std::sort"): 2},
            {"get": 1, "std::sort": 3, "std::merge": 4},
            id="a circle nobody entered",
        ),
        pytest.param(
            {"less": 4, "std::sort": 6, "get": 1},
            {("get", "std::sort"): 10, ("std::sort", "less"): 4},
            {"less": 4, "get": 7},
            id="called back",
        ),
        pytest.param({"start": 3, "malloc": 2}, {}, {"start": 3, "malloc": 2}, id="no caller known"),
        pytest.param({"get": 5, "free": -4}, {("get", "free"): 9}, {"get": 1}, id="less than before"),
    ],
)
def test_attribution(
    functions: dict[str, float], calls: dict[tuple[str, str], float], expected: dict[str, float]
) -> None:
    library = frozenset(name for name in functions if name.startswith("std::") or name.strip("_") in _ALLOCATOR)
    assert attribute(functions, calls, library) == pytest.approx(expected)


_ALLOCATOR = {"malloc", "free", "int_malloc"}
NAMES = st.sampled_from("abcdefgh")
COSTS = st.floats(0, 1e9)


@given(
    st.dictionaries(NAMES, COSTS),
    st.dictionaries(st.tuples(NAMES, NAMES), COSTS),
    st.frozensets(NAMES),
)
def test_it_ends_and_keeps_the_sum(
    functions: dict[str, float], calls: dict[tuple[str, str], float], library: frozenset[str]
) -> None:
    found = attribute(functions, calls, library)
    assert sum(found.values()) == pytest.approx(sum(functions.values()), rel=1e-6)
    assert all(found.get(name, 0.0) >= cost for name, cost in functions.items() if name not in library)
