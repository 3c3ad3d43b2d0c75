#include "table/table.h"

#include "table/bloom.h"
#include "util/crc32.h"

namespace minikv {

TableBuilder::TableBuilder(const Options& options, const std::string& path) : options_(options) {
  remove(path.c_str());
  status_ = file_.Open(path);
}

void TableBuilder::Add(Slice internal_key, Slice value) {
  data_.Add(internal_key, value);
  last_key_.assign(internal_key);
  hashes_.push_back(HashKey(UserKey(internal_key)));
  if (data_.size() >= options_.block_size) FinishDataBlock();
}

void TableBuilder::FinishDataBlock() {
  if (data_.empty()) return;
  std::string handle;
  WriteBlock(data_.Finish()).EncodeTo(&handle);
  index_.Add(last_key_, handle);
}

BlockHandle TableBuilder::WriteBlock(const std::string& block) {
  const BlockHandle handle{offset_, static_cast<uint32_t>(block.size())};
  std::string checksum;
  PutFixed32(&checksum, Crc32(block));
  if (status_.ok()) status_ = file_.Append(block);
  if (status_.ok()) status_ = file_.Append(checksum);
  offset_ += block.size() + kChecksumSize;
  return handle;
}

Status TableBuilder::Finish() {
  FinishDataBlock();
  const BlockHandle filter = WriteBlock(BuildFilter(hashes_, options_.bloom_bits_per_key));
  const BlockHandle index = WriteBlock(index_.Finish());
  std::string footer;
  index.EncodeTo(&footer);
  filter.EncodeTo(&footer);
  PutFixed32(&footer, kTableMagic);
  if (status_.ok()) status_ = file_.Append(footer);
  return status_.ok() ? file_.Close() : status_;
}

}  // namespace minikv
