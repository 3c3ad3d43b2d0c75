#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minikv/types.h"

namespace minikv {

// Entries (two lengths, key, value), then the offset of each, then their number.
class BlockBuilder {
 public:
  void Add(Slice key, Slice value);
  // The finished block; the builder starts anew.
  std::string Finish();
  size_t size() const { return data_.size() + 4 * offsets_.size(); }
  bool empty() const { return offsets_.empty(); }

 private:
  std::string data_;
  std::vector<uint32_t> offsets_;
};

class Block {
 public:
  explicit Block(std::string data);

  uint32_t count() const { return count_; }
  size_t memory_usage() const { return data_.size() + sizeof(*this); }
  Slice KeyAt(uint32_t index) const;
  Slice ValueAt(uint32_t index) const;
  // Index of the first entry whose key is not before `target`; count() if there is none.
  uint32_t Find(Slice target) const;

 private:
  const char* EntryAt(uint32_t index) const;

  std::string data_;
  const char* offsets_;
  uint32_t count_;
};

}  // namespace minikv
