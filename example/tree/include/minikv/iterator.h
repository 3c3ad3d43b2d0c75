#pragma once

#include "minikv/types.h"

namespace minikv {

// Walks keys in ascending order (inside the engine: internal keys). key() and value() hold until the next move.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void Seek(Slice target) = 0;
  virtual void Next() = 0;
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  virtual Status status() const { return Status::OK(); }
};

}  // namespace minikv
