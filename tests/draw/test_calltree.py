from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpubisect.draw.calltree import DEEPEST, LEAST, PASSED_ON, ROOT, Frame, unfold
from cpubisect.search.costs import CallGraph

NAMES = ["main", "get", "put(int)", "put(long)", "f<int>::g()", "f<char>::g()", "[libc.so.6]", "operator new(unsigned)"]
COSTS = st.one_of(st.integers(0, 1000), st.floats(-10, 10_000, allow_subnormal=False))
GRAPHS = st.builds(
    CallGraph,
    st.dictionaries(st.sampled_from(NAMES), COSTS, max_size=len(NAMES)),
    st.dictionaries(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), COSTS, max_size=40),
)
"""Of any shape, cyclic ones and such as no program has among them."""


def every(frame: Frame) -> Iterator[Frame]:
    yield frame
    for child in frame.children:
        yield from every(child)


def depth(frame: Frame) -> int:
    return 1 + max(map(depth, frame.children), default=0)


def mirrored(frame: Frame) -> Frame:
    children = tuple(map(mirrored, frame.children))
    return Frame(frame.name, frame.after, frame.before, children)


def only(frame: Frame, *path: str) -> Frame:
    for name in path:
        (frame,) = (child for child in frame.children if child.name == name)
    return frame


def shape(frame: Frame) -> tuple[object, ...]:
    return (frame.name, round(frame.before, 6), round(frame.after, 6), *map(shape, frame.children))


def graph(functions: Mapping[str, float], **calls: float) -> CallGraph:
    """Calls as CALLER__CALLEE."""
    return CallGraph(functions, {(edge.split("__")[0], edge.split("__")[1]): cost for edge, cost in calls.items()})


@given(GRAPHS, GRAPHS)
def test_children_never_have_more_than_their_frame_and_the_root_has_it_all(before: CallGraph, after: CallGraph) -> None:
    root = unfold(before, after)
    sums = [max(0.0, sum(side.functions.values())) for side in (before, after)]
    assert [root.before, root.after] == pytest.approx(sums)
    for frame in every(root):
        rounding = 1e-9 * max(sums)
        assert 0 <= sum(child.before for child in frame.children) <= frame.before + rounding
        assert 0 <= sum(child.after for child in frame.children) <= frame.after + rounding
        assert frame is root or max(frame.before, frame.after) >= LEAST * max(sums)
        names = [child.name for child in frame.children]
        assert len(names) == len(set(names))


@given(GRAPHS, GRAPHS)
def test_before_and_after_are_treated_alike(before: CallGraph, after: CallGraph) -> None:
    assert unfold(after, before) == mirrored(unfold(before, after))


@given(GRAPHS)
def test_every_graph_has_an_end(any_graph: CallGraph) -> None:
    root = unfold(any_graph, any_graph)
    assert depth(root) <= len(NAMES) + 1, "no function is on a path twice"
    assert all(frame.change == 0 for frame in every(root))


@st.composite
def trees(draw: st.DrawFn) -> Frame:
    """A program without branches of a function's own: every function has one caller."""
    count = draw(st.integers(1, 12))
    parents = [draw(st.integers(0, number)) for number in range(count - 1)]
    own = [draw(st.integers(1, 50)) for _ in range(count)]

    def below(number: int) -> Frame:
        children = [below(child + 1) for child, parent in enumerate(parents) if parent == number]
        total = own[number] + sum(child.before for child in children)
        return Frame(f"f{number}", total, total, tuple(sorted(children, key=lambda one: (-one.before, one.name))))

    return below(0)


@given(trees())
def test_a_tree_is_unfolded_to_itself(program: Frame) -> None:
    functions = {frame.name: frame.before - sum(child.before for child in frame.children) for frame in every(program)}
    calls = {(frame.name, child.name): child.before for frame in every(program) for child in frame.children}
    root = unfold(CallGraph(functions, calls), CallGraph(functions, calls))
    while program.children and program.children[0].before >= PASSED_ON * root.before:
        program = program.children[0]
    assert root.before == sum(functions.values())
    assert shape(root.children[0]) == shape(program)


def test_what_a_shared_function_passes_on_is_split_by_the_calls_of_all() -> None:
    functions = {"main": 10, "a": 10, "b": 20, "copy": 30, "move": 30}
    shared = graph(functions, main__a=30, main__b=60, a__copy=20, b__copy=40, copy__move=30)
    root = unfold(shared, shared)
    assert only(root, "main", "a", "copy").before == 20
    assert only(root, "main", "a", "copy", "move").before == pytest.approx(10)
    assert only(root, "main", "b", "copy", "move").before == pytest.approx(20)


def test_a_root_that_is_called_again_further_down_is_a_root() -> None:
    # All code of a library without symbols has one name: it starts threads, and it is what they call.
    functions = {"[libc.so.6]": 40, "work": 60}
    threads = graph(functions, **{"[libc.so.6]__work": 90.0, "work__[libc.so.6]": 30.0})
    root = unfold(threads, threads)
    assert [child.name for child in root.children] == ["[libc.so.6]"]
    assert only(root, "[libc.so.6]").before == pytest.approx(100)
    assert only(root, "[libc.so.6]", "work").before == pytest.approx(60)


