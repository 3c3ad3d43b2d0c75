#pragma once

#include <cstdint>

namespace minikv {

// splitmix64: the same numbers everywhere for the same seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t Uniform(uint64_t n) { return Next() % n; }

 private:
  uint64_t state_;
};

}  // namespace minikv
