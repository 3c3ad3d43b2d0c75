#include "table/bloom.h"

namespace minikv {

uint64_t HashKey(Slice key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : key) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash ^ (hash >> 29);
}

std::string BuildFilter(const std::vector<uint64_t>& hashes, int bits_per_key) {
  if (bits_per_key <= 0 || hashes.empty()) return std::string();
  int probes = bits_per_key * 69 / 100;  // ln 2 bits per key is best.
  if (probes < 1) probes = 1;
  const size_t bytes = (hashes.size() * static_cast<size_t>(bits_per_key) + 7) / 8 + 8;
  std::string filter(bytes, '\0');
  for (uint64_t hash : hashes) {
    const uint64_t delta = (hash >> 33) | 1;
    for (int i = 0; i < probes; ++i, hash += delta) {
      const uint64_t bit = hash % (bytes * 8);
      filter[bit / 8] = static_cast<char>(filter[bit / 8] | (1 << (bit % 8)));
    }
  }
  filter.push_back(static_cast<char>(probes));
  return filter;
}

bool FilterMayMatch(Slice filter, uint64_t hash) {
  if (filter.empty()) return true;
  const uint64_t bits = (filter.size() - 1) * 8;
  const uint64_t delta = (hash >> 33) | 1;
  for (int i = filter.back(); i > 0; --i, hash += delta) {
    const uint64_t bit = hash % bits;
    if ((filter[bit / 8] & (1 << (bit % 8))) == 0) return false;
  }
  return true;
}

}  // namespace minikv
