#include "table/block.h"

#include <utility>

#include "db/format.h"

namespace minikv {

void BlockBuilder::Add(Slice key, Slice value) {
  offsets_.push_back(static_cast<uint32_t>(data_.size()));
  PutFixed32(&data_, static_cast<uint32_t>(key.size()));
  PutFixed32(&data_, static_cast<uint32_t>(value.size()));
  data_.append(key);
  data_.append(value);
}

std::string BlockBuilder::Finish() {
  for (uint32_t offset : offsets_) PutFixed32(&data_, offset);
  PutFixed32(&data_, static_cast<uint32_t>(offsets_.size()));
  offsets_.clear();
  return std::exchange(data_, std::string());
}

Block::Block(std::string data) : data_(std::move(data)) {
  count_ = DecodeFixed32(data_.data() + data_.size() - 4);
  offsets_ = data_.data() + data_.size() - 4 - 4 * size_t{count_};
}

const char* Block::EntryAt(uint32_t index) const { return data_.data() + DecodeFixed32(offsets_ + 4 * index); }

Slice Block::KeyAt(uint32_t index) const {
  const char* entry = EntryAt(index);
  return Slice(entry + 8, DecodeFixed32(entry));
}

Slice Block::ValueAt(uint32_t index) const {
  const char* entry = EntryAt(index);
  return Slice(entry + 8 + DecodeFixed32(entry), DecodeFixed32(entry + 4));
}

uint32_t Block::Find(Slice target) const {
  uint32_t low = 0, high = count_;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (CompareInternal(KeyAt(middle), target) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace minikv
