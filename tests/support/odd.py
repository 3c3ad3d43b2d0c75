"""Values that nobody should give, and random ways to put them where others belong; the same for the same seed."""

import json
import random
from collections.abc import Mapping
from typing import Any

DEEP = 5000

TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "--",
    "-",
    "nan",
    "inf",
    "1e999",
    "9" * 400,
    "9" * 5000,
    "\u0663",
    "a\nb",
    "a\tb",
    "é\u0301",
    "\u202egro.elpmaxe",
    "\U0001f41b" * 50,
    "%s%n{0}{x}",
    "'; DROP TABLE bisections; --",
    "../../etc/passwd",
    "/dev/zero",
    "/dev/null",
    "/",
    "a=b=c",
    "=",
    "rows=",
    "rows=-1",
    "run.=1",
    ":/x",
    "HEAD^{/x}",
    "HEAD~99999999999",
    "@{-1}",
    "v1.0.0..v1.4.0",
    "refs/heads/" + "x" * 3000,
    "x" * 100_000,
)
"""As words of a command line, too."""

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    {"": ""},
    [None] * 2000,
    {"a": {"b": {"c": [1, 2, {"d": None}]}}},
    "\x00",
    "\ud800",
    "\ufeff",
    *TEXTS,
)
"""As values of JSON, which has more kinds."""


def mutated(chance: random.Random, valid: Mapping[str, Any]) -> bytes:
    """A JSON document like a valid one, with something wrong in it, or something that is no JSON at all."""
    document: dict[str, Any] = json.loads(json.dumps(valid))
    for _ in range(chance.randint(1, 3)):
        name = chance.choice([*document, "more"]) if document else "more"
        way = chance.randrange(4)
        if way == 0:
            document.pop(name, None)
        elif way == 1 and isinstance(document.get(name), list):
            document[name] = [*document[name], chance.choice(VALUES)]
        elif way == 2 and isinstance(document.get(name), dict):
            document[name][chance.choice(TEXTS)] = chance.choice(VALUES)
        else:
            document[name] = chance.choice(VALUES)
    text = json.dumps(document, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return _spoilt(chance, text) if chance.random() < 0.3 else text


def _spoilt(chance: random.Random, text: bytes) -> bytes:
    place = chance.randrange(len(text))
    return chance.choice(
        [
            text[:place],
            text[:place] + chance.randbytes(3) + text[place:],
            b"[" * DEEP,
            b'{"good":' * DEEP + b"1" + b"}" * DEEP,
            b"[" * DEEP + b"]" * DEEP,
            b'{"min_step": ' + b"9" * 6000 + b"}",
            b'{"good": "a", "good": "b"}',
            b"\xff\xfe" + text,
            chance.randbytes(200),
            b"",
            b"null",
            b"1",
        ]
    )
