"""A Makefile that tries the compiler while it is read, as later RocksDB does to see which libraries there are."""

from pathlib import Path

import pytest
from small_trees import GOOD, commit, recipe_for, settings_in

from cpubisect.base.sandbox.policy import Kind
from cpubisect.builders.carry import carry_out
from cpubisect.builders.rocksdb import BUILDER

MAKEFILE = """\
tried := $(shell echo 'int main() { return 0; }' | $(CXX) $(EXTRA_CXXFLAGS) -x c++ - -o /dev/null && echo -DFOUND)
CXXFLAGS += $(EXTRA_CXXFLAGS) $(tried)

db_bench: main.o
\t$(CXX) $(CXXFLAGS) -o $@ $<

%.o: %.cc
\t$(CXX) $(CXXFLAGS) -c $< -o $@
"""


@pytest.mark.parametrize("kind", Kind)
def test_what_it_tries_works_and_objects_tell_what_they_were_made_from(tmp_path: Path, kind: Kind) -> None:
    files = GOOD | {"Makefile": MAKEFILE, "main.cc": '#include "own.h"\nint main() { return OWN - FOUND; }\n'}
    sha = commit(tmp_path / "clone", files | {"own.h": "#define OWN 1\n"})
    settings = settings_in(tmp_path, sandbox=kind)
    result = carry_out(recipe_for(sha), BUILDER, tmp_path / "clone", tmp_path / "work", settings)
    assert (result.outcome, result.first_error) == ("built", "")
    assert set(result.compiled) == {"main.cc", "own.h"}
    assert not Path("/dev/null.d").exists()
