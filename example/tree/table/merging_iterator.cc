#include "table/table.h"

#include <utility>

namespace minikv {
namespace {

class MergingIterator : public Iterator {
 public:
  explicit MergingIterator(std::vector<std::unique_ptr<Iterator>> children)
      : children_(std::move(children)) {}

  bool Valid() const override { return !heap_.empty(); }

  void SeekToFirst() override {
    heap_.clear();
    for (const auto& child : children_) {
      child->SeekToFirst();
      AddToHeap(child.get());
    }
  }

  void Seek(Slice target) override {
    heap_.clear();
    for (const auto& child : children_) {
      child->Seek(target);
      AddToHeap(child.get());
    }
  }

  void Next() override {
    Iterator* top = heap_[0];
    top->Next();
    if (!top->Valid()) {
      NoteStatus(top);
      heap_[0] = heap_.back();
      heap_.pop_back();
      if (heap_.empty()) return;
    }
    SiftDown(0);
  }

  Slice key() const override { return heap_[0]->key(); }
  Slice value() const override { return heap_[0]->value(); }
  Status status() const override { return status_; }

 private:
  static bool Before(const Iterator* a, const Iterator* b) {
    return CompareInternal(a->key(), b->key()) < 0;
  }

  void NoteStatus(const Iterator* child) {
    Status s = child->status();
    if (!s.ok()) status_ = s;
  }

  void AddToHeap(Iterator* child) {
    if (!child->Valid()) {
      NoteStatus(child);
      return;
    }
    heap_.push_back(child);
    SiftUp(heap_.size() - 1);
  }

  void SiftUp(size_t at) {
    while (at > 0) {
      const size_t parent = (at - 1) / 2;
      if (!Before(heap_[at], heap_[parent])) return;
      std::swap(heap_[at], heap_[parent]);
      at = parent;
    }
  }

  void SiftDown(size_t at) {
    for (;;) {
      size_t least = 2 * at + 1;
      if (least >= heap_.size()) return;
      if (least + 1 < heap_.size() && Before(heap_[least + 1], heap_[least])) ++least;
      if (!Before(heap_[least], heap_[at])) return;
      std::swap(heap_[at], heap_[least]);
      at = least;
    }
  }

  std::vector<std::unique_ptr<Iterator>> children_;
  std::vector<Iterator*> heap_;
  Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewMergingIterator(std::vector<std::unique_ptr<Iterator>> children) {
  return std::make_unique<MergingIterator>(std::move(children));
}

}  // namespace minikv
