#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace minikv {

// Memory that is freed all at once.
class Arena {
 public:
  char* Allocate(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (size > left_) Grow(size);
    char* result = next_;
    next_ += size;
    left_ -= size;
    return result;
  }

  size_t memory_usage() const { return usage_; }

 private:
  static constexpr size_t kChunkSize = 32 << 10;

  void Grow(size_t size) {
    const size_t chunk = size > kChunkSize ? size : kChunkSize;
    chunks_.emplace_back(new char[chunk]);
    next_ = chunks_.back().get();
    left_ = chunk;
    usage_ += chunk;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t usage_ = 0;
};

}  // namespace minikv
