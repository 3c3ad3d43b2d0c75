#pragma once

#include <cstddef>

namespace minikv {

struct Options {
  bool create_if_missing = true;
  size_t write_buffer_size = 4 << 20;
  size_t block_size = 4096;
  size_t cache_size = 32 << 20;
  int bloom_bits_per_key = 10;
  bool avoid_flush_during_recovery = false;
  bool disable_wal = false;
  bool disable_auto_compactions = false;
  int compaction_trigger = 8;
};

}  // namespace minikv
