"""What happened from v1.0.0 to v1.1.0: a merge without effect, and a small step of seeks on the main line."""

from cpubisect.example.step import Merge, Step, Tag, append, commit, replace, start

_STRING_UTIL = Merge(
    "string-util",
    behind=2,
    label="plain merge",
    commits=(
        commit(
            "Add HumanBytes",
            append(
                "util/string_util.h",
                """\
#pragma once

#include <cstdint>
#include <string>

namespace minikv {

// A number of bytes with the largest unit that divides it: 512 KiB, 1000 B.
std::string HumanBytes(uint64_t bytes);

}  // namespace minikv
""",
            ),
            append(
                "util/string_util.cc",
                """\
#include "util/string_util.h"

namespace minikv {

std::string HumanBytes(uint64_t bytes) {
  static const char* const kUnits[] = {" B", " KiB", " MiB", " GiB"};
  int unit = 0;
  for (; unit < 3 && bytes > 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + kUnits[unit];
}

}  // namespace minikv
""",
            ),
            replace("Makefile", "  util/file.cc\n", "  util/file.cc \\\n  util/string_util.cc\n"),
        ),
        commit(
            "Test HumanBytes",
            replace(
                "tests/kv_test.cc",
                '#include "util/random.h"\n',
                '#include "util/random.h"\n#include "util/string_util.h"\n',
            ),
            replace(
                "tests/kv_test.cc",
                "void ExpectSame(",
                """\
void TestHumanBytes() {
  EXPECT(HumanBytes(512 << 10) == "512 KiB");
  EXPECT(HumanBytes(1000) == "1000 B");
}

void ExpectSame(""",
            ),
            replace(
                "tests/kv_test.cc", "  minikv::TestCrc32();\n", "  minikv::TestCrc32();\n  minikv::TestHumanBytes();\n"
            ),
        ),
        commit(
            "Print sizes in db_bench with their unit",
            replace(
                "tools/db_bench.cc",
                '#include "util/random.h"\n',
                '#include "util/random.h"\n#include "util/string_util.h"\n',
            ),
            replace(
                "tools/db_bench.cc",
                """printf("Values:     %" PRId64 " bytes each\\n", settings_.value_size);""",
                """\
const auto value_size = static_cast<uint64_t>(settings_.value_size);
    printf("Values:     %s each\\n", HumanBytes(value_size).c_str());""",
            ),
        ),
    ),
)

