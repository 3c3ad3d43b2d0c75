#include "db/format.h"

namespace minikv {

std::string MakeInternalKey(Slice user_key, uint64_t sequence, EntryType type) {
  std::string key;
  key.reserve(user_key.size() + kTrailerSize);
  key.append(user_key);
  PutFixed64(&key, PackTrailer(sequence, type));
  return key;
}

std::string MakeSeekKey(Slice user_key, uint64_t sequence) {
  return MakeInternalKey(user_key, sequence, EntryType{255});
}

int CompareInternal(Slice a, Slice b) {
  int order = UserKey(a).compare(UserKey(b));
  if (order != 0) return order;
  const uint64_t left = Trailer(a), right = Trailer(b);
  return left > right ? -1 : left < right;
}

bool Resolver::Add(EntryType type, Slice value) {
  if (type == EntryType::kDelete) return true;
  if (!found_ || value > *value_) value_->assign(value);
  found_ = true;
  return type == EntryType::kPut;
}

}  // namespace minikv
