"""The tests of one question: each gets its own answer, from builds that all of them share."""

from collections.abc import Callable
from typing import Any

from cpubisect.bench import Bench
from cpubisect.lab import Lab
from cpubisect.runner import Runner
from cpubisect.verdict import combined

Json = dict[str, Any]


def answer(bench: Bench, so_far: Json | None, keep: Callable[[Json], None]) -> Json:
    """The answer as plain data: a verdict, or with several tests `verdict.combined` of theirs.

    `so_far` is what an interrupted run had kept; `keep` takes what is known after each of several tests.
    """
    lab = Lab(bench)
    if not bench.several:
        return Runner(bench, lab).run().to_json()
    found: dict[str, Json] = dict((so_far or {}).get("tests", {}))
    for test in bench.tests:
        if test.name not in found:
            own = bench.only(test)
            verdict = Runner(own, lab.beside(test)).run()
            found[test.name] = verdict.to_json()
            keep(combined(found))
            own.watch("verdict", kind_of=verdict.kind.value, summary=verdict.summary)
    return combined(found)
