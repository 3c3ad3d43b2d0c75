#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/block_cache.h"
#include "db/manifest.h"
#include "db/wal.h"
#include "memtable/memtable.h"
#include "minikv/db.h"
#include "table/table.h"

namespace minikv {

class DBImpl : public DB {
 public:
  DBImpl(const Options& options, const std::string& path);

  Status Recover();
  Status Put(Slice key, Slice value) override { return Write(EntryType::kPut, key, value); }
  Status Delete(Slice key) override { return Write(EntryType::kDelete, key, Slice()); }
  Status Merge(Slice key, Slice operand) override { return Write(EntryType::kMerge, key, operand); }
  Status Get(Slice key, std::string* value) override;
  std::unique_ptr<Iterator> NewIterator() override;
  Status Flush() override;
  Status Compact() override;

 private:
  // What readers see; replaced, never changed, except that the memtable grows.
  struct View {
    std::shared_ptr<MemTable> memtable;
    std::vector<std::shared_ptr<Table>> tables;  // newest first
  };

  Status Write(EntryType type, Slice key, Slice value);
  Status FlushLocked();
  Status CompactLocked();
  // Makes the memtable a table; the log is still needed until the manifest is saved.
  Status WriteTable();
  Status RenewWal();
  Status SaveManifest();
  void SetView(std::shared_ptr<const View> view);
  bool MemTableIsFull() const { return view_->memtable->memory_usage() >= options_.write_buffer_size; }
  std::shared_ptr<const View> CurrentView() const;

  const Options options_;
  const std::string path_;
  BlockCache cache_;
  std::mutex write_mutex_;
  Manifest manifest_;
  WalWriter wal_;
  std::atomic<uint64_t> last_sequence_{0};
  mutable std::mutex view_mutex_;
  std::shared_ptr<const View> view_;
};

// Shows each user key once, as of `sequence`; `pinned` is kept as long as the iterator.
std::unique_ptr<Iterator> NewDBIterator(std::unique_ptr<Iterator> entries, uint64_t sequence,
                                        std::shared_ptr<const void> pinned);

}  // namespace minikv
