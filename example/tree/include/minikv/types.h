#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace minikv {

using Slice = std::string_view;

class Status {
 public:
  enum class Code { kOk, kNotFound, kCorruption, kIOError };

  Status() = default;
  static Status OK() { return Status(); }
  static Status NotFound() { return Status(Code::kNotFound, "not found"); }
  static Status Corruption(std::string message) { return Status(Code::kCorruption, std::move(message)); }
  static Status IOError(std::string message) { return Status(Code::kIOError, std::move(message)); }

  bool ok() const { return code_ == Code::kOk; }
  bool IsNotFound() const { return code_ == Code::kNotFound; }
  const std::string& message() const { return message_; }

 private:
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code_ = Code::kOk;
  std::string message_;
};

}  // namespace minikv
