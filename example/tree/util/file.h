#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "minikv/types.h"

namespace minikv {

// A file that is only appended to; closing writes what is buffered.
class AppendFile {
 public:
  AppendFile() = default;
  ~AppendFile() { Close(); }
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  Status Open(const std::string& path);
  Status Append(Slice data);
  Status Close();

 private:
  std::string path_;
  FILE* file_ = nullptr;
};

// A file read at any position, from any thread.
class RandomFile {
 public:
  RandomFile() = default;
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  Status Open(const std::string& path);
  Status Read(uint64_t offset, size_t size, std::string* out) const;
  uint64_t size() const { return size_; }

 private:
  std::string path_;
  uint64_t size_ = 0;
  int fd_ = -1;
};

Status ReadFile(const std::string& path, std::string* out);
// Readers see the old content or the new one, never a part.
Status ReplaceFile(const std::string& path, Slice content);
Status MakeDirectory(const std::string& path);
std::vector<std::string> ListDirectory(const std::string& path);

}  // namespace minikv
