"""What happened from v1.2.0 to v1.3.0: the branch that made seeks costly, a forgotten standard header around it."""

from cpubisect.example.step import Merge, Step, Tag, append, commit, replace, start

_READAHEAD = Merge(
    "readahead",
    behind=4,
    label="merge",
    commits=(
        commit(
            "Add an option for how far iterators look ahead",
            replace(
                "include/minikv/options.h",
                "  int bloom_bits_per_key = 10;\n",
                "  int bloom_bits_per_key = 10;\n  size_t readahead_blocks = 4;\n",
            ),
        ),
        commit(
            "Give iterators that look ahead a class of their own",
            replace(
                "table/table_reader.cc",
                "std::unique_ptr<Iterator> Table::NewIterator() const {\n",
                """\
class ReadaheadIterator : public TableIterator {
 public:
  ReadaheadIterator(const Table* table, size_t readahead) : TableIterator(table), readahead_(readahead) {}

 private:
  const size_t readahead_;
};

std::unique_ptr<Iterator> Table::NewIterator() const {
""",
            ),
            replace(
                "table/table_reader.cc",
                "std::make_unique<TableIterator>(this)",
                "std::make_unique<ReadaheadIterator>(this, options_.readahead_blocks)",
            ),
            replace("table/table_reader.cc", " private:\n  void LoadBlock", " protected:\n  void LoadBlock"),
            replace(
                "table/table.h", "class TableIterator;\n", "class TableIterator;\n  friend class ReadaheadIterator;\n"
            ),
        ),
        commit(
            "Add RandomFile::Prefetch",
            replace(
                "util/file.h",
                "  uint64_t size() const",
                """\
  // Asks the system to read a part into memory soon.
  void Prefetch(uint64_t offset, uint64_t size) const;
  uint64_t size() const""",
            ),
            replace(
                "util/file.cc",
                "Status ReadFile(",
                """\
void RandomFile::Prefetch(uint64_t offset, uint64_t size) const {
  if (offset > LONG_MAX || size > LONG_MAX) return;
  posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

Status ReadFile(""",
            ),
            label="forgotten standard header",
        ),
        commit(
            "Test prefetching past the end of a file",
            replace(
                "tests/kv_test.cc", '#include "util/crc32.h"\n', '#include "util/crc32.h"\n#include "util/file.h"\n'
            ),
            replace(
                "tests/kv_test.cc",
                "void ExpectSame(",
                """\
void TestPrefetch() {
  RandomFile file;
  EXPECT(file.Open("/dev/null").ok());
  file.Prefetch(1, ~uint64_t{0});
}

void ExpectSame(""",
            ),
            replace(
                "tests/kv_test.cc", "  minikv::TestCrc32();\n", "  minikv::TestCrc32();\n  minikv::TestPrefetch();\n"
            ),
            label="before culprit",
        ),
        commit(
            "Collect the blocks that a seek may need next",
            replace(
                "table/table_reader.cc",
                "TableIterator(table), readahead_(readahead) {}\n",
                """\
TableIterator(table), readahead_(readahead) {}

  void Seek(Slice target) override {
    TableIterator::Seek(target);
    CollectUpcoming();
  }
""",
            ),
            replace(
                "table/table_reader.cc",
                "  const size_t readahead_;\n",
                """\
  void CollectUpcoming() {
    upcoming_.clear();
    const uint32_t count = table_->index_->count();
    for (uint32_t next = index_position_ + 1; next < count && upcoming_.size() < readahead_; ++next) {
      upcoming_.push_back(BlockHandle::Decode(table_->index_->ValueAt(next).data()));
    }
  }

  const size_t readahead_;
  std::vector<BlockHandle> upcoming_;
""",
            ),
            label="culprit",
        ),
        commit(
            "Include what the files use",
            replace("util/file.cc", "#include <cerrno>\n", "#include <cerrno>\n#include <climits>\n"),
            label="standard header included",
        ),
        commit(
            "Prefetch the collected blocks when one is read",
            replace(
                "table/table_reader.cc",
                "    TableIterator::Seek(target);\n    CollectUpcoming();\n",
                """\
    const uint64_t misses = table_->cache_->misses();
    TableIterator::Seek(target);
    CollectUpcoming();
    if (upcoming_.empty() || table_->cache_->misses() == misses) return;
    const BlockHandle& last = upcoming_.back();
    table_->file_.Prefetch(upcoming_[0].offset, last.offset + last.size - upcoming_[0].offset);
""",
            ),
        ),
        commit(
            "Document readahead",
            append("docs/options.md", "\n`readahead_blocks`: how many blocks after a seek are prefetched.\n"),
        ),
    ),
)

