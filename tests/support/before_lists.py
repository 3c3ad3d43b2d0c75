"""A home directory as the program left it before a question always had a list of tests.

Its bisections are of four commits, of which the third makes reading costlier and the fourth writing: 1 asked for one
test, 2 for two of them, 3 for two and was interrupted after the first was answered, 4 was interrupted at once. Its
builds are kept. In the store's text, what repeats has a name between two @; of most probes the command lines were left
out.
"""

import base64
import io
import re
import sqlite3
import tarfile
from pathlib import Path

from repositories import git

from cpubisect.base.home import Home
from cpubisect.builders.recipes.matrix import locate_matrix
from cpubisect.records.registry import Registry
from cpubisect.records.store import Store

FOLDER = Path(__file__).parent.parent / "records" / "before_lists"
NOWHERE = Path("/nowhere/kv")
"""Where the clone is in what was printed then."""


def restored(clone: Path = NOWHERE) -> Registry:
    """The home of the environment as it was left, of a clone that is there now."""
    home = Home.open()
    text = (FOLDER / "store.sql").read_text()
    names = dict(re.findall(r"^-- (@\w+@) (.*)$", text, re.MULTILINE))
    names |= {"@HOME@": str(home.root), "@CLONE@": str(clone), "@MATRIX@": str(locate_matrix())}
    for name, meaning in names.items():
        text = text.replace(name, meaning)
    with sqlite3.connect(home.store) as plain:
        plain.executescript(text)
    plain.close()
    packed = base64.b64decode((FOLDER / "artifacts.tar.xz.base64").read_text())
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(home.artifacts, filter="data")
    return Registry(home, Store(home.store))


def write_clone(path: Path) -> None:
    """The repository that was bisected."""
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "fast-import", "--quiet", stdin=(FOLDER / "kv.fast-export").read_bytes())
    git(path, "reset", "--quiet", "--hard")
