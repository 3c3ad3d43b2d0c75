"""Which workload serves an engine, its named tests, and the settings a user may give them."""

import difflib
from collections.abc import Mapping, Sequence

from cpubisect.base.engine import Engine, offered
from cpubisect.base.errors import UserError
from cpubisect.workloads.probe import Test, Workload


def workload_of(engine: Engine) -> Workload:
    """What probes an engine; raises UserError, with those there are, if the matrix names none."""
    found: Workload = offered("cpubisect.workloads", "workload", engine.workload, engine.name)
    return found


def tests_of(engine: Engine) -> tuple[Test, ...]:
    """The tests of one engine, in the order of the catalogue."""
    return tuple(test for test in workload_of(engine).tests if test.engine == engine.name)


def find_test(engine: Engine, name: str) -> Test:
    """The test with that name; raises UserError with near names for one that the engine does not have."""
    tests = {test.name: test for test in tests_of(engine)}
    if not tests:
        raise UserError(f"there are no tests for {engine.name}", f"workloads/{engine.workload}.py has none")
    if name not in tests:
        near = difflib.get_close_matches(name, tests, n=3) or list(tests)[:5]
        raise UserError(
            f"{engine.name} has no test {name!r}", f"did you mean {', '.join(near)}? `bisect tests` lists them all"
        )
    return tests[name]


def engines_with(name: str, engines: Sequence[Engine]) -> list[Engine]:
    """The engines that have a test of that name and a public repository to take it to."""
    return [e for e in engines if e.repository and any(test.name == name for test in tests_of(e))]


def flags_of(engine: Engine, tests: Sequence[Test], given: Mapping[str, str]) -> dict[str, str]:
    """Of the parameters that the user gave, those that a program must declare, with the flag that each is."""
    workload = workload_of(engine)
    named = {name: workload.flag(test, name) for name in given for test in tests if workload.accepts(test, name)}
    return {name: flag for name, flag in named.items() if flag}


def settings(
    engine: Engine, tests: Sequence[Test], given: Mapping[str, str], *, unsafe: bool = False
) -> dict[str, dict[str, str]]:
    """By name of the test, its parameters with the user's applied where it knows them; raises UserError for one that
    none of the tests would understand, for a value that makes no sense, and, unless `unsafe`, for a setting that could
    do more than change what is measured."""
    workload = workload_of(engine)
    for name, value in given.items():
        if not name or any(c.isspace() or ord(c) < 32 for c in name + value):
            raise UserError(f"{name!r}={value!r} is not a setting", "write --set NAME=VALUE without spaces")
        if not any(workload.accepts(test, name) for test in tests):
            known = dict.fromkeys(parameter for test in tests for parameter in test.parameters)
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise UserError(f"test {' and '.join(test.name for test in tests)} has no parameter {name!r}", hint)
        why = next(filter(None, (workload.refusal(test, name) for test in tests if workload.accepts(test, name))), "")
        if why and not unsafe:
            raise UserError(
                f"setting {name} {why}", "leave it out; on the command line --unsafe-settings lets it through"
            )
    chosen = {}
    for test in tests:
        own = {name: value for name, value in given.items() if workload.accepts(test, name)}
        chosen[test.name] = {**test.parameters, **own}
        workload.check(test, chosen[test.name])
    return chosen
