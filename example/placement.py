"""After v1.4.0, where a history is asked to have it: commits that move code and change none that runs.

A check of each value that a get returns is a loop so short that it may take twice as long where it lies across two
lines of 64 bytes. Functions begin at multiples of 16, and each of the four commits after it adds one that nothing calls
to the source that is linked first. So the loop lies across two lines after one commit in four: gets become costlier
there, and cheaper with the next. Which one that is follows from the compiler and the linker.
"""

from cpubisect.example.step import Commit, Step, append, commit, replace

LOOP, LAST = "loop", "moved 4"
"""The labels of the commit that adds the loop and of the last that moves it."""

_NAMES = ("Entries", "Bytes", "Hits", "Misses")
_PROPERTY = "\nnamespace minikv {{\nint Cache{name}Property() {{ return {number}; }}\n}}\n"


def _moving(number: int, name: str) -> Commit:
    return commit(
        f"Reserve a number for the cache's {name.lower()}",
        append("cache/block_cache.cc", _PROPERTY.format(name=name, number=number)),
        label=f"moved {number}",
    )


STEPS: tuple[Step, ...] = (
    commit(
        "Return no value that is not text",
        append("util/text.h", '#pragma once\n\n#include "minikv/types.h"\n\nnamespace minikv {\n\n'
               "// Neither 0 nor 255, which stand between values in exports.\nbool IsText(Slice value);\n\n"
               "}  // namespace minikv\n"),
        append("util/text.cc", """\
#include "util/text.h"

namespace minikv {

bool IsText(Slice value) {
  const char* const end = value.data() + value.size();
  for (const char* at = value.data(); at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == 0 || byte == 255) return false;
  }
  return true;
}

}  // namespace minikv
"""),
        replace("Makefile", "  util/string_util.cc\n", "  util/string_util.cc \\\n  util/text.cc\n"),
        replace("db/db_impl.cc", "  value->swap(found);\n  return Status::OK();\n",
                '  value->swap(found);\n  return IsText(*value) ? Status::OK() : Status::Corruption("not text");\n'),
        replace("db/db_impl.cc", '#include "table/bloom.h"\n', '#include "table/bloom.h"\n#include "util/text.h"\n'),
        label=LOOP,
    ),
    *(_moving(number, name) for number, name in enumerate(_NAMES, 1)),
)  # fmt: skip
