#pragma once

#include <cstdint>
#include <string>

#include "minikv/types.h"
#include "util/coding.h"

namespace minikv {

enum class EntryType : uint8_t { kDelete = 0, kPut = 1, kMerge = 2 };

constexpr size_t kTrailerSize = 8;
constexpr uint64_t kMaxSequence = (uint64_t{1} << 56) - 1;

// An internal key is the user's key and a trailer: sequence number and type of the entry.
inline uint64_t PackTrailer(uint64_t sequence, EntryType type) {
  return (sequence << 8) | static_cast<uint8_t>(type);
}

inline Slice UserKey(Slice internal) { return internal.substr(0, internal.size() - kTrailerSize); }

inline uint64_t Trailer(Slice internal) {
  return DecodeFixed64(internal.data() + internal.size() - kTrailerSize);
}

inline uint64_t SequenceOf(Slice internal) { return Trailer(internal) >> 8; }
inline EntryType TypeOf(Slice internal) { return static_cast<EntryType>(Trailer(internal) & 255); }

std::string MakeInternalKey(Slice user_key, uint64_t sequence, EntryType type);

// The key that sorts before all entries of `user_key` visible at `sequence`.
std::string MakeSeekKey(Slice user_key, uint64_t sequence);

// Ascending by user key, then newest first.
int CompareInternal(Slice a, Slice b);

// Folds the versions of one key, newest first, into its visible value.
class Resolver {
 public:
  explicit Resolver(std::string* value) : value_(value) {}

  // True once older versions no longer matter.
  bool Add(EntryType type, Slice value);
  bool found() const { return found_; }

 private:
  std::string* value_;
  bool found_ = false;
};

}  // namespace minikv
