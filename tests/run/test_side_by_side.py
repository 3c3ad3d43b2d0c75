"""Several tests of one bisection with several builders: they are answered side by side, from builds made once."""

from collections import Counter
from pathlib import Path

import pytest
from many_hosts import ManyHosts
from small_bisections import begun, briefly, history, tree

from cpubisect.base.home import Home
from cpubisect.run.bench.here import InProcess
from cpubisect.search import events
from cpubisect.search.events import Event
from cpubisect.search.verdict import Answer
from cpubisect.service.launch import run
from cpubisect.service.sandboxing import settled
from cpubisect.views.under_way import KINDS, under_way

BOTH = ("readrandom", "overwrite")
BENCH = (Path(__file__).parents[1] / "workloads" / "small_bench.c").read_text()
PROGRAM = {"small_bench.c": BENCH.replace("i < 500", "i < ENCODE")}
SIZE, READ, WRITTEN = 9, 3, 7


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, list[str]]:
    """Reading becomes costlier with one commit, writing with another one."""

    def costs(number: int) -> dict[str, str]:
        lookup, encode = (1200 if number >= READ else 1000), (700 if number >= WRITTEN else 500)
        return {"cost.h": f"#define LOOKUP {lookup}\n#define ENCODE {encode}\nint marker = {number};\n"}

    first = {**tree(1000), **PROGRAM, **costs(0)}
    shas = history(first, *(costs(number) for number in range(1, SIZE))).write(tmp_path / "kv")
    return tmp_path / "kv", [shas[number] for number in sorted(shas)]


def hosts(builders: int, seed: int) -> ManyHosts:
    return ManyHosts(InProcess(Home.open(), settled), builders, seed)


def quiet(event: Event) -> None:
    pass


def named(answer: Answer | None) -> dict[str, list[str]]:
    assert answer is not None
    return {test: [culprit.sha for culprit in verdict.culprits] for test, verdict in answer.tests.items()}


@pytest.mark.parametrize(("builders", "seed"), [pytest.param(2, 1, marks=pytest.mark.long), (9, 4)])
def test_each_test_gets_its_answer_and_nothing_is_made_twice(
    home: Path, clone: tuple[Path, list[str]], builders: int, seed: int
) -> None:
    path, shas = clone
    executor = hosts(builders, seed)
    registry, number = begun(path, shas[0], tests=BOTH)
    with briefly():
        answer = run(registry, number, quiet, executor=executor)
    assert named(answer) == {"readrandom": [shas[READ]], "overwrite": [shas[WRITTEN]]}
    assert list(named(answer)) == list(BOTH)
    # What one has withdrawn, the other may order later.
    assert max(Counter(executor.made).values()) == 1
    assert sorted([*executor.made, *executor.cancelled]) == sorted(executor.ordered)
    store = registry.store
    rows = [build.sha for build, _ in store.builds(number)]
    assert sorted(rows) == sorted(executor.made)
    finished = [event.sha for event in store.told(number, events.BuildFinished)]
    assert sorted(finished) == sorted(rows)
    withdrawn = [event.sha for event in store.told(number, events.BuildWithdrawn)]
    assert sorted(withdrawn) == sorted(executor.cancelled)
    # One probe of each commit for the search by each test, and the ends' further ones.
    probes = Counter((row.build, row.test) for row in store.probes(number) if str(row.purpose) == "search")
    ends = {build.id for build, _ in store.builds(number) if build.sha in (shas[0], shas[-1])}
    assert all(count == 1 for (build, _), count in probes.items() if build not in ends)
    journal = store.events(number)
    now = under_way([entry for entry in journal if isinstance(entry.event, KINDS)])
    assert not now.queue
    assert not any(host.does for host in now.hosts)


@pytest.mark.long
def test_their_searches_are_under_way_together(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    registry, number = begun(path, shas[0], tests=BOTH)
    with briefly():
        run(registry, number, quiet, executor=hosts(3, 5))
    told = [entry.event for entry in registry.store.events(number)]
    answered = next(place for place, event in enumerate(told) if isinstance(event, events.Answered))
    before = {event.test for event in told[:answered] if isinstance(event, events.Next | events.Price)}
    assert before == set(BOTH)


@pytest.mark.long
@pytest.mark.parametrize("probes", [1, 6])
def test_an_interruption_ends_all_and_keeps_what_there_is(
    home: Path, clone: tuple[Path, list[str]], probes: int
) -> None:
    path, shas = clone
    executor, seen = hosts(4, 6), 0

    def interrupts(event: Event) -> None:
        nonlocal seen
        if isinstance(event, events.ProbeFinished):
            seen += 1
            if seen == probes:
                raise KeyboardInterrupt

    registry, number = begun(path, shas[0], tests=BOTH)
    with briefly(), pytest.raises(KeyboardInterrupt):
        run(registry, number, interrupts, executor=executor)
    assert registry.store.bisection(number).state == "interrupted"
    assert sorted([*executor.made, *executor.cancelled]) == sorted(executor.ordered)
    assert sorted(build.sha for build, _ in registry.store.builds(number)) == sorted(executor.made)
    again = hosts(4, 7)
    with briefly():
        answer = run(registry, number, quiet, executor=again)
    assert named(answer) == {"readrandom": [shas[READ]], "overwrite": [shas[WRITTEN]]}
    assert not {*executor.made} & {*again.made}
