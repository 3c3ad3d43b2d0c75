"""Whole bisections that are stopped at any moment, once or again and again: what is measured in all is the same."""

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from fake_lab import Commits, FakeLab, straight
from questions import question

from cpubisect.records.purpose import Purpose
from cpubisect.records.rows import ProbeRow
from cpubisect.run.runner import run
from cpubisect.search.events import Event

NEVER = 10**9
PAUSE_S = 3000.0


class Stopping(FakeLab):
    """Raises KeyboardInterrupt at the moment `left`: whenever something is told, and before and after each probe. What
    a probe reads depends on nothing but what it is of, so that all runs of a history read the same."""

    left = NEVER
    confirming = 0
    """The moment before the first probe that is to confirm a step."""

    @property
    def moment(self) -> int:
        """How many moments there were."""
        return NEVER - self.left

    def tell(self, event: Event) -> None:
        super().tell(event)
        self._pass()

    def probes(self, sha: str, purpose: Purpose, count: int) -> list[ProbeRow]:
        before = len(self._probes)
        found = super().probes(sha, purpose, count)
        if len(self._probes) > before:
            self._pass()
        return found

    def made(self) -> Counter[tuple[str, str]]:
        """How many probes were made of each commit for each purpose."""
        return Counter((sha, str(row.purpose)) for sha, row in self._probes)

    def _probed(self, sha: str, purpose: Purpose, given: Mapping[str, str]) -> ProbeRow:
        self._pass()
        if purpose.against and not self.confirming:
            self.confirming = self.moment
        self._random = random.Random(f"{self._seed} {sha} {purpose} {self.made()[sha, str(purpose)]}")
        return super()._probed(sha, purpose, given)

    def _pass(self) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def confirmations(lab: Stopping) -> dict[tuple[str, str], int]:
    """The probes that were made to confirm steps."""
    return {key: count for key, count in lab.made().items() if "against" in key[1]}


def lab_of(commits: Commits, **host: Any) -> Stopping:
    return Stopping(commits, question(good_sha="c0", bad_sha=[*commits][-1]), **host)


ONE = straight(1000.0, 1000.0, 1000.0, 1070.0, 1070.0, 1070.0)
TWO = straight(1000.0, 1000.0, 1110.0, 1110.0, 1170.0, 1170.0)
NOISY: Mapping[str, Any] = {"counts_instructions": False, "sigma": 0.02}


@pytest.mark.parametrize("pause_s", [0.0, PAUSE_S], ids=["at once", "after a while"])
@pytest.mark.parametrize(
    ("commits", "host"),
    [
        (ONE, {"sigma": 0.04, "seed": 1}),
        (ONE, {"sigma": 0.04, "seed": 2}),
        (TWO, {"sigma": 0.04, "seed": 3}),
        (straight(*[1000.0] * 4, *[1200.0] * 4), NOISY),
        (straight(*[1000.0] * 4, *[1200.0] * 4), {**NOISY, "redraws": "there is no lld"}),
    ],
    ids=["one step", "another host", "two steps", "CPU time", "CPU time of builds as they are"],
)
def test_a_confirmation_that_is_stopped_at_any_moment_makes_as_many_rounds(
    commits: Commits, host: Mapping[str, Any], pause_s: float
) -> None:
    whole = lab_of(commits, **host)
    verdict = run(whole)
    # On CPU time a search that is stopped may take another way: what it read is not of one time any more.
    for stop in range(1 if whole.counts_instructions else whole.confirming, whole.moment):
        lab = lab_of(commits, **host)
        lab.left = stop
        with pytest.raises(KeyboardInterrupt):
            run(lab)
        lab.left, lab.clock_s = NEVER, lab.clock_s + pause_s
        again = run(lab)
        assert [one.sha for one in again.culprits] == [one.sha for one in verdict.culprits]
        assert confirmations(lab) == confirmations(whole), stop


def test_a_run_that_is_stopped_again_and_again_makes_no_probe_twice() -> None:
    whole = lab_of(TWO, sigma=0.04)
    run(whole)
    lab = lab_of(TWO, sigma=0.04)
    for longer in range(whole.moment):
        lab.left, lab.clock_s = 5 + longer, lab.clock_s + PAUSE_S
        try:
            run(lab)
        except KeyboardInterrupt:
            continue
        break
    assert lab.made() == whole.made()
