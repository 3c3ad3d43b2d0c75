#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace minikv {

inline void PutFixed32(std::string* out, uint32_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline void PutFixed64(std::string* out, uint64_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline uint32_t DecodeFixed32(const char* data) {
  uint32_t value;
  memcpy(&value, data, sizeof(value));
  return value;
}

inline uint64_t DecodeFixed64(const char* data) {
  uint64_t value;
  memcpy(&value, data, sizeof(value));
  return value;
}

}  // namespace minikv
