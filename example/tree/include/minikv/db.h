#pragma once

#include <memory>
#include <string>

#include "minikv/iterator.h"
#include "minikv/options.h"

namespace minikv {

class DB {
 public:
  static Status Open(const Options& options, const std::string& path, std::unique_ptr<DB>* db);
  static Status Destroy(const std::string& path);

  virtual ~DB() = default;
  virtual Status Put(Slice key, Slice value) = 0;
  virtual Status Delete(Slice key) = 0;
  // The visible value becomes the largest of the operand and what was there.
  virtual Status Merge(Slice key, Slice operand) = 0;
  virtual Status Get(Slice key, std::string* value) = 0;
  virtual std::unique_ptr<Iterator> NewIterator() = 0;
  virtual Status Flush() = 0;
  virtual Status Compact() = 0;
};

}  // namespace minikv
