#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minikv/types.h"

namespace minikv {

uint64_t HashKey(Slice key);

// A Bloom filter over the hashes of a table's user keys; empty if `bits_per_key` is 0.
std::string BuildFilter(const std::vector<uint64_t>& hashes, int bits_per_key);

// False if the key was surely not added.
bool FilterMayMatch(Slice filter, uint64_t hash);

}  // namespace minikv
