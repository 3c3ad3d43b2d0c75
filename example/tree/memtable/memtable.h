#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "db/format.h"
#include "minikv/iterator.h"
#include "memtable/skiplist.h"

namespace minikv {

class MemTable {
 public:
  MemTable() : list_(EntryCompare{}, &arena_) {}

  void Add(uint64_t sequence, EntryType type, Slice key, Slice value);
  // True if the resolver needs no older versions.
  bool Get(Slice user_key, Slice seek_key, Resolver* resolver) const;
  std::unique_ptr<Iterator> NewIterator() const;

  size_t memory_usage() const { return arena_.memory_usage(); }
  bool empty() const { return list_.First() == nullptr; }

 private:
  friend class MemTableIterator;

  struct EntryCompare {
    int operator()(const char* a, const char* b) const;
  };
  using List = SkipList<EntryCompare>;

  Arena arena_;
  List list_;
};

}  // namespace minikv
