#pragma once

#include <atomic>
#include <new>

#include "memtable/arena.h"
#include "util/random.h"

namespace minikv {

// Ordered set of arena-allocated entries: one writer at a time, readers without locks.
template <typename Compare>
class SkipList {
 public:
  struct Node {
    const char* entry;
    std::atomic<Node*> next[1];

    Node* Next(int level) const { return next[level].load(std::memory_order_acquire); }
  };

  SkipList(Compare compare, Arena* arena)
      : compare_(compare), arena_(arena), head_(NewNode(nullptr, kMaxHeight)) {}

  void Insert(const char* entry) {
    Node* previous[kMaxHeight];
    FindGreaterOrEqual(entry, previous);
    const int height = RandomHeight();
    for (int level = height_.load(std::memory_order_relaxed); level < height; ++level) previous[level] = head_;
    if (height > height_.load(std::memory_order_relaxed)) height_.store(height, std::memory_order_relaxed);
    Node* node = NewNode(entry, height);
    for (int level = 0; level < height; ++level) {
      node->next[level].store(previous[level]->Next(level), std::memory_order_relaxed);
      previous[level]->next[level].store(node, std::memory_order_release);
    }
  }

  // The first node whose entry is not before `entry`; fills `previous` per level unless it is null.
  Node* FindGreaterOrEqual(const char* entry, Node** previous) const {
    Node* node = head_;
    for (int level = height_.load(std::memory_order_relaxed) - 1;; --level) {
      Node* next = node->Next(level);
      while (next != nullptr && compare_(next->entry, entry) < 0) {
        node = next;
        next = node->Next(level);
      }
      if (previous != nullptr) previous[level] = node;
      if (level == 0) return next;
    }
  }

  Node* First() const { return head_->Next(0); }

 private:
  static constexpr int kMaxHeight = 12;

  Node* NewNode(const char* entry, int height) {
    char* memory = arena_->Allocate(sizeof(Node) + sizeof(std::atomic<Node*>) * static_cast<size_t>(height - 1));
    Node* node = new (memory) Node{entry, {}};
    for (int level = 0; level < height; ++level) node->next[level].store(nullptr, std::memory_order_relaxed);
    return node;
  }

  int RandomHeight() {
    int height = 1;
    while (height < kMaxHeight && random_.Uniform(4) == 0) ++height;
    return height;
  }

  Compare compare_;
  Arena* arena_;
  Node* head_;
  std::atomic<int> height_{1};
  Random random_{0x5eed};
};

}  // namespace minikv