STEPS: tuple[Step, ...] = (
    commit("Ignore what a build makes", append(".gitignore", "*.o\n*.d\n/db_bench\n/kv_test\n")),
    Tag("v1.0.0"),
    start("1.1.0", "1.0.0"),
    commit(
        "Describe the layout of a table file",
        append(
            "docs/format.md",
            """\
# Table files

Data blocks, the Bloom filter, the index block, the footer. A checksum follows every block.
The index has one entry per data block: its last key, and where the block lies.
""",
        ),
    ),
    commit(
        "Reserve the space of a log record",
        replace(
            "db/wal.cc",
            "  record_.clear();\n",
            "  record_.clear();\n  record_.reserve(kHeaderSize + key.size() + value.size());\n",
        ),
    ),
    commit(
        "Test that a Bloom filter never misses a key",
        replace("tests/kv_test.cc", '#include "util/crc32.h"\n', '#include "table/bloom.h"\n#include "util/crc32.h"\n'),
        replace(
            "tests/kv_test.cc",
            "void ExpectSame(",
            """\
void TestBloom() {
  std::vector<uint64_t> hashes;
  for (int i = 0; i < 1000; ++i) hashes.push_back(HashKey("key" + std::to_string(i)));
  const std::string filter = BuildFilter(hashes, 10);
  for (uint64_t hash : hashes) EXPECT(FilterMayMatch(filter, hash));
}

void ExpectSame(""",
        ),
        replace("tests/kv_test.cc", "  minikv::TestCrc32();\n", "  minikv::TestCrc32();\n  minikv::TestBloom();\n"),
    ),
    commit(
        "Name the seed in db_bench's header",
        replace(
            "tools/db_bench.cc",
            """    printf("---""",
            """    printf("Seed:       %" PRId64 "\\n", settings_.seed);\n    printf("---""",
        ),
    ),
    _STRING_UTIL,
    commit(
        "Document how to compare two builds",
        append(
            "docs/tools.md", "\nCompare two builds with the same `--seed`; `--reads` fixes the number of operations.\n"
        ),
    ),
    commit(
        "Give large entries an arena chunk of their own",
        replace(
            "memtable/arena.h",
            """\
    if (size > left_) Grow(size);
""",
            """\
    if (size > kChunkSize / 4) return NewChunk(size);
    if (size > left_) Grow();
""",
        ),
        replace(
            "memtable/arena.h",
            """\
  void Grow(size_t size) {
    const size_t chunk = size > kChunkSize ? size : kChunkSize;
    chunks_.emplace_back(new char[chunk]);
    next_ = chunks_.back().get();
    left_ = chunk;
    usage_ += chunk;
  }
""",
            """\
  void Grow() {
    next_ = NewChunk(kChunkSize);
    left_ = kChunkSize;
  }

  char* NewChunk(size_t size) {
    chunks_.emplace_back(new char[size]);
    usage_ += size;
    return chunks_.back().get();
  }
""",
        ),
    ),
    commit(
        "Test a database whose log is kept over two opens",
        replace(
            "tests/kv_test.cc",
            "void TestAgainstModel(bool compact) {\n",
            "void TestAgainstModel(bool compact, bool keep_log) {\n",
        ),
        replace(
            "tests/kv_test.cc", "= !compact;\n", "= !compact;\n  options.avoid_flush_during_recovery = keep_log;\n"
        ),
        replace("tests/kv_test.cc", "TestAgainstModel(false);\n", "TestAgainstModel(false, true);\n"),
        replace("tests/kv_test.cc", "TestAgainstModel(true);\n", "TestAgainstModel(true, false);\n"),
    ),
    commit(
        "Detect keys that are out of order",
        replace(
            "db/db_iter.cc",
            "      key_.assign(UserKey(entries_->key()));\n",
            """\
      previous_key_.assign(key_);
      key_.assign(UserKey(entries_->key()));
      if (key_ <= previous_key_ && !first_) order_ = Status::Corruption("keys out of order");
      first_ = false;
""",
        ),
        replace(
            "db/db_iter.cc",
            "  Status status() const override { return entries_->status(); }\n",
            "  Status status() const override { return order_.ok() ? entries_->status() : order_; }\n",
        ),
        replace("db/db_iter.cc", "  std::string value_;\n", "  std::string previous_key_;\n  std::string value_;\n"),
        replace(
            "db/db_iter.cc",
            "  bool valid_ = false;\n",
            "  bool valid_ = false;\n  bool first_ = true;\n  Status order_;\n",
        ),
        replace(
            "db/db_iter.cc", "    entries_->SeekToFirst();\n", "    entries_->SeekToFirst();\n    first_ = true;\n"
        ),
        replace(
            "db/db_iter.cc",
            "    entries_->Seek(MakeSeekKey(target, sequence_));\n",
            "    entries_->Seek(MakeSeekKey(target, sequence_));\n    first_ = true;\n",
        ),
        label="second step",
    ),
    commit(
        "Say which compilers are known to work",
        append("README.md", "\nNeeds C++17: GCC from 9 and Clang from 10 on.\n"),
    ),
    commit(
        "Refuse a negative --seek_nexts",
        replace("tools/db_bench.cc", "settings_.threads < 1)", "settings_.threads < 1 || settings_.seek_nexts < 0)"),
    ),
    commit(
        "Let make clean remove the test database",
        replace("Makefile", "*/*.o */*.d\n", "*/*.o */*.d\n\trm -rf kv_test.db\n"),
    ),
    Tag("v1.1.0"),
)
