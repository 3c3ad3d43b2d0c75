"""Builds that are begun ahead, with the store, the clone and the programs that a bisection has: whatever order they end
in, and where it is interrupted."""

from collections import Counter
from pathlib import Path

import pytest
from many_hosts import ManyHosts
from small_bisections import begun, briefly, cost, history, tree

from cpubisect.base.home import Home
from cpubisect.run.bench.here import InProcess
from cpubisect.search import events
from cpubisect.search.events import Event
from cpubisect.service.launch import run
from cpubisect.service.sandboxing import settled
from cpubisect.views.under_way import KINDS, under_way

SIZE, SLOW = 14, 9


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, list[str]]:
    costs = [cost((1000 if number < SLOW else 3000) + number) for number in range(1, SIZE)]
    shas = history(tree(1000), *costs).write(tmp_path / "kv")
    return tmp_path / "kv", [shas[number] for number in sorted(shas)]


def hosts(builders: int, seed: int) -> ManyHosts:
    return ManyHosts(InProcess(Home.open(), settled), builders, seed)


def quiet(event: Event) -> None:
    pass


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.long), 2])
def test_the_culprit_is_found_and_no_commit_is_built_twice(
    home: Path, clone: tuple[Path, list[str]], seed: int
) -> None:
    path, shas = clone
    executor = hosts(4, seed)
    registry, number = begun(path, shas[0])
    with briefly():
        answer = run(registry, number, quiet, executor=executor)
    assert answer is not None
    (verdict,) = answer.tests.values()
    assert [culprit.sha for culprit in verdict.culprits] == [shas[SLOW]]
    assert max(Counter(executor.ordered).values()) == 1
    assert {*executor.probed} <= {*executor.made}
    assert sorted([*executor.made, *executor.cancelled]) == sorted(executor.ordered)
    journal = registry.store.events(number)
    withdrawn = [event.sha for event in registry.store.told(number, events.BuildWithdrawn)]
    assert sorted(withdrawn) == sorted(executor.cancelled)
    ahead = {event.sha for event in registry.store.told(number, events.BuildAhead)}
    explained = {event.sha for event in registry.store.told(number, events.Next)} | ahead
    assert {*executor.ordered} - {shas[0], shas[-1]} <= explained
    now = under_way([entry for entry in journal if isinstance(entry.event, KINDS)])
    assert [host.name for host in now.hosts] == ["b1", "p1"]
    assert not now.queue
    assert not any(host.does for host in now.hosts)


def test_an_interruption_keeps_what_has_ended_and_cancels_the_rest(home: Path, clone: tuple[Path, list[str]]) -> None:
    path, shas = clone
    executor = hosts(4, 3)
    registry, number = begun(path, shas[0])
    probes = 0

    def interrupts(event: Event) -> None:
        nonlocal probes
        if isinstance(event, events.ProbeFinished):
            probes += 1
            if probes == 5:
                raise KeyboardInterrupt

    with briefly(), pytest.raises(KeyboardInterrupt):
        run(registry, number, interrupts, executor=executor)
    kept = [build.sha for build, _ in registry.store.builds(number)]
    assert sorted(kept) == sorted(executor.made)
    assert sorted([*executor.made, *executor.cancelled]) == sorted(executor.ordered)
    again = hosts(4, 4)
    with briefly():
        answer = run(registry, number, quiet, executor=again)
    assert answer is not None
    (verdict,) = answer.tests.values()
    assert [culprit.sha for culprit in verdict.culprits] == [shas[SLOW]]
    assert not {*executor.made} & {*again.made}