STEPS: tuple[Step, ...] = (
    start("1.3.0", "1.2.0"),
    commit(
        "Say what a switch of db_bench may be",
        replace(
            "tools/flags.cc",
            """"illegal value '" + value""",
            """"illegal value (a switch is true or false) '" + value""",
        ),
    ),
    commit(
        "Document the log",
        append("docs/format.md", "\n# Log\n\nOne record per write: checksum, lengths, trailer, key, value.\n"),
    ),
    commit(
        "Name the branching factor of the skip list",
        replace("memtable/skiplist.h", "random_.Uniform(4) == 0", "random_.Uniform(kBranching) == 0"),
        replace(
            "memtable/skiplist.h",
            "kMaxHeight = 12;\n",
            "kMaxHeight = 12;\n  static constexpr uint64_t kBranching = 4;\n",
        ),
    ),
    commit(
        "Test merges into a deleted key",
        replace(
            "tests/kv_test.cc",
            """  std::string value;
  EXPECT(db->Get("absent",""",
            """  EXPECT(db->Merge("gone", "b").ok() && db->Delete("gone").ok() && db->Merge("gone", "a").ok());
  std::string value;
  EXPECT(db->Get("gone", &value).ok() && value == "a");
  EXPECT(db->Get("absent",""",
        ),
    ),
    commit(
        "Let a table builder keep only the options it needs",
        replace(
            "table/table.h",
            "  const Options options_;\n  AppendFile",
            "  const size_t block_size_;\n  const int bloom_bits_;\n  AppendFile",
        ),
        replace(
            "table/table_builder.cc",
            "const std::string& path) : options_(options) {",
            """\
const std::string& path)
    : block_size_(options.block_size), bloom_bits_(options.bloom_bits_per_key) {""",
        ),
        replace("table/table_builder.cc", "options_.block_size)", "block_size_)"),
        replace("table/table_builder.cc", "options_.bloom_bits_per_key)", "bloom_bits_)"),
    ),
    commit(
        "Say what a compaction drops",
        replace(
            "db/db_impl.h",
            "  Status CompactLocked();\n",
            "  // One table of all; deletions go, for nothing older is left.\n  Status CompactLocked();\n",
        ),
    ),
    _READAHEAD,
    commit(
        "Name the number of threads in db_bench's header",
        replace(
            "tools/db_bench.cc",
            """    printf("Seed:""",
            """    printf("Threads:    %" PRId64 "\\n", settings_.threads);\n    printf("Seed:""",
        ),
    ),
    commit(
        "Test without readahead",
        replace("tests/kv_test.cc", "= keep_log;\n", "= keep_log;\n  options.readahead_blocks = keep_log ? 0 : 3;\n"),
    ),
    commit(
        "Fail on unknown fields of the manifest",
        replace(
            "db/manifest.cc",
            """    if (field == "table") tables.push_back(value);\n""",
            """\
    if (field == "table") tables.push_back(value);
    if (field != "next_file" && field != "last_sequence" && field != "wal" && field != "table" && field != "checksum") {
      return Status::Corruption(ManifestPath(directory) + ": unknown field " + name);
    }
""",
        ),
    ),
    commit(
        "Write a log record with one call",
        replace("db/wal.cc", "  record_.clear();\n", "  record_.assign(4, '\\0');\n"),
        replace(
            "db/wal.cc",
            """\
  std::string checksum;
  PutFixed32(&checksum, Crc32(record_));
  Status s = file_.Append(checksum);
  return s.ok() ? file_.Append(record_) : s;
""",
            """\
  const uint32_t checksum = Crc32(Slice(record_).substr(4));
  memcpy(record_.data(), &checksum, sizeof(checksum));
  return file_.Append(record_);
""",
        ),
    ),
    commit(
        "List the changes of 1.3.0",
        append("HISTORY.md", "\n# 1.3.0\n\n- Iterators prefetch.\n- A log record is written at once.\n"),
    ),
    Tag("v1.3.0"),
)
