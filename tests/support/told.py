"""One small bisection whose commit says hostile things, for the tests of what is told about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from repositories import Story
from small_bisections import ask, cost, tree

from cpubisect.base.home import Home
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store

SUBJECT = "Speed up <script>alert(1)</script> `x` **@everyone** |#7"
MESSAGE = f"""{SUBJECT}

```
</details><img src=x onerror=alert(2)>
```
\x1b[31mred\x1b[0m \u202eturned round, see www.example.org and https://example.org/x
{"a very long line " * 12}
"""


@dataclass(frozen=True)
class Told:
    """The finished bisection of the clone at `clone`; `shas` are its commits by number, the culprit's is 4."""

    registry: Registry
    bisection: int
    clone: Path
    shas: dict[int, str]


@contextmanager
def told(folder: Path, compiler_cache: Path) -> Iterator[Told]:
    """Bisect in `folder`; meanwhile its home is everybody's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPUBISECT_HOME", str(folder / "home"))
        patch.setenv("CCACHE_DIR", str(compiler_cache))
        story = Story()
        for files in (tree(1000), {"a.txt": "1"}, {"docs/a.md": "1"}):
            story.commit(files)
        odd = {"<b>odd</b> $(name) `x`.txt": "1\n2\n", "picture.bin": b"\0\1"}
        story.commit({**cost(1250), **odd}, message=MESSAGE)
        for number in range(3):
            story.commit({"b.txt": f"{number}"})
        clone = folder / "a 'clone' of $(kv)"
        shas = story.write(clone)
        data = ask(clone, shas[1], "main", home=folder / "home")
        home = Home.open()
        store = Store(home.store)
        yield Told(Registry(home, store), int(data["id"]), clone, shas)
        store.close()
