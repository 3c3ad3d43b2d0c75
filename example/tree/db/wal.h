#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "db/format.h"
#include "util/file.h"

namespace minikv {

// Appends one record per write: checksum, lengths, trailer, key, value.
class WalWriter {
 public:
  Status Open(const std::string& path) { return file_.Open(path); }
  Status Add(uint64_t sequence, EntryType type, Slice key, Slice value);

 private:
  AppendFile file_;
  std::string record_;
};

using WalVisitor = std::function<Status(uint64_t sequence, EntryType type, Slice key, Slice value)>;

// Visits the records in order until a visit fails; a torn record at the end is cut off.
Status ReplayWal(const std::string& path, const WalVisitor& visit);

}  // namespace minikv
