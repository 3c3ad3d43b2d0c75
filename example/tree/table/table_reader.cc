#include "table/table.h"

#include <utility>

#include "table/bloom.h"
#include "util/crc32.h"

namespace minikv {

Status Table::Open(const std::string& path, uint64_t number, BlockCache* cache,
                   std::shared_ptr<Table>* table) {
  auto opened = std::make_shared<Table>();
  opened->number_ = number;
  opened->cache_ = cache;
  Status s = opened->file_.Open(path);
  if (!s.ok()) return s;
  const uint64_t size = opened->file_.size();
  if (size < kFooterSize) return Status::Corruption(path + ": too short for a table");
  std::string footer;
  s = opened->file_.Read(size - kFooterSize, kFooterSize, &footer);
  if (!s.ok()) return s;
  if (DecodeFixed32(footer.data() + 2 * kHandleSize) != kTableMagic) {
    return Status::Corruption(path + ": not a table");
  }
  std::string index;
  s = opened->ReadRaw(BlockHandle::Decode(footer.data()), &index);
  if (s.ok()) s = opened->ReadRaw(BlockHandle::Decode(footer.data() + kHandleSize), &opened->filter_);
  if (!s.ok()) return s;
  opened->index_ = std::make_unique<Block>(std::move(index));
  *table = std::move(opened);
  return Status::OK();
}

Status Table::ReadRaw(const BlockHandle& handle, std::string* out) const {
  Status s = file_.Read(handle.offset, handle.size + kChecksumSize, out);
  if (!s.ok()) return s;
  const uint32_t expected = DecodeFixed32(out->data() + handle.size);
  out->resize(handle.size);
  return Crc32(*out) == expected ? Status::OK() : Status::Corruption("wrong checksum of a block");
}

Status Table::ReadBlock(const BlockHandle& handle, std::shared_ptr<const Block>* block) const {
  *block = cache_->Lookup(number_, handle.offset);
  if (*block != nullptr) return Status::OK();
  std::string data;
  Status s = ReadRaw(handle, &data);
  if (!s.ok()) return s;
  *block = std::make_shared<const Block>(std::move(data));
  cache_->Insert(number_, handle.offset, *block);
  return Status::OK();
}

class TableIterator : public Iterator {
 public:
  explicit TableIterator(const Table* table) : table_(table) {}

  bool Valid() const override { return block_ != nullptr; }

  void SeekToFirst() override {
    index_position_ = 0;
    LoadBlock();
    position_ = 0;
    SkipToEntry();
  }

  void Seek(Slice target) override {
    index_position_ = table_->index_->Find(target);
    LoadBlock();
    position_ = block_ != nullptr ? block_->Find(target) : 0;
    SkipToEntry();
  }

  void Next() override {
    ++position_;
    SkipToEntry();
  }

  Slice key() const override { return block_->KeyAt(position_); }
  Slice value() const override { return block_->ValueAt(position_); }
  Status status() const override { return status_; }

 private:
  void LoadBlock() {
    block_.reset();
    if (index_position_ >= table_->index_->count()) return;
    Status s = table_->ReadBlock(BlockHandle::Decode(table_->index_->ValueAt(index_position_).data()), &block_);
    if (!s.ok()) status_ = s;
  }

  void SkipToEntry() {
    while (block_ != nullptr && position_ >= block_->count()) {
      ++index_position_;
      LoadBlock();
      position_ = 0;
    }
  }

  const Table* table_;
  std::shared_ptr<const Block> block_;
  uint32_t index_position_ = 0;
  uint32_t position_ = 0;
  Status status_;
};

std::unique_ptr<Iterator> Table::NewIterator() const {
  return std::make_unique<TableIterator>(this);
}

Status Table::Get(Slice user_key, uint64_t hash, Slice seek_key, Resolver* resolver, bool* done) const {
  if (!FilterMayMatch(filter_, hash)) return Status::OK();
  TableIterator iterator(this);
  for (iterator.Seek(seek_key); iterator.Valid(); iterator.Next()) {
    const Slice key = iterator.key();
    if (UserKey(key) != user_key) break;
    if (resolver->Add(TypeOf(key), iterator.value())) {
      *done = true;
      break;
    }
  }
  return iterator.status();
}

}  // namespace minikv
