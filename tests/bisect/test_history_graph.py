"""Ways through commits: pure, checked against the laws they must keep and against git itself."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from repositories import Story, git

from cpubisect.graph import Graph, parse_parents


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Up to 25 commits, named by number, each with parents among the earlier ones; several may be roots."""
    count = draw(st.integers(2, 25))
    parents: dict[str, tuple[str, ...]] = {"00": ()}
    for number in range(1, count):
        earlier = st.integers(0, number - 1).map(lambda at: f"{at:02}")
        least = draw(st.sampled_from([0, 1, 1, 1, 1, 1, 1, 1]))
        parents[f"{number:02}"] = tuple(draw(st.lists(earlier, min_size=least, max_size=3, unique=True)))
    return parents


def everything_inside(graph: Graph, good: str, bad: str) -> set[str]:
    """All commits that the path and, as deep as it goes, the merges on it lead to."""
    span = graph.span(good, bad)
    if span is None:
        return graph.ancestors(bad) - graph.ancestors(good)
    found = set(span.path)
    for before, commit in zip((span.start, *span.path), span.path, strict=False):
        for parent in graph.parents[commit]:
            if not graph.is_ancestor(parent, before):
                found |= everything_inside(graph, before, parent)
    return found


@given(graphs(), st.data())
def test_the_path_is_a_chain_from_start_to_bad(parents: dict[str, tuple[str, ...]], data: st.DataObject) -> None:
    graph = Graph(parents)
    good, bad = (data.draw(st.sampled_from(sorted(parents))) for _ in range(2))
    span = graph.span(good, bad)
    if graph.is_ancestor(bad, good):
        assert span is not None
        assert (span.start, span.path) == (bad, ())
        return
    if span is None:
        assert not graph.ancestors(good) & graph.ancestors(bad)
        return
    assert span.path[-1] == bad
    assert graph.is_ancestor(span.start, good)
    for before, commit in zip((span.start, *span.path), span.path, strict=False):
        assert before in graph.parents[commit]
    containing = [commit for commit in span.path if graph.is_ancestor(good, commit)]
    assert span.entry == (containing[0] if containing else None)


@given(graphs(), st.data())
def test_what_bad_has_and_good_has_not_is_found_on_the_path_or_inside_its_merges(
    parents: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    graph = Graph(parents)
    good, bad = (data.draw(st.sampled_from(sorted(parents))) for _ in range(2))
    assert everything_inside(graph, good, bad) >= graph.ancestors(bad) - graph.ancestors(good)


@given(graphs(), st.data())
def test_the_first_parent_path_is_taken_where_it_meets_good(
    parents: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    graph = Graph(parents)
    good, bad = (data.draw(st.sampled_from(sorted(parents))) for _ in range(2))
    first_parents = [bad]
    while parents[first_parents[-1]]:
        first_parents.append(parents[first_parents[-1]][0])
    meeting = next((commit for commit in first_parents if graph.is_ancestor(commit, good)), None)
    span = graph.span(good, bad)
    if meeting is not None:
        assert span is not None
        assert span.start == meeting
        assert list(span.path) == first_parents[: first_parents.index(meeting)][::-1]


def test_git_agrees(tmp_path: Path) -> None:
    story = Story()
    # A fixed tangle of two long lines and short ones that merge each other; the dates run backwards in places.
    shape: list[list[int]] = [[]]
    for number in range(1, 60):
        merged = [number * 7 // 11] if number % 4 == 0 else [number // 2] if number % 5 == 0 else []
        shape.append(list(dict.fromkeys([max(0, number - 1 - number % 3), *merged])))
    for number, parents in enumerate(shape, 1):
        story.commit(branch=f"b{number}", parents=[parent + 1 for parent in parents], day=number * 37 % 50)
    shas = story.write(tmp_path / "tangle", bare=True)
    listing = git(tmp_path / "tangle", "rev-list", "--parents", "--all")
    graph = Graph(parse_parents(listing))
    assert graph.parents == {shas[i]: tuple(shas[p + 1] for p in parents) for i, parents in enumerate(shape, 1)}
    for i in range(1, 60, 7):
        for j in range(2, 60, 5):
            one, other = shas[i], shas[j]
            bases = git(tmp_path / "tangle", "merge-base", "--all", one, other).split()
            assert graph.merge_bases(one, other) == sorted(bases)
            assert graph.ancestors(one) == set(git(tmp_path / "tangle", "rev-list", one).split())
            assert graph.is_ancestor(one, other) == (bases == [one])
