"""The output of a build or a redraw while it is made."""

from pathlib import Path

import pytest
from questions import question

from cpubisect.base.errors import Missing
from cpubisect.records.registry import Registry
from cpubisect.search.events import BuildFinished, BuildStarted, Event, Redrawing, Redrawn
from cpubisect.web.views.build import running_log


@pytest.mark.parametrize(
    ("begins", "ends"),
    [(BuildStarted, BuildFinished(outcome="built")), (Redrawing, Redrawn(links=8))],
    ids=["build", "redraw"],
)
def test_it_is_there_until_that_ends(home: Path, tmp_path: Path, begins: type[Event], ends: Event) -> None:
    log = tmp_path / "made.log"
    log.write_text("so far\n")
    registry = Registry.open()
    bisection = registry.store.create_bisection(question(), {})
    registry.store.add_event(bisection, begins.from_json({"log": str(log)}))
    with pytest.raises(Missing):
        running_log(registry, bisection)
    with registry.alone(bisection):
        assert running_log(registry, bisection) == b"so far\n"
        registry.store.add_event(bisection, ends)
        with pytest.raises(Missing):
            running_log(registry, bisection)
