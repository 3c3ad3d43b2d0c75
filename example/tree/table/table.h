#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cache/block_cache.h"
#include "db/format.h"
#include "minikv/iterator.h"
#include "minikv/options.h"
#include "table/block.h"
#include "util/file.h"

namespace minikv {

// Where a block lies in its file, without the checksum that follows it.
struct BlockHandle {
  uint64_t offset = 0;
  uint32_t size = 0;

  void EncodeTo(std::string* out) const {
    PutFixed64(out, offset);
    PutFixed32(out, size);
  }

  static BlockHandle Decode(const char* data) { return {DecodeFixed64(data), DecodeFixed32(data + 8)}; }
};

constexpr size_t kHandleSize = 12;
constexpr size_t kChecksumSize = 4;
// A footer is the handles of index and filter and the magic number.
constexpr size_t kFooterSize = 2 * kHandleSize + 4;
constexpr uint32_t kTableMagic = 0x6b766d31;

// Writes a table file from entries added in order.
class TableBuilder {
 public:
  TableBuilder(const Options& options, const std::string& path);

  void Add(Slice internal_key, Slice value);
  Status Finish();

 private:
  void FinishDataBlock();
  BlockHandle WriteBlock(const std::string& block);

  const Options options_;
  AppendFile file_;
  Status status_;
  uint64_t offset_ = 0;
  BlockBuilder data_;
  BlockBuilder index_;
  std::string last_key_;
  std::vector<uint64_t> hashes_;
};

// An open table file; index and filter stay in memory, data blocks in the cache.
class Table {
 public:
  static Status Open(const std::string& path, uint64_t number, BlockCache* cache,
                     std::shared_ptr<Table>* table);

  // `hash` is HashKey(user_key). Sets `done` if the resolver needs no older versions.
  Status Get(Slice user_key, uint64_t hash, Slice seek_key, Resolver* resolver, bool* done) const;
  // The table must outlive the iterator.
  std::unique_ptr<Iterator> NewIterator() const;
  uint64_t number() const { return number_; }

 private:
  friend class TableIterator;

  Status ReadRaw(const BlockHandle& handle, std::string* out) const;
  Status ReadBlock(const BlockHandle& handle, std::shared_ptr<const Block>* block) const;

  RandomFile file_;
  uint64_t number_ = 0;
  BlockCache* cache_ = nullptr;
  std::unique_ptr<const Block> index_;
  std::string filter_;
};

// All entries of the children in order.
std::unique_ptr<Iterator> NewMergingIterator(std::vector<std::unique_ptr<Iterator>> children);

}  // namespace minikv
