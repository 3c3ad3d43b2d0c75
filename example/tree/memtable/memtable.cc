#include "memtable/memtable.h"

#include <cstring>

namespace minikv {
namespace {

// An entry is two lengths, the internal key and the value.
Slice EntryKey(const char* entry) { return Slice(entry + 8, DecodeFixed32(entry)); }

Slice EntryValue(const char* entry) {
  return Slice(entry + 8 + DecodeFixed32(entry), DecodeFixed32(entry + 4));
}

// What a search compares entries with: an entry without a value.
std::string SearchEntry(Slice internal_key) {
  std::string entry;
  entry.reserve(8 + internal_key.size());
  PutFixed32(&entry, static_cast<uint32_t>(internal_key.size()));
  PutFixed32(&entry, 0);
  entry.append(internal_key);
  return entry;
}

}  // namespace

int MemTable::EntryCompare::operator()(const char* a, const char* b) const {
  return CompareInternal(EntryKey(a), EntryKey(b));
}

void MemTable::Add(uint64_t sequence, EntryType type, Slice key, Slice value) {
  const uint32_t sizes[2] = {static_cast<uint32_t>(key.size() + kTrailerSize), static_cast<uint32_t>(value.size())};
  const uint64_t trailer = PackTrailer(sequence, type);
  char* entry = arena_.Allocate(sizeof(sizes) + sizes[0] + sizes[1]);
  memcpy(entry, sizes, sizeof(sizes));
  memcpy(entry + 8, key.data(), key.size());
  memcpy(entry + 8 + key.size(), &trailer, kTrailerSize);
  memcpy(entry + 8 + sizes[0], value.data(), value.size());
  list_.Insert(entry);
}

bool MemTable::Get(Slice user_key, Slice seek_key, Resolver* resolver) const {
  const std::string search = SearchEntry(seek_key);
  for (auto* node = list_.FindGreaterOrEqual(search.data(), nullptr); node != nullptr; node = node->Next(0)) {
    const Slice key = EntryKey(node->entry);
    if (UserKey(key) != user_key) return false;
    if (resolver->Add(TypeOf(key), EntryValue(node->entry))) return true;
  }
  return false;
}

class MemTableIterator : public Iterator {
 public:
  explicit MemTableIterator(const MemTable* table) : list_(table->list_) {}

  bool Valid() const override { return node_ != nullptr; }
  void SeekToFirst() override { node_ = list_.First(); }
  void Seek(Slice target) override { node_ = list_.FindGreaterOrEqual(SearchEntry(target).data(), nullptr); }
  void Next() override { node_ = node_->Next(0); }
  Slice key() const override { return EntryKey(node_->entry); }
  Slice value() const override { return EntryValue(node_->entry); }

 private:
  const MemTable::List& list_;
  MemTable::List::Node* node_ = nullptr;
};

std::unique_ptr<Iterator> MemTable::NewIterator() const {
  return std::make_unique<MemTableIterator>(this);
}

}  // namespace minikv
