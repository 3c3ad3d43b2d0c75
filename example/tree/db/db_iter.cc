#include "db/db_impl.h"

#include <utility>

namespace minikv {
namespace {

class DBIter : public Iterator {
 public:
  DBIter(std::unique_ptr<Iterator> entries, uint64_t sequence, std::shared_ptr<const void> pinned)
      : pinned_(std::move(pinned)), entries_(std::move(entries)), sequence_(sequence) {}

  bool Valid() const override { return valid_; }

  void SeekToFirst() override {
    entries_->SeekToFirst();
    FindVisible();
  }

  void Seek(Slice target) override {
    entries_->Seek(MakeSeekKey(target, sequence_));
    FindVisible();
  }

  void Next() override { FindVisible(); }

  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override { return entries_->status(); }

 private:
  // Resolves the next key with a value and leaves the entries behind all its versions.
  void FindVisible() {
    valid_ = false;
    while (!valid_ && entries_->Valid()) {
      key_.assign(UserKey(entries_->key()));
      Resolver resolver(&value_);
      bool done = false;
      for (; entries_->Valid() && UserKey(entries_->key()) == key_; entries_->Next()) {
        if (done || SequenceOf(entries_->key()) > sequence_) continue;
        done = resolver.Add(TypeOf(entries_->key()), entries_->value());
      }
      valid_ = resolver.found();
    }
  }

  std::shared_ptr<const void> pinned_;
  std::unique_ptr<Iterator> entries_;
  const uint64_t sequence_;
  std::string key_;
  std::string value_;
  bool valid_ = false;
};

}  // namespace

std::unique_ptr<Iterator> NewDBIterator(std::unique_ptr<Iterator> entries, uint64_t sequence,
                                        std::shared_ptr<const void> pinned) {
  return std::make_unique<DBIter>(std::move(entries), sequence, std::move(pinned));
}

}  // namespace minikv
