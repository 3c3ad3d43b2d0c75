#include "db/wal.h"

#include <unistd.h>

#include "util/crc32.h"

namespace minikv {
namespace {

constexpr size_t kHeaderSize = 4 + 4 + 4 + 8;

}  // namespace

Status WalWriter::Add(uint64_t sequence, EntryType type, Slice key, Slice value) {
  record_.clear();
  PutFixed32(&record_, static_cast<uint32_t>(key.size()));
  PutFixed32(&record_, static_cast<uint32_t>(value.size()));
  PutFixed64(&record_, PackTrailer(sequence, type));
  record_.append(key);
  record_.append(value);
  std::string checksum;
  PutFixed32(&checksum, Crc32(record_));
  Status s = file_.Append(checksum);
  return s.ok() ? file_.Append(record_) : s;
}

Status ReplayWal(const std::string& path, const WalVisitor& visit) {
  std::string log;
  Status s = ReadFile(path, &log);
  if (!s.ok()) return s;
  Slice left = log;
  while (left.size() >= kHeaderSize) {
    const size_t key_size = DecodeFixed32(left.data() + 4);
    const size_t value_size = DecodeFixed32(left.data() + 8);
    const size_t size = kHeaderSize + key_size + value_size;
    if (left.size() < size || Crc32(left.substr(4, size - 4)) != DecodeFixed32(left.data())) break;
    const uint64_t trailer = DecodeFixed64(left.data() + 12);
    s = visit(trailer >> 8, static_cast<EntryType>(trailer & 255), left.substr(kHeaderSize, key_size),
              left.substr(kHeaderSize + key_size, value_size));
    if (!s.ok()) return s;
    left.remove_prefix(size);
  }
  const bool cut = left.empty() || truncate(path.c_str(), static_cast<off_t>(log.size() - left.size())) == 0;
  return cut ? Status::OK() : Status::IOError(path + ": cannot be cut");
}

}  // namespace minikv
