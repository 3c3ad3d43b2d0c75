"""What happened from v1.1.0 to v1.2.0: a cost that only moved, a forgotten project header, and five dead commits."""

from cpubisect.example.step import Step, Tag, append, commit, replace, start

STEPS: tuple[Step, ...] = (
    start("1.2.0", "1.1.0"),
    commit(
        "Document compaction",
        append(
            "docs/architecture.md",
            "\nWhen there are many tables, one compaction makes a single table of them; the older versions go.\n",
        ),
    ),
    commit(
        "Call the search in a block what it is",
        replace("table/block.h", "uint32_t Find(Slice target) const;", "uint32_t LowerBound(Slice target) const;"),
        replace("table/block.cc", "Block::Find(", "Block::LowerBound("),
        replace("table/table_reader.cc", "index_->Find(target)", "index_->LowerBound(target)"),
        replace("table/table_reader.cc", "block_->Find(target)", "block_->LowerBound(target)"),
        label="moved cost",
    ),
    commit(
        "Checksum the manifest",
        replace(
            "db/manifest.cc",
            "  return ReplaceFile(ManifestPath(directory), text);\n",
            """\
  const uint64_t checksum = Crc32(text);
  AddLine(&text, "checksum", checksum);
  return ReplaceFile(ManifestPath(directory), text);
""",
        ),
        replace(
            "db/manifest.cc",
            """    if (field == "table") tables.push_back(value);\n""",
            """\
    if (field == "table") tables.push_back(value);
    if (field == "checksum" && value != Crc32(Slice(text).substr(0, start))) {
      return Status::Corruption(ManifestPath(directory) + ": wrong checksum");
    }
""",
        ),
        label="forgotten project header",
    ),
    commit(
        "Describe the manifest",
        append("docs/format.md", "\n# Manifest\n\nOne line per field; the last one is the checksum of the others.\n"),
    ),
    commit(
        "Test a damaged manifest",
        replace(
            "tests/kv_test.cc",
            "void TestAgainstModel(",
            """\
void TestDamagedManifest() {
  const std::string path = "kv_test.db";
  DB::Destroy(path);
  std::unique_ptr<DB> db;
  EXPECT(DB::Open(Options(), path, &db).ok());
  db.reset();
  FILE* manifest = fopen((path + "/MANIFEST").c_str(), "r+");
  fputs("next_file 9", manifest);
  fclose(manifest);
  EXPECT(!DB::Open(Options(), path, &db).ok());
}

void TestAgainstModel(""",
        ),
        replace(
            "tests/kv_test.cc", "  minikv::TestCrc32();\n", "  minikv::TestCrc32();\n  minikv::TestDamagedManifest();\n"
        ),
    ),
    commit(
        "Include what the manifest uses",
        replace("db/manifest.cc", '#include "util/file.h"\n', '#include "util/crc32.h"\n#include "util/file.h"\n'),
        label="project header included",
    ),
    commit(
        "Name the kind of error in messages",
        replace(
            "include/minikv/types.h",
            "  const std::string& message() const { return message_; }\n",
            """\
  const std::string& message() const { return message_; }
  std::string ToString() const {
    static constexpr const char* kNames[] = {"ok", "not found", "corruption", "I/O error"};
    const std::string name = kNames[static_cast<int>(code_)];
    return message_.empty() ? name : name + ": " + message_;
  }
""",
        ),
        replace("tools/db_bench.cc", "Die(s.message())", "Die(s.ToString())"),
    ),
    commit(
        "Test the text of a status",
        replace(
            "tests/kv_test.cc",
            "void ExpectSame(",
            """\
void TestStatus() { EXPECT(Status::IOError("disk").ToString() == "I/O error: disk"); }

void ExpectSame(""",
        ),
        replace("tests/kv_test.cc", "  minikv::TestCrc32();\n", "  minikv::TestCrc32();\n  minikv::TestStatus();\n"),
    ),
    commit(
        "Give tables the options they are opened with (1/2)",
        replace(
            "table/table.h",
            "static Status Open(const std::string& path,",
            "static Status Open(const Options& options, const std::string& path,",
        ),
        replace(
            "table/table.h",
            "  RandomFile file_;\n  uint64_t number_",
            "  Options options_;\n  RandomFile file_;\n  uint64_t number_",
        ),
        replace(
            "table/table_reader.cc",
            "Status Table::Open(const std::string& path,",
            "Status Table::Open(const Options& options, const std::string& path,",
        ),
        replace(
            "table/table_reader.cc",
            "  opened->number_ = number;\n",
            "  opened->options_ = options;\n  opened->number_ = number;\n",
        ),
        label="broken",
    ),
    commit(
        "List the options",
        append("docs/options.md", "# Options\n\n`include/minikv/options.h` has them all, with their defaults.\n"),
    ),
    commit(
        "Count hits and misses of the block cache",
        replace("cache/block_cache.h", "#include <cstdint>\n", "#include <atomic>\n#include <cstdint>\n"),
        replace(
            "cache/block_cache.h",
            "  size_t usage_ = 0;\n",
            "  size_t usage_ = 0;\n  std::atomic<uint64_t> hits_{0};\n  std::atomic<uint64_t> misses_{0};\n",
        ),
        replace(
            "cache/block_cache.cc",
            "  if (found == map_.end()) return nullptr;\n",
            "  if (found == map_.end()) {\n    ++misses_;\n    return nullptr;\n  }\n  ++hits_;\n",
        ),
        replace(
            "cache/block_cache.h",
            "  void Insert(",
            "  uint64_t hits() const { return hits_; }\n  uint64_t misses() const { return misses_; }\n  void Insert(",
        ),
    ),
    commit(
        "Test without filters",
        replace("tests/kv_test.cc", "= keep_log;\n", "= keep_log;\n  options.bloom_bits_per_key = compact ? 10 : 0;\n"),
    ),
    commit(
        "Name the cache size in db_bench's header",
        replace(
            "tools/db_bench.cc",
            """    printf("Seed:""",
            """\
    printf("Cache:      %s\\n", HumanBytes(static_cast<uint64_t>(settings_.cache_size)).c_str());
    printf("Seed:""",
        ),
    ),
    commit(
        "Give tables the options they are opened with (2/2)",
        replace(
            "db/db_impl.cc",
            "s = Table::Open(TablePath(path_, number), number, &cache_, &view->tables.back());",
            "s = Table::Open(options_, TablePath(path_, number), number, &cache_, &view->tables.back());",
        ),
        replace(
            "db/db_impl.cc",
            """  Status s = builder.Finish();
  if (s.ok()) s = Table::Open(TablePath(path_, number), number,""",
            """  Status s = builder.Finish();
  if (s.ok()) s = Table::Open(options_, TablePath(path_, number), number,""",
        ),
        replace(
            "db/db_impl.cc",
            """  if (s.ok()) s = builder.Finish();
  if (s.ok()) s = Table::Open(TablePath(path_, number), number,""",
            """  if (s.ok()) s = builder.Finish();
  if (s.ok()) s = Table::Open(options_, TablePath(path_, number), number,""",
        ),
        label="builds again",
    ),
    commit(
        "Begin a list of changes",
        append("HISTORY.md", "# 1.2.0\n\n- The manifest has a checksum.\n- Errors name their kind.\n"),
    ),
    Tag("v1.2.0"),
)
