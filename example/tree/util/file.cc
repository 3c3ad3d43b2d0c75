#include "util/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace minikv {
namespace {

Status Failed(const std::string& path) { return Status::IOError(path + ": " + strerror(errno)); }

}  // namespace

Status AppendFile::Open(const std::string& path) {
  Close();
  path_ = path;
  file_ = fopen(path.c_str(), "ae");
  return file_ == nullptr ? Failed(path_) : Status::OK();
}

Status AppendFile::Append(Slice data) {
  return fwrite(data.data(), 1, data.size(), file_) == data.size() ? Status::OK() : Failed(path_);
}

Status AppendFile::Close() {
  FILE* file = std::exchange(file_, nullptr);
  return file == nullptr || fclose(file) == 0 ? Status::OK() : Failed(path_);
}

RandomFile::~RandomFile() {
  if (fd_ >= 0) close(fd_);
}

Status RandomFile::Open(const std::string& path) {
  path_ = path;
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd_ < 0 || fstat(fd_, &info) != 0) return Failed(path_);
  size_ = static_cast<uint64_t>(info.st_size);
  return Status::OK();
}

Status RandomFile::Read(uint64_t offset, size_t size, std::string* out) const {
  out->resize(size);
  for (size_t done = 0; done < size;) {
    ssize_t n = pread(fd_, out->data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno != EINTR) return Failed(path_);
    if (n == 0) return Status::Corruption(path_ + ": ends too early");
    if (n > 0) done += static_cast<size_t>(n);
  }
  return Status::OK();
}

Status ReadFile(const std::string& path, std::string* out) {
  RandomFile file;
  Status s = file.Open(path);
  return s.ok() ? file.Read(0, file.size(), out) : s;
}

Status ReplaceFile(const std::string& path, Slice content) {
  const std::string temporary = path + ".new";
  remove(temporary.c_str());
  AppendFile file;
  Status s = file.Open(temporary);
  if (s.ok()) s = file.Append(content);
  if (s.ok()) s = file.Close();
  if (s.ok() && rename(temporary.c_str(), path.c_str()) != 0) s = Failed(path);
  return s;
}

Status MakeDirectory(const std::string& path) {
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST ? Status::OK() : Failed(path);
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  if (DIR* directory = opendir(path.c_str())) {
    while (dirent* entry = readdir(directory)) names.emplace_back(entry->d_name);
    closedir(directory);
  }
  return names;
}

}  // namespace minikv
