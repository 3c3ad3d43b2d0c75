"""Questions for tests that don't care what is asked."""

from typing import Any

from cpubisect.search.question import Question


def question(**fields: Any) -> Question:
    """A question of one test, `scan`, in which some fields may be others."""
    tests = fields.get("tests", ("scan",))
    plain: dict[str, Any] = {
        "engine": "rocksdb",
        "repository": "/nowhere",
        "good": "v1",
        "bad": "v2",
        "good_sha": "1" * 40,
        "bad_sha": "2" * 40,
        "tests": tests,
        "matrix": "/nowhere",
        "parameters": {test: {} for test in tests},
    }
    return Question(**{**plain, **fields})
