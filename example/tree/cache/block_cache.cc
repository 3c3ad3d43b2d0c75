#include "cache/block_cache.h"

#include <utility>

namespace minikv {

std::shared_ptr<const Block> BlockCache::Lookup(uint64_t table, uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = map_.find(MakeKey(table, offset));
  if (found == map_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->block;
}

void BlockCache::Insert(uint64_t table, uint64_t offset, std::shared_ptr<const Block> block) {
  const uint64_t key = MakeKey(table, offset);
  std::lock_guard<std::mutex> lock(mutex_);
  if (map_.count(key) != 0) return;
  usage_ += block->memory_usage();
  entries_.push_front({key, std::move(block)});
  map_[key] = entries_.begin();
  while (usage_ > capacity_ && entries_.size() > 1) {
    usage_ -= entries_.back().block->memory_usage();
    map_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace minikv
