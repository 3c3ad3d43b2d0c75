#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "table/block.h"

namespace minikv {

// Least recently used blocks go first once `capacity` bytes are exceeded.
class BlockCache {
 public:
  explicit BlockCache(size_t capacity) : capacity_(capacity) {}

  // Null if it is not there.
  std::shared_ptr<const Block> Lookup(uint64_t table, uint64_t offset);
  void Insert(uint64_t table, uint64_t offset, std::shared_ptr<const Block> block);

 private:
  struct Entry {
    uint64_t key;
    std::shared_ptr<const Block> block;
  };

  static uint64_t MakeKey(uint64_t table, uint64_t offset) { return (table << 40) | offset; }

  const size_t capacity_;
  std::mutex mutex_;
  size_t usage_ = 0;
  std::list<Entry> entries_;
  std::unordered_map<uint64_t, std::list<Entry>::iterator> map_;
};

}  // namespace minikv
