"""What happened from v1.3.0 to v1.4.0: a step of gets alone, and an improvement of seeks."""

from cpubisect.example.step import Step, Tag, append, commit, replace, start

STEPS: tuple[Step, ...] = (
    start("1.4.0", "1.3.0"),
    commit(
        "Refuse a key that is too short for its trailer",
        replace(
            "db/format.h",
            "inline Slice UserKey(",
            "inline bool IsInternalKey(Slice key) { return key.size() >= kTrailerSize; }\n\ninline Slice UserKey(",
        ),
        replace(
            "table/table_builder.cc",
            "  data_.Add(internal_key, value);\n",
            """\
  if (!IsInternalKey(internal_key)) status_ = Status::Corruption("key too short");
  data_.Add(internal_key, value);
""",
        ),
    ),
    commit(
        "Leave the caller's value alone unless the key is found",
        replace(
            "db/db_impl.cc", "  Resolver resolver(value);\n", "  std::string found;\n  Resolver resolver(&found);\n"
        ),
        replace(
            "db/db_impl.cc",
            "  return resolver.found() ? Status::OK() : Status::NotFound();\n",
            "  if (!resolver.found()) return Status::NotFound();\n  value->swap(found);\n  return Status::OK();\n",
        ),
        label="get step",
    ),
    commit(
        "Test that an absent key leaves the value alone",
        replace("tests/kv_test.cc", """&value).IsNotFound());\n""", """&value).IsNotFound() && value == "a");\n"""),
    ),
    commit(
        "Add make install for the headers",
        replace(
            "Makefile",
            "clean:\n",
            """\
HEADERS = $(DESTDIR)/usr/include/minikv

install:
\tinstall -d $(HEADERS)
\tinstall -m 644 include/minikv/*.h $(HEADERS)

clean:
""",
        ),
        replace("Makefile", ".PHONY: all check clean", ".PHONY: all check clean install"),
    ),
    commit(
        "Allocate a merging iterator's heap once",
        replace(
            "table/merging_iterator.cc",
            "      : children_(std::move(children)) {}\n",
            "      : children_(std::move(children)) {\n    heap_.reserve(children_.size());\n  }\n",
        ),
        label="improvement",
    ),
    commit(
        "Document what a seek does",
        append("docs/architecture.md", "\nA seek positions an iterator in every table; a heap merges them.\n"),
    ),
    commit(
        "Give file names a place of their own",
        append(
            "db/filename.h",
            """\
#pragma once

#include <cstdint>
#include <string>

namespace minikv {

std::string ManifestPath(const std::string& directory);
std::string TablePath(const std::string& directory, uint64_t number);
std::string WalPath(const std::string& directory, uint64_t number);

}  // namespace minikv
""",
        ),
        append(
            "db/filename.cc",
            """\
#include "db/filename.h"

#include <cinttypes>
#include <cstdio>

namespace minikv {
namespace {

std::string NumberedPath(const std::string& directory, uint64_t number, const char* suffix) {
  char name[32];
  snprintf(name, sizeof(name), "/%06" PRIu64 "%s", number, suffix);
  return directory + name;
}

}  // namespace

std::string ManifestPath(const std::string& directory) { return directory + "/MANIFEST"; }

std::string TablePath(const std::string& directory, uint64_t number) {
  return NumberedPath(directory, number, ".tbl");
}

std::string WalPath(const std::string& directory, uint64_t number) {
  return NumberedPath(directory, number, ".log");
}

}  // namespace minikv
""",
        ),
        replace("Makefile", "  db/format.cc \\\n", "  db/filename.cc \\\n  db/format.cc \\\n"),
        replace(
            "db/manifest.h",
            """\
std::string ManifestPath(const std::string& directory);
std::string TablePath(const std::string& directory, uint64_t number);
std::string WalPath(const std::string& directory, uint64_t number);

""",
            "",
        ),
        replace(
            "db/manifest.h", '#include "minikv/types.h"\n', '#include "db/filename.h"\n#include "minikv/types.h"\n'
        ),
        replace(
            "db/manifest.cc",
            """\
std::string NumberedPath(const std::string& directory, uint64_t number, const char* suffix) {
  char name[32];
  snprintf(name, sizeof(name), "/%06" PRIu64 "%s", number, suffix);
  return directory + name;
}

""",
            "",
        ),
        replace(
            "db/manifest.cc",
            """\
std::string ManifestPath(const std::string& directory) { return directory + "/MANIFEST"; }

std::string TablePath(const std::string& directory, uint64_t number) {
  return NumberedPath(directory, number, ".tbl");
}

std::string WalPath(const std::string& directory, uint64_t number) {
  return NumberedPath(directory, number, ".log");
}

""",
            "",
        ),
    ),
    commit(
        "Test long keys",
        replace(
            "tests/kv_test.cc",
            """const std::string key = "key" +""",
            """const std::string key = std::string(i % 7 == 0 ? 300 : 0, 'k') + "key" +""",
        ),
    ),
    commit(
        "Say that a new log replaces the old one",
        replace(
            "db/db_impl.h",
            "  Status RenewWal();\n",
            "  // Begins a new log, saves the manifest, removes the old log: in that order.\n  Status RenewWal();\n",
        ),
    ),
    commit(
        "Name the database in db_bench's header",
        replace(
            "tools/db_bench.cc",
            """    printf("Keys:""",
            """    printf("Database:   %s\\n", settings_.db.c_str());\n    printf("Keys:""",
        ),
    ),
    commit("List the changes of 1.4.0", append("HISTORY.md", "\n# 1.4.0\n\n- An absent key leaves the value alone.\n")),
    Tag("v1.4.0"),
)
