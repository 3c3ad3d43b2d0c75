#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minikv/types.h"

namespace minikv {

// What a database consists of; rewritten whenever its files change.
struct Manifest {
  uint64_t next_file = 1;
  uint64_t last_sequence = 0;
  uint64_t wal = 0;
  std::vector<uint64_t> tables;  // newest first

  Status Load(const std::string& directory);
  Status Save(const std::string& directory) const;
};

std::string ManifestPath(const std::string& directory);
std::string TablePath(const std::string& directory, uint64_t number);
std::string WalPath(const std::string& directory, uint64_t number);

}  // namespace minikv