def test_what_arrives_from_outside_is_what_no_caller_has() -> None:
    functions = {"main": 50, "work": 50}
    root = unfold(graph(functions, main__work=30), graph(functions, main__work=30))
    assert [shape(child) for child in root.children] == [("main", 80, 80, ("work", 30, 30)), ("work", 20, 20)]


def test_calls_of_itself_do_not_swell_a_function() -> None:
    functions = {"main": 20, "fib": 60, "add": 20}
    deep = graph(functions, main__fib=80, fib__fib=300, fib__add=20)
    root = unfold(deep, deep)
    assert shape(only(root, "main", "fib")) == ("fib", 80, 80, ("add", 20, 20))


def test_recursion_is_folded_into_its_first_frames() -> None:
    # Three levels of a calling leaf and b, and b calling a; 10 instructions each time.
    functions = {"main": 10, "a": 30, "b": 30, "leaf": 30}
    levels = graph(functions, main__a=90, a__leaf=30, a__b=70 + 40 + 10, b__a=60 + 30)
    assert shape(only(unfold(levels, levels), "main", "a")) == ("a", 90, 90, ("b", 30, 30), ("leaf", 30, 30))


def test_functions_of_one_name_that_call_each_other_hide_nothing() -> None:
    # What starts main and what is started by the loader have one name in callgrind.
    start = {"(below main)__start": 100.0, "start__(below main)": 100.0}
    program = graph({"main": 40, "get": 60}, **start, **{"(below main)__main": 100.0}, main__get=60)
    root = unfold(program, program)
    assert shape(root) == (ROOT, 100, 100, ("main", 100, 100, ("get", 60, 60)))


def test_a_function_of_one_side_only_has_nothing_on_the_other() -> None:
    before = graph({"main": 50, "get": 50, "old": 20}, main__get=70, get__old=20)
    after = graph({"main": 50, "get": 50, "new": 40}, main__get=90, get__new=40)
    get = only(unfold(before, after), "main", "get")
    assert [(child.name, child.before, child.after, child.change) for child in get.children] == [
        ("new", 0, 40, 40),
        ("old", 20, 0, -20),
    ]


def test_a_changed_signature_is_one_function_and_its_callees_stay_apart() -> None:
    before = CallGraph({"main": 50, "seek(int)": 30, "a": 20}, {("main", "seek(int)"): 50, ("seek(int)", "a"): 20})
    after = CallGraph({"main": 50, "seek(long)": 30, "b": 20}, {("main", "seek(long)"): 50, ("seek(long)", "b"): 20})
    main = only(unfold(before, after), "main")
    assert shape(main) == ("main", 100, 100, ("seek", 50, 50, ("a", 20, 0), ("b", 0, 20)))
    assert only(unfold(before, before), "main", "seek(int)").before == 50


def test_overloads_are_unfolded_each_by_its_own_calls() -> None:
    functions = {"main": 40.0, "a": 20.0, "b": 40.0}
    calls = {("main", "put(int)"): 20.0, ("main", "put(long)"): 40.0, ("put(int)", "a"): 20.0, ("put(long)", "b"): 40.0}
    both = CallGraph(functions, calls)
    assert shape(only(unfold(both, both), "main", "put")) == ("put", 60, 60, ("b", 40, 40), ("a", 20, 20))


def test_small_frames_are_in_their_caller_unless_they_are_large_on_one_side() -> None:
    before = graph({"main": 999, "tiny": 0.5, "grown": 0.5}, main__tiny=0.5, main__grown=0.5)
    after = graph({"main": 998, "tiny": 0.5, "grown": 1.5}, main__tiny=0.5, main__grown=1.5)
    main = only(unfold(before, after), "main")
    assert [(child.name, child.before) for child in main.children] == [("grown", 0.5)]


def test_the_stem_is_left_out_as_far_as_it_passes_everything_on() -> None:
    stem = {"clone": 1, "start": 1, "seek": 400, "next": 598}
    before = graph(stem, clone__start=999, start__run=998, run__seek=400, run__next=598)
    root = unfold(before, before)
    assert [child.name for child in root.children] == ["run"]
    assert root.before == 1000, "what is left out stays in the whole"
    slower = replace(before, functions={**stem, "start": 15})
    slower = replace(slower, calls={**slower.calls, ("clone", "start"): 1013.0})
    changed = unfold(before, slower)
    assert [child.name for child in changed.children] == ["start"], "what changed is never left out"


def test_very_deep_stacks_end_in_a_frame_with_the_rest() -> None:
    names = [f"f{number}" for number in range(2 * DEEPEST)]
    functions = dict.fromkeys(names, 100.0)
    calls = {(one, two): 100.0 * (len(names) - at) for at, (one, two) in enumerate(pairwise(names), 1)}
    root = unfold(CallGraph(functions, calls), CallGraph(functions, calls))
    assert depth(root) <= DEEPEST + 1
    assert root.before == 100 * len(names)


def test_nothing_is_a_root_without_children() -> None:
    nothing = CallGraph({}, {})
    assert unfold(nothing, nothing) == Frame(ROOT, 0.0, 0.0)
    assert shape(unfold(nothing, CallGraph({"main": 5}, {}))) == (ROOT, 0, 5, ("main", 0, 5))
